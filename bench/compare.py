#!/usr/bin/env python3
"""Compares two builds of micro_bench, case by case: compare.py BEFORE AFTER [--rounds N] [--filter RE]

Each round runs every case once with either program, one after the other, so that a machine that is
slow for a while is slow for both. The least time of all rounds counts. Prints a row for each case that
both have: microseconds before and after, and their ratio; in the end the geometric mean of the ratios.
"""

import argparse
import json
import math
import os
import re
import subprocess


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--seconds", type=float, default=0.1, help="least time of a measurement")
    return parser.parse_args()


def cases(program):
    return subprocess.run([program, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout.split()


def microseconds(program, case, seconds):
    output = subprocess.run(
        [program, f"--benchmark_filter=^{re.escape(case)}$", f"--benchmark_min_time={seconds}", "--benchmark_format=json"],
        check=True, capture_output=True, text=True, env=dict(os.environ, OPENBLAS_NUM_THREADS="1")).stdout
    result = json.loads(output)["benchmarks"][0]
    if result.get("error_occurred"):
        raise SystemExit(f"{program}: {case}: {result['error_message']}")
    # Cases that are measured by the wall clock say so in their names.
    time = result["real_time" if case.endswith("/real_time") else "cpu_time"]
    return time * {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[result["time_unit"]]


def main():
    arguments = parse_arguments()
    known = set(cases(arguments.before))
    names = [case for case in cases(arguments.after) if case in known and re.search(arguments.filter, case)]
    least = {}
    for round_number in range(arguments.rounds):
        order = [arguments.before, arguments.after]
        if round_number % 2 == 1:
            order.reverse()
        for case in names:
            for program in order:
                time = microseconds(program, case, arguments.seconds)
                least[case, program] = min(time, least.get((case, program), math.inf))
    logs = []
    print(f"{'case':34} {'before':>12} {'after':>12} {'ratio':>7}")
    for case in names:
        before, after = least[case, arguments.before], least[case, arguments.after]
        logs.append(math.log(after / before))
        print(f"{case:34} {before:12.1f} {after:12.1f} {after / before:7.3f}")
    print(f"geometric mean of {len(names)} ratios, {arguments.rounds} rounds: {math.exp(sum(logs) / len(logs)):.3f}")


if __name__ == "__main__":
    main()
