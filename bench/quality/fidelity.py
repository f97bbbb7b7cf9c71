#!/usr/bin/env python3
"""How well the simulator predicts the engine, for docs/fidelity.md.

    bench/quality/fidelity.py --dopp build/check/dopp -o fidelity.csv

Four workloads on two real cores, predicted from `dopp devices probe` alone and with times measured in
runs of one placement (`--profile`); with --emulated on emulated machines instead. A run whose noise is
above the limit is void and repeated, up to --attempts times. Prints a table in Markdown. Run it on a
machine that does nothing else: half an hour.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import first_costs

CORES = "cpu:2"
EMULATED = ["4xP100", "8xV100", "8n8xA100"]
# Some 20 to 200 ms a run on two cores, in eight parts, so that there is something to place.
WORKLOADS = {
    "chainmm": "--size 1024",
    "ffnn": "--batch 512 --input 768 --hidden 1536 --output-size 768 --train",
    "llama-block": "--seq 384 --hidden 768 --heads 8 --ffn 2048",
    "llama-layer": "--seq 384 --hidden 768 --heads 8 --ffn 2048 --vocab 4000",
}
COLUMNS = ["workload", "devices", "costs", "nodes", "placements", "best_ms", "error", "largest", "bias",
           "spearman", "kendall", "pairs", "noise", "void"]


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


def measure(options, workload, graph, engine, devices, costs, extra):
    command = [options.dopp, "fidelity", graph, "--engine", engine, "--devices", devices, *first_costs.costs(str(devices)),
               "--placements", str(options.placements), "--rounds", str(options.rounds), "--json", *extra]
    for _ in range(options.attempts):
        result = json.loads(run(command))
        if not result["void"]:
            break
    pairs = result["pairs"]
    return {
        "workload": workload, "devices": devices if engine == "emulated" else CORES, "costs": costs,
        "nodes": json.loads(run([options.dopp, "graph", "show", graph, "--json"]))["nodes"],
        "placements": len(result["placements"]),
        "best_ms": 1e3 * min(p["measured"] for p in result["placements"]),
        "error": result["median_error"], "largest": result["largest_error"], "bias": result["bias"],
        "spearman": result["spearman"], "kendall": result["near_best"]["kendall"],
        "pairs": pairs["agreeing"] / pairs["compared"] if pairs["compared"] else None,
        "noise": result["noise"], "void": result["void"],
    }


def text(row, column):
    value = row[column]
    if column in ("error", "largest", "bias", "pairs", "noise") and value is not None:
        return f"{100 * value:+.1f} %" if column == "bias" else f"{100 * value:.1f} %"
    if isinstance(value, bool):
        return "void" if value else ""
    if isinstance(value, float):
        return f"{value:.2f}"
    return "-" if value is None else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", required=True)
    parser.add_argument("-o", "--output", help="CSV")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--placements", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--emulated", action="store_true")
    options = parser.parse_args()
    rows = []
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))

    def add(row):
        rows.append(row)
        print("| " + " | ".join(text(row, column) for column in COLUMNS) + " |", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for workload in options.workloads.split(","):
            if options.emulated:
                for devices in EMULATED:
                    graph = folder / f"{workload}.json"
                    run([options.dopp, "graph", "generate", *first_costs.graph(f"{workload} --devices {devices}"), "-o", graph])
                    add(measure(options, workload, graph, "emulated", devices, "its own", []))
                continue
            graph, machine = folder / f"{workload}.json", folder / "machine.json"
            run([options.dopp, "graph", "generate", *first_costs.graph(f"{workload} {WORKLOADS[workload]} --shards 8"), "-o", graph])
            run([options.dopp, "devices", "probe", "--devices", CORES, "-o", machine])
            add(measure(options, workload, graph, "threads", machine, "probe", []))
            add(measure(options, workload, graph, "threads", machine, "profile", ["--profile"]))
    if options.output:
        with open(options.output, "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
