#!/usr/bin/env python3
"""`auto` against a plain annealing over the published simulator's semantics, at equal CPU time.

Generates 30 graphs (all families, 200-2000 nodes, ccr 1-10, 4-16 devices, times scaled so that
makespans exceed 100), gives each to both programs on one thread, and writes a CSV with the ratio of
makespans. Graphs on which both are within 1 % of the bound are left out of the mean. Ends with the
geometric mean and its bootstrap interval.

  bench/quality/rival.py --dopp build/release/dopp --rival RIVAL [--seconds 10] [-o rival.csv]

RIVAL is an executable that takes `GRAPH.txt - DEVICES SECONDS` and prints `SA best VALUE`.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import re
import subprocess
import tempfile

FAMILIES = ["layered", "fork-join", "series-parallel", "cholesky", "fft"]
SIZES = [200, 350, 500, 800, 1000, 1500, 2000]
CCRS = [1, 2, 3, 5, 10]
DEVICES = [4, 8, 16]
MEAN_TIME = 10.0  # seconds per node: 200 nodes on 16 devices then take more than 100


def cases(seed):
    rng = random.Random(seed)
    for i in range(30):
        yield {"family": FAMILIES[i % len(FAMILIES)], "nodes": rng.choice(SIZES),
               "ccr": rng.choice(CCRS), "devices": rng.choice(DEVICES), "seed": 1000 * seed + i}


def measure(case, args, folder):
    graph = folder / "{family}-{seed}.txt".format(**case)
    subprocess.run([args.dopp, "graph", "generate", "random", "--family", case["family"], "--nodes",
                    str(case["nodes"]), "--ccr", str(case["ccr"]), "--mean-time", str(MEAN_TIME),
                    "--seed", str(case["seed"]), "-o", str(graph)], check=True, capture_output=True)
    ours = json.loads(subprocess.run(
        [args.dopp, "place", str(graph), "--devices", "uniform:%d" % case["devices"], "--budget",
         str(args.seconds), "--threads", "1", "--json"], check=True, capture_output=True).stdout)
    theirs = subprocess.run([args.rival, str(graph), "-", str(case["devices"]), str(args.seconds)],
                            check=True, capture_output=True, text=True).stdout
    rival = float(re.search(r"SA best ([0-9.]+)", theirs).group(1))
    bound = ours["bound"]["value"]
    near = max(rival, ours["makespan"]) <= 1.01 * bound
    return {**case, "bound": bound, "auto": ours["makespan"], "rival": rival,
            "ratio": ours["makespan"] / rival, "both_near_bound": int(near)}


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--rival", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="graphs measured at once, one core each")
    parser.add_argument("-o", "--output", default="rival.csv")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda case: measure(case, args, pathlib.Path(folder)),
                             cases(args.seed)))
    with open(args.output, "w", encoding="utf-8") as out:
        print(",".join(rows[0]), file=out)
        for row in rows:
            print(",".join(str(value) for value in row.values()), file=out)
    ratios = [row["ratio"] for row in rows if not row["both_near_bound"]]
    rng = random.Random(1)
    means = sorted(geometric_mean([rng.choice(ratios) for _ in ratios]) for _ in range(2000))
    print("graphs %d, of them %d with both near the bound" % (len(rows), len(rows) - len(ratios)))
    print("geometric mean of auto / rival: %.4f, 95 %% bootstrap interval %.4f to %.4f"
          % (geometric_mean(ratios), means[50], means[1949]))


if __name__ == "__main__":
    main()
