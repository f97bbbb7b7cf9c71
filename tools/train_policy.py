#!/usr/bin/env python3
"""Trains a policy of those that ship with doppler.

    tools/train_policy.py --dopp build/release/dopp -o RUN [--episodes N] [--seed N]
    tools/train_policy.py --dopp build/release/dopp --judge RUN RUN…

Makes its problems itself, at random but the same for a seed: the four workloads at many sizes and
shardings, forward and training, with costs that follow from the devices or are given; random graphs of
every family; machines of one sort and mixed ones, links slow and fast, shared and free, memory plenty and
little. The same seed and number of episodes give the same policy, bit for bit, on one sort of CPU.
RUN/policy.json is the result and RUN/log.csv how it went; the two best by --judge are shipped, as
policies/seedN.json and policies/seedN.csv (their names are in doppler/CMakeLists.txt).
"""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile

# Seeds of graphs in tests and benchmarks are small numbers; those of training are not.
FIRST_SEED = 7_000_000
# Of the problems on which trainings are compared; no training should have it.
JUDGES_SEED = 500
# Of the problems drawn, workloads with given costs, then others; the rest are random graphs.
GIVEN, WORKLOADS = 0.2, 0.55
MACHINES = ["2xP100", "3xP100", "4xP100", "4xV100", "8xV100", "4xA100", "6xA100", "8xA100", "16xA100", "2n4xA100",
            "2n8xA100", "8xH100", "4xT4", "8xT4", "4xA10"]
MIXED = ["P100", "V100", "A100", "H100", "T4", "L4"]
FAMILIES = ["layered", "fork-join", "series-parallel", "cholesky", "fft"]
MOST_NODES = 1500
# Beyond this many nodes a graph is kept the more seldom the larger it is, so that no size takes most of the time.
USUAL_NODES = 300
# Problems where search gains less than this over list scheduling are easy; that share of them is kept.
LEAST_GAIN = 0.03
EASY_SHARE = 0.3
# The sharding of chainmm in the published reference graph, which is kept for measuring.
REFERENCE_CHAINMM = {"i": 4, "j": 2, "k": 2, "l": 2, "m": 4}


def log_uniform(rng, low, high):
    return low * (high / low) ** rng.random()


def machine(rng):
    """Devices of one sort or, as often as not, of two."""
    if rng.random() < 0.5:
        return rng.choice(MACHINES)
    fast, slow = rng.sample(MIXED, 2)
    return f"{rng.choice([1, 2, 2, 4, 4, 6])}x{fast}+{rng.choice([1, 2, 2, 4, 4, 6])}x{slow}"


def workload(rng, planned_for):
    """Arguments of `graph generate` for one of the workloads, of random size and sharding."""
    name = rng.choice(["chainmm", "ffnn", "llama-block", "llama-layer"])
    parts = lambda *choices: rng.choice(choices)
    if name == "chainmm":
        sizes = ["--size", str(round(log_uniform(rng, 1000, 20000) / 48) * 48)]
        split = {dim: parts(1, 2, 3, 4) for dim in "ijklm"}
        if split == REFERENCE_CHAINMM:
            split["i"] = 3
    elif name == "ffnn":
        sizes = ["--batch", str(48 * rng.randint(8, 256)), "--input", str(48 * rng.randint(8, 64)),
                 "--hidden", str(48 * rng.randint(16, 400)), "--output-size", str(48 * rng.randint(4, 64))]
        split = {"batch": parts(1, 2, 3, 4, 6, 8), "hidden": parts(1, 2, 3, 4, 6), "in": parts(1, 1, 2),
                 "out": parts(1, 2, 4)}
    else:
        heads = parts(4, 8, 12, 16, 24)
        sizes = ["--seq", str(48 * rng.randint(4, 64)), "--hidden", str(128 * heads), "--heads", str(heads),
                 "--ffn", str(344 * heads), "--layers", "1" if rng.random() < 0.8 else "2"]
        split = {"seq": parts(1, 2, 3, 4), "heads": parts(1, 2, 4), "ffn": parts(1, 2, 4), "embed": parts(1, 1, 2)}
        if name == "llama-layer":
            sizes += ["--vocab", str(480 * rng.randint(8, 64))]
            split["vocab"] = parts(1, 2, 4, 6)
    arguments = [name, *sizes]
    if rng.random() < 0.6:
        arguments += ["--shards", str(parts(2, 3, 4, 6, 8, 12, 16)),
                      "--shard", ",".join(f"{dim}={n}" for dim, n in split.items() if n > 1) or "batch=1"]
    elif planned_for and rng.random() < 0.5:
        arguments += ["--devices", planned_for]
    else:
        arguments += ["--shards", str(parts(2, 3, 4, 6, 8, 12, 16))]
    if rng.random() < 0.25:
        arguments.append("--train")
    return arguments


