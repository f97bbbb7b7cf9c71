#!/usr/bin/env python3
"""Trains the policy that ships with doppler.

    tools/train_policy.py --dopp build/release/dopp -o RUN [--episodes N] [--seed N]

Makes its problems itself, at random but the same for a seed: the four workloads at many sizes and
shardings, forward and training, with costs that follow from the devices or are given; random graphs of
every family; machines of one sort and mixed ones, links slow and fast, shared and free. The same seed and
number of episodes give the same policy, bit for bit, on one sort of CPU. RUN/policy.json is the result; copy
it to policies/default.json to ship it.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import tempfile

# Seeds of graphs in tests and benchmarks are small numbers; those of training are not.
FIRST_SEED = 7_000_000
MACHINES = ["2xP100", "3xP100", "4xP100", "4xV100", "8xV100", "4xA100", "6xA100", "8xA100", "2n4xA100", "2n8xA100",
            "8xH100", "4xT4", "2xA100+2xT4", "4xA100+4xT4", "2xV100+4xP100", "4xA100+2xT4", "2xH100+4xV100"]
FAMILIES = ["layered", "fork-join", "series-parallel", "cholesky", "fft"]
MOST_NODES = 400
# The sharding of chainmm in the published reference graph, which is kept for measuring.
REFERENCE_CHAINMM = {"i": 4, "j": 2, "k": 2, "l": 2, "m": 4}


def log_uniform(rng, low, high):
    return low * (high / low) ** rng.random()


def workload(rng):
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
    arguments = [name, *sizes, "--shards", str(parts(2, 3, 4, 6, 8, 12, 16))]
    if rng.random() < 0.7:  # else planned
        arguments += ["--shard", ",".join(f"{dim}={n}" for dim, n in split.items() if n > 1) or "batch=1"]
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

    def machine(self, rng, name):
        """A machine as it is, or the same behind slower links."""
        spec = rng.choice(MACHINES)
        if rng.random() < 0.6:
            return spec
        machine = json.loads(self.run("devices", "show", spec, "--json"))
        factor = log_uniform(rng, 2, 32)
        for channel in machine["channels"]:
            channel["bandwidth"] /= factor
        (self.folder / name).write_text(json.dumps(machine))
        return name

    def gain(self, graph, machine, links):
        """How much longer a list scheduler's placement takes than one that was searched for."""
        place = lambda method, *more: json.loads(self.run(
            "place", graph, "--devices", machine, "--links", links, "--threads", "1", "--method", method, *more,
            "--json"))["makespan"]
        return min(place("heft"), place("critical-path")) / place("lns", "--evaluations", "10000")

    def problems(self, number):
        """Up to two lines for `dopp train --list`, with one graph."""
        rng = random.Random(f"{self.seed}/{number}")
        kind = rng.random()
        graph = f"{number:05}.json"
        arguments = workload(rng) if kind < 0.65 else [
            "random", "--family", rng.choice(FAMILIES), "--nodes", str(round(log_uniform(rng, 20, MOST_NODES))),
            "--ccr", f"{log_uniform(rng, 0.1, 10):.3g}", "--seed", str(FIRST_SEED + 100_000 * self.seed + number)]
        try:
            self.run("graph", "generate", *arguments, "-o", graph)
        except subprocess.CalledProcessError:
            return []  # more parts than there are rows
        text = json.loads((self.folder / graph).read_text())
        if not 10 <= len(text["nodes"]) <= MOST_NODES:
            return []
        uniform = lambda: f"uniform:{rng.choice([2, 3, 4, 4, 5, 6, 8, 8, 12, 16])}"
        if kind < 0.3:
            give_costs(rng, text)
            (self.folder / graph).write_text(json.dumps(text))
            machines = [uniform(), uniform()]
        else:
            machines = [self.machine(rng, f"machine{number:05}.json"),
                        rng.choice(MACHINES) if kind < 0.65 else uniform()]
        lines = []
        for machine in machines:
            links = "free" if machine.startswith("uniform") or rng.random() < 0.25 else "channel"
            # Of what a list scheduler does as well there is enough in every graph.
            if self.gain(graph, machine, links) > 1.03 or rng.random() < 0.1:
                lines.append(f"{graph} {machine} {links}")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("-o", "--output", required=True, help="folder of the training")
    parser.add_argument("--episodes", type=int, default=1_500_000)
    parser.add_argument("--problems", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        maker = Maker(str(pathlib.Path(options.dopp).resolve()), folder, options.seed)
        lines = make_list(maker, options.problems, options.threads)
        (maker.folder / "problems.txt").write_text("\n".join(lines) + "\n")
        subprocess.run([maker.dopp, "train", "--list", "problems.txt", "--episodes", str(options.episodes), "--width",
                        "64", "--rate", "0.004", "--last-rate", "0.00004", "--threads", str(options.threads),
                        "--seed", str(options.seed), "-o", str(pathlib.Path(options.output).resolve()),
                        *(["--resume"] if options.resume else [])], check=True, cwd=folder)


if __name__ == "__main__":
    main()
