#!/usr/bin/env python3
"""Work-conserving against synchronous execution, on the engine.

For each workload and machine every placement method gives a placement, and the simulator says which
of them is best in each mode. The engine then runs both modes with both of these placements: each mode
with its own best, and both modes with the same one. The four take turns in several rounds. Writes a
CSV with a line per round; ends with a table of medians, their noise (the larger of dopp run's own and
of how far rounds lie apart), and synchronous over work-conserving times.

  bench/quality/modes.py [--dopp build/release/dopp] [--budget 5] [--rounds 3] [--train] [-o CSV]
"""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import first_costs

ENGINES = {"4xP100": "emulated", "cpu:2": "threads"}
MODES = ["wc", "sync"]
# Of real kernels on two cores, so that a run takes some tens of milliseconds.
SMALL = {
    "chainmm": "--size 1280",
    "ffnn": "--batch 768 --input 768 --hidden 1536 --output-size 768",
    "llama-block": "--seq 384 --hidden 768 --heads 8 --ffn 2048",
    "llama-layer": "--seq 384 --hidden 768 --heads 8 --ffn 2048 --vocab 4000",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds per search")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=4, help="per round and configuration, at least 4")
    parser.add_argument("--train", action="store_true", help="forward, backward and update")
    parser.add_argument("--workloads", default=",".join(SMALL))
    parser.add_argument("--machines", default=",".join(ENGINES))
    parser.add_argument("-o", "--output", type=pathlib.Path)
    args = parser.parse_args()
    if args.rounds < 1 or args.runs < 4:
        parser.error("--rounds must be at least 1 and --runs at least 4, for noise to be known")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for machine in args.machines.split(","):
            for workload in args.workloads.split(","):
                rows += measure(args, pathlib.Path(folder), workload, machine)
    if args.output:
        with open(args.output, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print_table(rows)


def dopp(args, *words):
    command = [args.dopp, *map(str, words), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def best_placements(args, folder, graph, machine):
    """For each mode the method and file of the placement that the simulator finds fastest."""
    found = {mode: [] for mode in MODES}
    for method in dopp(args, "methods")["methods"]:
        placement = folder / f"{method['name']}-placement.json"
        budget = ["--budget", args.budget] if method["searches"] else []
        try:
            dopp(args, "place", graph, "--devices", machine, *first_costs.costs(machine), "--method",
                 method["name"], *budget, "-o", placement)
            for mode in MODES:
                run = dopp(args, "simulate", graph, placement, "--devices", machine,
                           *first_costs.costs(machine), "--mode", mode)
                found[mode].append((run["makespan"]["median"], method["name"], placement))
        except subprocess.CalledProcessError as error:  # memory, or a method not for this size
            print(f"{method['name']}: {error.stderr.decode().strip()}", file=sys.stderr)
    return {mode: min(placements)[1:] for mode, placements in found.items()}


def measure(args, folder, workload, machine):
    graph = folder / "graph.json"
    sizes = f" {SMALL[workload]}" if ENGINES[machine] == "threads" else ""
    train = " --train" if args.train else ""
    dopp(args, "graph", "generate",
         *first_costs.graph(f"{workload}{sizes}{train} --devices {machine}"), "-o", graph)
    best = best_placements(args, folder, graph, machine)
    rows = []
    for number in range(args.rounds):
        for mode in MODES:
            for placed_for in MODES:
                method, placement = best[placed_for]
                run = dopp(args, "run", graph, placement, "--engine", ENGINES[machine], "--devices",
                           machine, *first_costs.costs(machine), "--mode", mode, "--warmup", 1,
                           "--runs", args.runs)
                rows.append({"workload": workload, "machine": machine, "mode": mode,
                             "placed_for": placed_for, "method": method, "round": number + 1,
                             "nodes": run["nodes"], "simulated_seconds": run["predicted"],
                             "median_seconds": run["makespan"]["median"], "noise": run["noise"]})
                print("{workload} {machine} {mode}, placed for {placed_for} by {method}: "
                      "{median_seconds:.6g} s".format(**rows[-1]), file=sys.stderr)
    return rows


def summary(rows):
    """The median over rounds, and its noise."""
    medians = [row["median_seconds"] for row in rows]
    median = statistics.median(medians)
    apart = (max(medians) - min(medians)) / median
    return median, max([apart] + [row["noise"] for row in rows])


def print_table(rows):
    print("medians in ms, ± noise; wc, sync: mode of the run @ mode that the placement is best for")
    print("%-11s %-7s" % ("workload", "machine"), end="")
    for mode in MODES:
        for placed_for in MODES:
            print("%16s" % f"{mode} @ {placed_for}", end="")
    print("%8s%8s" % ("own", "same"))
    for workload, machine in dict.fromkeys((row["workload"], row["machine"]) for row in rows):
        print("%-11s %-7s" % (workload, machine), end="")
        medians = {}
        for mode in MODES:
            for placed_for in MODES:
                medians[mode, placed_for], noise = summary(
                    [row for row in rows if (row["workload"], row["machine"], row["mode"],
                                             row["placed_for"]) == (workload, machine, mode,
                                                                    placed_for)])
                print("%8.2f ±%4.1f %%" % (1e3 * medians[mode, placed_for], 100.0 * noise), end="")
        # Synchronous over work-conserving: each with its own best placement, both with that of wc.
        print("%8.3f%8.3f" % (medians["sync", "sync"] / medians["wc", "wc"],
                               medians["sync", "wc"] / medians["wc", "wc"]))
    print("own, same: synchronous over work-conserving, each with its own placement or both with wc's")


if __name__ == "__main__":
    main()
