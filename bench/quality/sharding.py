#!/usr/bin/env python3
"""The plans of the optimizer against the shardings that people write by hand.

For each workload and machine: the graph with the optimizer's plan, and those with data-parallel,
tensor-parallel (Megatron) and 2-D shardings given as --shard; each placed by the best method within
the same budget. Writes a CSV with a line per graph; ends with a table of ratios to the best of those
by hand (below 1: the optimizer's is faster) and their geometric mean.

  bench/quality/sharding.py [--dopp build/release/dopp] [--budget 20] [--train] [-o CSV]
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import first_costs

MACHINES = {"8xV100": 8, "4xA100": 4, "2n4xA100": 8}


def two_d(n):
    return [(a, n // a) for a in (2, 4) if a < n]


def by_hand(workload, n):
    """Pairs of a name and the sharding, for n devices."""
    if workload == "chainmm":
        yield "rows", f"i={n},l={n}"
        yield "columns", f"k={n}"
        for a, b in two_d(n):
            yield f"2-D {a}x{b}", f"i={a},l={a},k={b}"
    elif workload == "ffnn":
        yield "data", f"batch={n}"
        yield "tensor", f"hidden={n}"
        for a, b in two_d(n):
            yield f"2-D {a}x{b}", f"batch={a},hidden={b},out={b}"
            yield f"data {a} x tensor {b}", f"batch={a},hidden={b}"
    else:
        vocab = workload == "llama-layer"
        tensor = "heads={0},ffn={0}" + (",vocab={0}" if vocab else "")
        yield "data", f"seq={n}"  # one sequence: its positions take the place of the batch
        yield "tensor", tensor.format(n)
        for a, b in two_d(n):
            yield f"2-D {a}x{b}", f"seq={a},embed={b}," + tensor.format(b)
            yield f"data {a} x tensor {b}", f"seq={a}," + tensor.format(b)


def measure(args, folder, workload, machine, name, sharding):
    graph = folder / "graph.json"
    arguments = f"{workload}{' --train' if args.train else ''} --devices {machine}"
    first = args.costs == "roofline"
    made = [*arguments.split(), "--shard", sharding] if sharding else (
        first_costs.graph(arguments) if first else arguments.split())
    subprocess.run([args.dopp, "graph", "generate", *made, "-o", str(graph)], check=True,
                   capture_output=True)
    result = json.loads(subprocess.run(
        [args.dopp, "place", str(graph), "--devices", machine, "--costs", args.costs, "--budget",
         str(args.budget), "--json"], check=True, capture_output=True).stdout)
    row = {"workload": workload, "machine": machine, "sharding": name, "parts": sharding or "",
           "nodes": result["nodes"],
           "makespan_seconds": result["makespan"], "bound_seconds": result["bound"]["value"]}
    print("{workload} {machine} {sharding}: {makespan_seconds:.6g} s".format(**row),
          file=sys.stderr)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--costs", choices=["roofline", "predicted"], default="roofline",
                        help="roofline: with the plans of the table; predicted: as dopp plans now")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds per placement")
    parser.add_argument("--train", action="store_true", help="forward, backward and update")
    parser.add_argument("--workloads", default="chainmm,ffnn,llama-block,llama-layer")
    parser.add_argument("--machines", default=",".join(MACHINES))
    parser.add_argument("--only-planned", action="store_true", help="leave out those by hand")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    args = parser.parse_args()
    rows, ratios = [], []
    with tempfile.TemporaryDirectory() as folder:
        for workload in args.workloads.split(","):
            for machine in args.machines.split(","):
                group = [measure(args, pathlib.Path(folder), workload, machine, "planned", None)]
                if not args.only_planned:
                    group += [measure(args, pathlib.Path(folder), workload, machine, name, parts)
                              for name, parts in by_hand(workload, MACHINES[machine])]
                rows += group
    if args.output:
        with open(args.output, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if args.only_planned:
        return
    print("%-12s %-9s %12s %12s  %-20s %s" % ("workload", "machine", "planned, ms", "by hand, ms",
                                              "best by hand", "ratio"))
    for row in rows:
        if row["sharding"] != "planned":
            continue
        best = min((other for other in rows if other["sharding"] != "planned" and
                    (other["workload"], other["machine"]) == (row["workload"], row["machine"])),
                   key=lambda other: other["makespan_seconds"])
        ratios.append(row["makespan_seconds"] / best["makespan_seconds"])
        print("%-12s %-9s %12.3f %12.3f  %-20s %.4f" % (
            row["workload"], row["machine"], 1e3 * row["makespan_seconds"],
            1e3 * best["makespan_seconds"], best["sharding"], ratios[-1]))
    print("geometric mean %.4f, worst %.4f" % (
        math.exp(sum(map(math.log, ratios)) / len(ratios)), max(ratios)))


if __name__ == "__main__":
    main()
