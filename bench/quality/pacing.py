#!/usr/bin/env python3
"""The emulated engine on the wall clock against the same core on a virtual one.

For each workload a number of placements (heuristics, and random ones by seed) runs once on each clock
with the placer's own costs. Prints a line per placement and, per workload, the largest and the median
difference of the two makespans and the latest end of a sleep.

  bench/quality/pacing.py [--dopp build/release/dopp] [--devices 4xP100] [--placements 20]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

import first_costs

WORKLOADS = ["chainmm", "ffnn", "llama-block", "llama-layer"]
METHODS = ["enumerative", "critical-path", "heft", "peft", "metis", "round-robin", "single"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", type=pathlib.Path, default="build/release/dopp")
    parser.add_argument("--devices", default="4xP100")
    parser.add_argument("--placements", type=int, default=20, help="per workload")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    args = parser.parse_args()

    def dopp(*words):
        command = [str(args.dopp), *map(str, words), "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    with tempfile.TemporaryDirectory() as folder:
        graph, placement = pathlib.Path(folder) / "graph.json", pathlib.Path(folder) / "placement.json"
        costs = first_costs.costs(args.devices)
        for workload in args.workloads.split(","):
            dopp("graph", "generate", *first_costs.graph(f"{workload} --devices {args.devices}"), "-o", graph)
            differences, late = [], 0.0
            for number in range(args.placements):
                method = METHODS[number] if number < len(METHODS) else "random"
                dopp("place", graph, "--devices", args.devices, *costs, "--method", method, "--seed",
                     number + 1, "-o", placement)
                run = ["run", graph, placement, "--engine", "emulated", "--devices", args.devices, *costs]
                wall = dopp(*run)
                virtual = dopp(*run, "--clock", "virtual")["makespan"]["median"]
                differences.append(wall["makespan"]["median"] / virtual - 1.0)
                late = max(late, wall["pacing_error_seconds"])
                print("%s %s: %.3f ms on a virtual clock, %+.2f %% on the wall" % (
                    workload, method, 1e3 * virtual, 100.0 * differences[-1]), flush=True)
            print("%s: largest difference %.2f %%, median %.2f %%, latest sleep %.2f ms" % (
                workload, 100.0 * max(map(abs, differences)),
                100.0 * statistics.median(differences), 1e3 * late), flush=True)


if __name__ == "__main__":
    main()