def give_costs(rng, graph):
    """Costs that need no devices: compute from flops, transfers from the compute of what made the tensor (as in
    published graphs) or from bytes."""
    flop_time, byte_time = 1e-12, 1e-12
    for node in graph["nodes"]:
        node["time"] = flop_time * node.get("flops", 0) + byte_time * node.get("bytes_written", 0)
    total = sum(node["time"] for node in graph["nodes"])
    maker = {name: node["time"] for node in graph["nodes"] for name in node["outputs"]}
    read = {}
    for node in graph["nodes"]:
        for name in set(node["inputs"]):
            read[name] = read.get(name, 0) + 1
    by_compute = rng.random() < 0.5
    ratio = log_uniform(rng, 0.5, 8) if by_compute else log_uniform(rng, 0.1, 8)
    bytes_read = sum(tensor["bytes"] * read.get(tensor["name"], 0) for tensor in graph["tensors"])
    for tensor in graph["tensors"]:
        made = maker.get(tensor["name"], 0)
        tensor["transfer_time"] = ratio * (made if by_compute else total * tensor["bytes"] / max(1, bytes_read))


class Maker:
    """Makes problems in a folder, each from a number alone."""

    def __init__(self, dopp, folder, seed):
        self.dopp, self.folder, self.seed = dopp, pathlib.Path(folder), seed

    def run(self, *arguments):
        return subprocess.run([self.dopp, *arguments], check=True, cwd=self.folder, capture_output=True).stdout

    def behind_slower_links(self, rng, spec, name):
        """The same machine in a file."""
        text = json.loads(self.run("devices", "show", spec, "--json"))
        factor = log_uniform(rng, 2, 32)
        for channel in text["channels"]:
            channel["bandwidth"] /= factor
            if "achieved" in channel:
                channel["achieved"]["bandwidth"] /= factor
        (self.folder / name).write_text(json.dumps(text))
        return name

    def limit_memory(self, rng, text, devices):
        """Leaves every device little more than its share of all tensors."""
        names = [device["name"] for device in json.loads(self.run("devices", "show", devices, "--json"))["devices"]]
        share = sum(tensor["bytes"] for tensor in text["tensors"]) / len(names)
        text["constraints"] = {"memory": {name: math.ceil(share * log_uniform(rng, 0.7, 3)) for name in names}}

    def gain(self, graph, devices, links):
        """How much longer a list scheduler's placement takes than one that was searched for."""
        place = lambda method, *more: json.loads(self.run(
            "place", graph, "--devices", devices, "--links", links, "--threads", "1", "--method", method, *more,
            "--json"))
        listed = [place("heft"), place("critical-path")]
        if min(found["gap"] for found in listed) < LEAST_GAIN:
            return 1.0
        return min(found["makespan"] for found in listed) / place("lns", "--evaluations", "3000")["makespan"]

    def problems(self, number):
        """Up to two lines for `dopp train --list`, with one graph."""
        rng = random.Random(f"{self.seed}/{number}")
        kind = rng.random()
        graph = f"{number:05}.json"
        devices = machine(rng)
        arguments = workload(rng, devices if kind >= GIVEN else None) if kind < WORKLOADS else [
            "random", "--family", rng.choice(FAMILIES), "--nodes", str(round(log_uniform(rng, 20, MOST_NODES))),
            "--ccr", f"{log_uniform(rng, 0.1, 10):.3g}", "--seed", str(FIRST_SEED + 100_000 * self.seed + number)]
        try:
            self.run("graph", "generate", *arguments, "-o", graph)
        except subprocess.CalledProcessError:
            return []  # more parts than there are rows
        text = json.loads((self.folder / graph).read_text())
        nodes = len(text["nodes"])
        if not 10 <= nodes <= MOST_NODES or rng.random() * nodes > USUAL_NODES:
            return []
        uniform = lambda: f"uniform:{rng.choice([2, 3, 4, 4, 5, 6, 8, 8, 12, 16])}"
        if kind < GIVEN:
            give_costs(rng, text)
            (self.folder / graph).write_text(json.dumps(text))
            machines = [uniform(), uniform()]
        else:
            machines = [devices, machine(rng) if kind < WORKLOADS else uniform()]
            if rng.random() < 0.4:
                machines[0] = self.behind_slower_links(rng, devices, f"machine{number:05}.json")
            if rng.random() < 0.15:
                machines = machines[:1]
                self.limit_memory(rng, text, devices)
                (self.folder / graph).write_text(json.dumps(text))
        lines = []
        for machine_or_file in machines:
            links = "free" if machine_or_file.startswith("uniform") or rng.random() < 0.25 else "channel"
            try:
                gain = self.gain(graph, machine_or_file, links)
            except subprocess.CalledProcessError:
                continue  # found nothing that fits
            # Of what a list scheduler does as well there is enough in every graph.
            if gain > 1 + LEAST_GAIN or rng.random() < EASY_SHARE:
                lines.append(f"{graph} {machine_or_file} {links}")
        return lines


