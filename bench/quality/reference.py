#!/usr/bin/env python3
"""The four published reference graphs on `uniform:4`: list scheduling, search and the objectives.

Runs the command as a user would and writes a CSV with a line per run; ends with a table of what was
seen. The graphs are those of the published code, in its text format (docs/formats/published-text.md).

  bench/quality/reference.py --graphs FOLDER [--dopp build/release/dopp] [--budget 20] [-o CSV]
"""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys

GRAPHS = ["chainmm", "ffnn", "llama_block", "llama_layer"]
LIST_SEEDS = range(1, 22)
SEARCH_SEEDS = range(1, 6)


def place(args, graph, method, seed, objective="nominal"):
    command = [args.dopp, "place", str(args.graphs / (graph + ".txt")), "--devices", "uniform:4",
               "--method", method, "--seed", str(seed), "--objective", objective, "--json"]
    if method == "auto":
        command += ["--budget", str(args.budget)]
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    row = {"graph": graph, "method": method, "objective": objective, "seed": seed,
           "nominal": result["makespan"], "bound": result["bound"]["value"],
           "robust_mean": result["robust"]["mean"], "any_order_mean": result["any_order"]["mean"],
           "seconds": result["seconds"]}
    print("{graph} {method} {objective} seed {seed}: {nominal:.6g}".format(**row), file=sys.stderr)
    return row


def measure(args):
    for graph in GRAPHS:
        for seed in LIST_SEEDS:
            yield place(args, graph, "critical-path", seed)
        for seed in SEARCH_SEEDS:
            yield place(args, graph, "auto", seed)
        yield place(args, graph, "auto", 1, "robust")
        yield place(args, graph, "auto", 1, "any-order")


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def summarize(rows):
    print("%-12s %24s %24s %16s %22s" % ("graph", "critical-path median", "auto, worst seed (of 5)",
                                         "robust/nominal", "any-order mean (cost)"))
    for graph in GRAPHS:
        listed = [row["nominal"] for row in pick(rows, graph=graph, method="critical-path")]
        found = [row["nominal"] for row in
                 pick(rows, graph=graph, method="auto", objective="nominal")]
        robust = pick(rows, graph=graph, objective="robust")[0]
        any_order = pick(rows, graph=graph, objective="any-order")[0]
        print("%-12s %24.6g %24.6g %16.4f %14.6g (%+.1f %%)" % (
            graph, statistics.median(listed), max(found), robust["robust_mean"] / robust["nominal"],
            any_order["any_order_mean"], 100 * (any_order["nominal"] / min(found) - 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=pathlib.Path, required=True)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds per search")
    parser.add_argument("-o", "--output", default="reference.csv")
    args = parser.parse_args()
    rows = list(measure(args))
    with open(args.output, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    summarize(rows)


if __name__ == "__main__":
    main()
