#!/usr/bin/env python3
"""Real models, one command each: how long a placement takes, with its report, and how it compares with heft.

  bench/quality/models.py [--dopp build/release/dopp] [--budget S] [-o CSV] FILE|FOLDER …

Of every file that is a graph, on 4xA100 and 2xA100+2xT4: `place` with its default budget and `report`, in
seconds, against `heft`; with --budget also `auto` with so many. A graph that fits nowhere counts as such only where heft
finds nothing either. Ends with the largest times, and the geometric mean of auto / heft where heft is more than 2 %
above the bound.
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

MACHINES = ["4xA100", "2xA100+2xT4"]
FIELDS = ["file", "machine", "nodes", "place_seconds", "report_seconds", "report_bytes", "heft", "gap", "default", "auto"]


def graphs(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def run(*arguments):
    """Exit code, what it printed (an object where it could), the seconds that it took and its errors."""
    begin = time.monotonic()
    done = subprocess.run(arguments, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else None, seconds, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--budget", type=float, help="of auto, against heft")
    parser.add_argument("-o", "--output", help="CSV")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        placement, page = f"{folder}/placement.json", f"{folder}/report.html"
        for path in graphs(options.paths):
            if run(options.dopp, "graph", "show", str(path), "--json")[0] != 0:
                print(f"{path}: not a graph", file=sys.stderr)
                continue
            for machine in MACHINES:
                place = lambda *more: run(options.dopp, "place", str(path), "--devices", machine, "--json", *more)
                code, placed, seconds, error = place("-o", placement)
                _, heft, _, _ = place("--method", "heft")
                if code != 0:
                    verdict = "WRONG: heft fits" if heft else "fits nowhere"
                    print(f"{path} on {machine}: {verdict}: {error.strip().splitlines()[-1]}", flush=True)
                    continue
                report_code, report, report_seconds, error = run(options.dopp, "report", placement, "-o", page, "--json")
                if report_code != 0:
                    print(f"{path} on {machine}: WRONG: no report: {error.strip()}", flush=True)
                    continue
                row = {"file": path.name, "machine": machine, "nodes": placed["nodes"], "place_seconds": round(seconds, 2),
                       "report_seconds": round(report_seconds, 2), "report_bytes": report["bytes"],
                       "heft": heft and heft["makespan"], "gap": heft and heft["gap"],
                       "default": placed["makespan"], "auto": None}
                if options.budget and heft:
                    row["auto"] = place("--budget", str(options.budget))[1]["makespan"]
                rows.append(row)
                print(f"{path.name:45} {machine:12} {row['nodes']:6} nodes  place {seconds:5.1f} s  report "
                      f"{report_seconds:4.1f} s {report['bytes'] / 1e6:4.2f} MB"
                      + (f"  {(row['auto'] or row['default']) / heft['makespan']:.3f} of heft, which is {100 * heft['gap']:.1f} % "
                         "above the bound" if heft else "  heft finds nothing"), flush=True)
    if options.output:
        with open(options.output, "w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if not rows:
        return 1
    print(f"{len(rows)} placements; at most {max(r['place_seconds'] for r in rows)} s to place, "
          f"{max(r['report_seconds'] for r in rows)} s and {max(r['report_bytes'] for r in rows) / 1e6:.2f} MB to report")
    for column, budget in [("default", "its default budget"), ("auto", f"{options.budget} s")]:
        of = [r for r in rows if r[column] and r["heft"]]
        if not of:
            continue
        hard = [r[column] / r["heft"] for r in of if r["gap"] > 0.02]
        mean = math.exp(sum(map(math.log, hard)) / len(hard)) if hard else 1.0
        print(f"auto with {budget} / heft: at most {max(r[column] / r['heft'] for r in of):.4f}; geometric mean {mean:.3f} "
              f"over the {len(hard)} where heft is more than 2 % above the bound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