def make_list(maker, count, threads):
    """The problems of as many numbers as it takes, in their order."""
    lines = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        number = 0
        while len(lines) < count:
            for made in pool.map(maker.problems, range(number, number + 32)):
                lines += made
            number += 32
    return lines[:count]


def write_log(run):
    """A hundredth of stage sim in a line: how far the means of its batches are above the best ever found."""
    with (run / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] == "sim"]
    best = {row["task"]: float(row["best_so_far"]) for row in rows}
    with (run / "log.csv").open("w") as file:
        file.write("episodes,seconds,rate,mean_over_best\n")
        for i in range(100):
            part = rows[i * len(rows) // 100:(i + 1) * len(rows) // 100]
            logs = [math.log(float(row["mean"]) / best[row["task"]]) for row in part
                    if math.isfinite(float(row["mean"]))]  # else nothing fitted into memory
            if logs:
                file.write(f"{part[-1]['episodes']},{part[-1]['seconds']},{part[-1]['rate']},"
                           f"{math.exp(sum(logs) / len(logs)):.4f}\n")


def judge(maker, runs, count, threads):
    """How far each policy is above the best of them, in geometric mean over problems that none was trained on."""
    def place(line, run):
        graph, devices, links = line.split()
        placed = subprocess.run([maker.dopp, "place", graph, "--devices", devices, "--links", links, "--threads", "1",
                                 "--method", "policy", "--policy", str(run.resolve() / "policy.json"), "--json"],
                                cwd=maker.folder, capture_output=True)
        return json.loads(placed.stdout)["makespan"] if placed.returncode == 0 else None  # where nothing fits

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        times = list(pool.map(lambda line: [place(line, run) for run in runs], make_list(maker, count, threads)))
    times = [row for row in times if all(row)]
    for i, run in enumerate(runs):
        logs = [math.log(row[i] / min(row)) for row in times]
        print(f"{run}: {math.exp(sum(logs) / len(logs)):.4f} over {len(logs)} problems")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", default="build/release/dopp")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-o", "--output", help="folder of the training")
    what.add_argument("--judge", nargs="+", type=pathlib.Path, metavar="RUN", help="compare trainings instead")
    parser.add_argument("--episodes", type=int, default=1_500_000)
    parser.add_argument("--problems", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        if options.judge:
            judge(Maker(str(pathlib.Path(options.dopp).resolve()), folder, JUDGES_SEED), options.judge, 200,
                  options.threads)
            return
        maker = Maker(str(pathlib.Path(options.dopp).resolve()), folder, options.seed)
        lines = make_list(maker, options.problems, options.threads)
        (maker.folder / "problems.txt").write_text("\n".join(lines) + "\n")
        subprocess.run([maker.dopp, "train", "--list", "problems.txt", "--episodes", str(options.episodes), "--width",
                        "64", "--rate", "0.002", "--last-rate", "0.00002", "--threads", str(options.threads),
                        "--seed", str(options.seed), "-o", str(pathlib.Path(options.output).resolve()),
                        *(["--resume"] if options.resume else [])], check=True, cwd=folder)
    write_log(pathlib.Path(options.output))


if __name__ == "__main__":
    main()
