#!/usr/bin/env python3
"""A trained policy on problems that it has not seen, without any further training.

  bench/quality/policy.py [--dopp build/release/dopp] [--policy FILE ...] [--sets A,B] [-o CSV]

Sets: `workloads` (the four at sizes and shardings that no training uses, 8 and 16 devices and mixed ones,
shared links) against 60 s of `lns`; `random` (every family with seeds of its own) against 10 s of `lns` and
the better of `heft` and `critical-path`; `reference` (the published graphs, found with --reference) against
the best makespans that are known of them. Each is placed by the best of 64 samples, once by every --policy (default: those
that ship). What lns and the list schedulers gave is taken from the CSV where it has it, so that policies can be
compared without another hour. Ends with a line for each set and policy: geometric mean and worst ratio.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import first_costs

WORKLOADS = ["chainmm --size 10000", "ffnn", "ffnn --train", "llama-block --seq 2048", "llama-layer --seq 2048",
             "llama-block --seq 1000 --hidden 4096 --train"]
MACHINES = ["8xV100", "2n8xA100", "4xA100+4xT4"]
FAMILIES = ["layered", "fork-join", "series-parallel", "cholesky", "fft"]
# What this project found for uniform:4 by any means: `dopp train` on the graph itself, 160,000 episodes on all four.
REFERENCE = {"chainmm": 1200.1, "ffnn": 56.70, "llama_block": 141.4, "llama_layer": 115.7}
FIELDS = ["set", "problem", "machine", "nodes", "lns", "list", "policy", "makespan", "seconds"]


def problems(options):
    """Set, arguments of graph generate (or a file) and machine."""
    if "workloads" in options.sets:
        for workload in WORKLOADS:
            for machine in MACHINES:
                yield "workloads", f"{workload} --devices {machine}", machine
    if "random" in options.sets:
        seed = 0
        for family in FAMILIES:
            for nodes in (60, 250):
                for ratio in (0.5, 2):
                    for machine in ("uniform:4", "8xV100"):
                        seed += 1
                        yield ("random", f"random --family {family} --nodes {nodes} --ccr {ratio} --seed {seed}",
                               machine)
    if "reference" in options.sets:
        for name in REFERENCE:
            yield "reference", name, "uniform:4"


def place(options, graph, machine, method, *more):
    run = subprocess.run([options.dopp, "place", str(graph), "--devices", machine, *first_costs.costs(machine), "--method", method,
                          "--threads", str(options.threads), "--json", *more], check=True, capture_output=True)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--policy", action="append", default=[], help="default: those that ship")
    parser.add_argument("--sets", default="workloads,random,reference")
    parser.add_argument("--reference", help="folder of the published graphs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("-o", "--output", default="bench/results/policy.csv")
    options = parser.parse_args()
    options.sets = options.sets.split(",")
    if "reference" in options.sets and not options.reference:
        parser.error("the set 'reference' needs --reference FOLDER")

    output = pathlib.Path(options.output)
    rows = list(csv.DictReader(output.open())) if output.exists() else []
    known = {(row["problem"], row["machine"]): row for row in rows}
    ratios, lists = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, problem, machine in problems(options):
            if kind == "reference":
                graph = pathlib.Path(options.reference) / f"{problem}.txt"
            else:
                graph = pathlib.Path(folder) / "graph.json"
                subprocess.run([options.dopp, "graph", "generate", *first_costs.graph(problem), "-o", str(graph)], check=True,
                               capture_output=True)
            row = known.get((problem, machine))
            if row:
                best, listed = float(row["lns"]), float(row["list"])
            else:
                listed = min(place(options, graph, machine, method)["makespan"] for method in ("heft", "critical-path"))
                best = REFERENCE[problem] if kind == "reference" else place(
                    options, graph, machine, "lns", "--budget", "60" if kind == "workloads" else "10")["makespan"]
            for policy in options.policy or ["shipped"]:
                more = [] if policy == "shipped" else ["--policy", policy]
                placed = place(options, graph, machine, "policy", *more)
                path = pathlib.Path(policy)
                name = path.parent.name if path.stem == "policy" else path.stem
                rows = [row for row in rows if (row["problem"], row["machine"], row["policy"]) !=
                        (problem, machine, name)]
                rows.append({"set": kind, "problem": problem, "machine": machine, "nodes": placed["nodes"],
                             "lns": best, "list": listed, "policy": name, "makespan": placed["makespan"],
                             "seconds": round(placed["seconds"], 3)})
                ratio = placed["makespan"] / best
                ratios.setdefault((kind, name), []).append(ratio)
                lists.setdefault((kind, name), []).append(placed["makespan"] <= listed * (1 + 1e-9))
                print(f"{kind:10} {problem:60} {machine:12} {placed['nodes']:6} {name:10} list {listed / best:6.3f}  "
                      f"policy {ratio:6.3f}", flush=True)
            with tempfile.NamedTemporaryFile("w", dir=output.parent, delete=False, newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            os.replace(file.name, output)
    for (kind, name), values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"{kind:10} {name:10} {len(values):3} problems: geometric mean {mean:.3f}, worst {max(values):.3f}, at "
              f"least as good as list scheduling on {sum(lists[kind, name]) / len(values):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
