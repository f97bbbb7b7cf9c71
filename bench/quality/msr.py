#!/usr/bin/env python3
"""Methods on instances of Microsoft's DNN partitioning benchmark, with the files' own devices, limits
and colocation.

Places every instance below FOLDER with every method and checks each placement against the file
itself: sizes on an accelerator add up to no more than its limit, classes share a device, and what is
not supported there is not there. Writes a CSV with a line per instance and method; ends with a table.

  bench/quality/msr.py --graphs FOLDER [--dopp build/release/dopp] [--budget 5] [-o CSV]
"""
import argparse
import collections
import csv
import json
import pathlib
import subprocess
import sys

METHODS = ["heft", "metis", "policy", "auto", "exact"]
LARGEST_EXACT = 40  # nodes


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=pathlib.Path, required=True)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds per search")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    args = parser.parse_args()
    rows = []
    for path in sorted(args.graphs.rglob("*.json")):
        instance = json.loads(path.read_text())
        for method in METHODS:
            if method == "exact" and len(instance["nodes"]) > LARGEST_EXACT:
                continue
            rows.append(measure(args, path, instance, method))
    if not rows:
        parser.error(f"no instance below {args.graphs}")
    if args.output:
        with open(args.output, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print_table(rows)
    return 0 if all(row["broken"] == 0 for row in rows) else 1


def measure(args, path, instance, method):
    command = [args.dopp, "place", str(path), "--devices", "file", "--method", method, "--json",
               "--seed", "1", "--budget", str(args.budget)]
    done = subprocess.run(command, capture_output=True)
    row = {"instance": path.relative_to(args.graphs).with_suffix("").as_posix(),
           "nodes": len(instance["nodes"]), "method": method, "makespan_ms": "", "bound_ms": "",
           "seconds": "", "broken": 0}
    if done.returncode != 0:
        print(f"{path}: {method}: {done.stderr.decode().strip()}", file=sys.stderr)
        return row | {"broken": 1}
    result = json.loads(done.stdout)
    return row | {"makespan_ms": f"{result['makespan'] * 1e3:.4g}",
                  "bound_ms": f"{result['bound']['value'] * 1e3:.4g}",
                  "seconds": f"{result['seconds']:.2f}",
                  "broken": broken(instance, result["assignment"])}


def broken(instance, assignment):
    """How many demands of the file the placement breaks."""
    held = collections.Counter()
    places = collections.defaultdict(set)
    count = 0
    for node in instance["nodes"]:
        device = assignment[node["name"]]
        if device.startswith("acc"):
            held[device] += node["size"]
            count += not node["supportedOnFpga"]
        if "colorClass" in node:
            places[node["colorClass"]].add(device)
    count += sum(bytes > instance["maxSizePerFPGA"] for bytes in held.values())
    return count + sum(len(devices) > 1 for devices in places.values())


def print_table(rows):
    table = collections.defaultdict(dict)
    for row in rows:
        table[row["instance"], row["nodes"]][row["method"]] = row
    print(f"{'instance':48}{'nodes':>6}{'bound':>9}" + "".join(f"{m:>10}" for m in METHODS) + "  ms")
    for (instance, nodes), by_method in table.items():
        cells = "".join(f"{by_method.get(m, {}).get('makespan_ms', '') or '–':>10}" for m in METHODS)
        bound = max((row["bound_ms"] for row in by_method.values() if row["bound_ms"]), key=float, default="–")
        print(f"{instance:48}{nodes:>6}{bound:>9}{cells}")
    print(f"demands broken: {sum(row['broken'] for row in rows)}")


if __name__ == "__main__":
    sys.exit(main())
