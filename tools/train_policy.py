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
import json
import pathlib
import random
import subprocess
import tempfile

# Seeds of graphs in tests and benchmarks are small numbers; those of training are not.
FIRST_SEED = 7_000_000
MACHINES = ["2xP100", "3xP100", "4xP100", "4xV100", "8xV100", "4xA100", "6xA100", "8xA100", "2n4xA100", "2n8xA100",
            "2xA100+2xT4", "4xA100+4xT4", "2xV100+4xP100", "8xH100", "4xT4"]
FAMILIES = ["layered", "fork-join", "series-parallel", "cholesky", "fft"]
MOST_NODES = 700
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
        sizes = ["--batch", str(48 * rng.randint(8, 128)), "--input", str(48 * rng.randint(8, 64)),
                 "--hidden", str(48 * rng.randint(16, 256)), "--output-size", str(48 * rng.randint(4, 64))]
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


class Problems:
    """Graphs and machines in a folder, and the list of what to train on."""

    def __init__(self, dopp, folder, rng):
        self.dopp, self.folder, self.rng = dopp, pathlib.Path(folder), rng
        self.lines = []
        self.made = self.machines = 0

    def run(self, *arguments):
        return subprocess.run([self.dopp, *arguments], check=True, cwd=self.folder, capture_output=True).stdout

    def generate(self, arguments):
        """The name of a new graph and its text; None where it is too large or cannot be made."""
        name = f"{self.made:04}.json"
        try:
            self.run("graph", "generate", *arguments, "-o", name)
        except subprocess.CalledProcessError:
            return None
        graph = json.loads((self.folder / name).read_text())
        if not 10 <= len(graph["nodes"]) <= MOST_NODES:
            return None
        self.made += 1
        return name, graph

    def machine(self):
        """A machine as it is, or behind links that are slower and that transfers share freely."""
        spec = self.rng.choice(MACHINES)
        if self.rng.random() < 0.6:
            return spec
        machine = json.loads(self.run("devices", "show", spec, "--json"))
        factor = log_uniform(self.rng, 2, 32)
        for channel in machine["channels"]:
            channel["bandwidth"] /= factor
        self.machines += 1
        name = f"machine{self.machines:04}.json"
        (self.folder / name).write_text(json.dumps(machine))
        return name

    def uniform(self):
        return f"uniform:{self.rng.choice([2, 3, 4, 4, 5, 6, 8, 8, 12, 16])}"

    def gain(self, graph, machine, links):
        """How much longer a list scheduler's placement takes than one that was searched for."""
        place = lambda method, *more: json.loads(self.run(
            "place", graph, "--devices", machine, "--links", links, "--threads", "1", "--method", method, *more,
            "--json"))["makespan"]
        return min(place("heft"), place("critical-path")) / place("lns", "--evaluations", "10000")

    def add(self):
        kind = self.rng.random()
        if kind < 0.4:  # a random graph
            made = self.generate(["random", "--family", self.rng.choice(FAMILIES), "--nodes",
                                  str(round(log_uniform(self.rng, 20, 400))), "--ccr",
                                  f"{log_uniform(self.rng, 0.1, 10):.3g}", "--seed", str(FIRST_SEED + self.made)])
            machines = [self.uniform(), self.machine()]
        else:
            made = self.generate(workload(self.rng))
            if made is None:
                return
            if kind < 0.7:
                give_costs(self.rng, made[1])
                (self.folder / made[0]).write_text(json.dumps(made[1]))
                machines = [self.uniform(), self.uniform()]
            else:
                machines = [self.machine(), self.machine()]
        for machine in machines:
            links = "free" if machine.startswith("uniform") or self.rng.random() < 0.25 else "channel"
            # Of what a list scheduler does as well there is enough in every graph.
            if self.gain(made[0], machine, links) > 1.03 or self.rng.random() < 0.1:
                self.lines.append(f"{made[0]} {machine} {links}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("-o", "--output", required=True, help="folder of the training")
    parser.add_argument("--episodes", type=int, default=2_000_000)
    parser.add_argument("--problems", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    options, more = parser.parse_known_args()  # what is not known goes to `dopp train`

    with tempfile.TemporaryDirectory() as folder:
        problems = Problems(str(pathlib.Path(options.dopp).resolve()), folder, random.Random(options.seed))
        while len(problems.lines) < options.problems:
            problems.add()
        (problems.folder / "problems.txt").write_text("\n".join(problems.lines) + "\n")
        subprocess.run([problems.dopp, "train", "--list", "problems.txt", "--episodes", str(options.episodes),
                        "--seed", str(options.seed), "-o", str(pathlib.Path(options.output).resolve()),
                        *(["--resume"] if options.resume else []), *more], check=True, cwd=folder)


if __name__ == "__main__":
    main()
