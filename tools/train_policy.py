#!/usr/bin/env python3
"""Trains the policy that ships with doppler.

    tools/train_policy.py --dopp build/release/dopp -o RUN [--episodes N] [--seed N]

Generates its graphs: the four workloads at several sizes and shardings, forward and training, and random
graphs of every family; each is placed on several machines, with free and with shared links. The same seed
and number of episodes give the same policy, bit for bit, on one sort of CPU. RUN/policy.json is the result;
copy it to policies/default.json to ship it.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

# Seeds of graphs in tests and benchmarks are small numbers; those of training are not.
FIRST_SEED = 7_000_000
MACHINES = "2xP100,4xP100,8xV100,2xA100+2xT4,2n4xA100,6xA100,uniform:3,uniform:4,uniform:8"
# The same devices behind links that are so much slower, and that any number of transfers share freely.
SLOW_MACHINES = [("3xP100", 8), ("4xP100", 4), ("4xP100", 16), ("8xV100", 8)]
WORKLOADS = [
    "chainmm --size 3000 --shards 4",
    "chainmm --size 6000 --shards 8",
    "ffnn --batch 2048 --input 1024 --hidden 4096 --output-size 512 --shards 4",
    "ffnn --batch 4096 --input 2048 --hidden 8192 --output-size 1024 --shards 8 --train",
    "llama-block --seq 1024 --hidden 2048 --heads 16 --ffn 5504 --shards 4",
    "llama-block --seq 1536 --hidden 1024 --heads 8 --ffn 2816 --shards 8",
    "llama-block --seq 512 --hidden 2048 --heads 16 --ffn 5504 --shards 4 --train",
    "llama-layer --seq 1024 --hidden 2048 --heads 16 --ffn 5504 --vocab 16000 --shards 4",
    "llama-layer --seq 2048 --hidden 1024 --heads 8 --ffn 2816 --vocab 8000 --shards 8",
]
FAMILIES = ["layered", "fork-join", "series-parallel", "cholesky", "fft"]
SIZES = [40, 120, 300]
RATIOS = [0.3, 1.0, 4.0]  # of communication to computation


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("-o", "--output", required=True, help="folder of the training")
    parser.add_argument("--episodes", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--machines", default=MACHINES)
    options = parser.parse_args()
    dopp = str(pathlib.Path(options.dopp).resolve())

    with tempfile.TemporaryDirectory() as folder:
        graphs = []

        def generate(arguments):
            graphs.append(f"{len(graphs):03}.json")
            subprocess.run([dopp, "graph", "generate", *arguments, "-o", graphs[-1]], check=True, cwd=folder,
                           capture_output=True)

        for workload in WORKLOADS:
            generate(workload.split())
        for family in FAMILIES:
            for nodes in SIZES:
                for ratio in RATIOS:
                    generate(["random", "--family", family, "--nodes", str(nodes), "--ccr", str(ratio), "--seed",
                              str(FIRST_SEED + len(graphs))])
        machines = options.machines
        for number, (spec, factor) in enumerate(SLOW_MACHINES):
            shown = subprocess.run([dopp, "devices", "show", spec, "--json"], check=True, capture_output=True)
            machine = json.loads(shown.stdout)
            for channel in machine["channels"]:
                channel["bandwidth"] /= factor
                channel["capacity"] = 1000
            name = f"slow{number}.json"
            (pathlib.Path(folder) / name).write_text(json.dumps(machine))
            machines += "," + name
        subprocess.run([dopp, "train", *graphs, "--devices", machines, "--episodes", str(options.episodes),
                        "--seed", str(options.seed), "-o", str(pathlib.Path(options.output).resolve()),
                        *(["--resume"] if options.resume else [])], check=True, cwd=folder)


if __name__ == "__main__":
    main()
