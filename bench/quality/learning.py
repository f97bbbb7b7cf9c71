#!/usr/bin/env python3
"""What the learned policies are worth: the tables of docs/learning.md.

  bench/quality/learning.py EXPERIMENT [--dopp build/release/dopp] [--reference FOLDER] [--seeds 5] [-o CSV]

Experiments (each appends a line per run to the CSV, bench/results/learning-EXPERIMENT.csv by default, and ends
with its table):
  single     training on one published graph at a time, uniform:4, 30 s on two threads; the untrained network beside it
  few-shot   `auto` with 5 s of its 10 s spent on fine-tuning, against 10 s of `lns`: 30 graphs of 300 nodes and more
  transfer   2000 episodes from a policy of other graphs or of another machine, against four times as many from nothing
  memory     llama-layer with little more memory than any placement needs, against the same without limits
  ablations  parts of the method left out or replaced, on the published graphs, equal episodes
  parts      the same, and single features left out, trained on 120 generated problems and tried on 40 others
"""
import argparse
import concurrent.futures
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import first_costs
import train_policy

GRAPHS = ["chainmm", "ffnn", "llama_block", "llama_layer"]
# Within 30 s on two threads of the machine these were measured on.
EPISODES = {"chainmm": 220_000, "ffnn": 130_000, "llama_block": 150_000, "llama_layer": 120_000}
# What is there before anything is learnt: our network with its prior alone, and without.
CONTROLS = {"untrained": ["--episodes", "0"], "untrained without prior": ["--episodes", "0", "--prior", "none"]}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.rows = []
        self.runs = 0

    def dopp(self, *arguments):
        run = subprocess.run([self.options.dopp, *map(str, arguments)], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: {run.stderr}")
        return run.stdout

    def reference(self, name):
        return pathlib.Path(self.options.reference) / f"{name}.txt"

    def generate(self, arguments):
        self.runs += 1
        path = self.folder / f"{self.runs}.json"
        self.dopp("graph", "generate", *first_costs.graph(arguments), "-o", path)
        return path

    def place(self, graph, devices, method, *more):
        return json.loads(self.dopp("place", graph, "--devices", devices, *first_costs.costs(devices), "--method", method,
                                    "--threads", self.options.threads, "--json", *more))

    def train(self, graphs, devices, *more):
        """The folder of a training, and its result."""
        self.runs += 1
        run = self.folder / f"run{self.runs}"
        graphs = graphs if isinstance(graphs, list) else [graphs]
        return run, json.loads(self.dopp("train", *graphs, "--devices", devices, *first_costs.costs(devices), "--threads",
                                         self.options.threads, "-o", run, "--json", *more))

    def add(self, **row):
        self.rows.append(row)
        print("  ".join(f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}"
                        for key, value in row.items()), flush=True)

    def write(self):
        path = pathlib.Path(self.options.output or f"bench/results/learning-{self.options.experiment}.csv")
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def single(bench):
    for name in GRAPHS:
        for recipe in bench.options.recipes.split(","):
            for seed in range(1, bench.options.seeds + 1):
                more = {"trained": ["--episodes", EPISODES[name]], **CONTROLS}[recipe]
                run, result = bench.train(bench.reference(name), "uniform:4", "--seed", seed, *more)
                best = result["graphs"][0]["best"] or bench.place(
                    bench.reference(name), "uniform:4", "policy", "--policy", run / "policy.json")["makespan"]
                bench.add(graph=name, recipe=recipe, seed=seed, best=best, episodes=result["episodes"],
                          seconds=round(result["seconds"], 1))
    for name in GRAPHS:
        for recipe in bench.options.recipes.split(","):
            best = [row["best"] for row in bench.rows if (row["graph"], row["recipe"]) == (name, recipe)]
            print(f"{name:12} {recipe:19} median {statistics.median(best):8.2f}  worst {max(best):8.2f}  "
                  f"({max(best) / statistics.median(best):.3f} of the median)")


def few_shot(bench):
    problems = []
    for workload in ("ffnn --train", "llama-block --seq 2048", "llama-layer --seq 2048", "llama-block --seq 512 --train",
                     "llama-layer --seq 512"):  # as planned
        for machine in ("8xV100", "2xA100+2xT4"):
            problems.append((f"{workload} --devices {machine}", machine))
    for workload in ("ffnn --train --shard batch=4,hidden=4,out=2", "llama-block --seq 1200 --shard seq=4,heads=4,ffn=4",
                     "llama-layer --seq 1200 --shard seq=4,heads=4,ffn=4,vocab=4",
                     "llama-block --seq 1200 --train --shard seq=2,heads=4,ffn=4",
                     "llama-layer --seq 600 --train --shard seq=2,heads=2,ffn=4,vocab=4"):  # as people write them
        for machine in ("8xV100", "4xP100"):
            problems.append((f"{workload} --devices {machine}", machine))
    seed = 100
    for family in ("layered", "fork-join", "series-parallel", "cholesky", "fft"):
        for nodes, ratio, machine in ((500, 2, "8xV100"), (900, 4, "uniform:8")):
            seed += 1
            problems.append((f"random --family {family} --nodes {nodes} --ccr {ratio} --seed {seed}", machine))
    ratios = []
    for arguments, machine in problems:
        graph = bench.generate(arguments)
        budget = ["--budget", 10]
        search = bench.place(graph, machine, "lns", *budget)
        if search["nodes"] < 300:
            raise RuntimeError(f"{arguments}: only {search['nodes']} nodes")
        learned = bench.place(graph, machine, "auto", *budget, "--finetune", bench.options.finetune)
        ratios.append(learned["makespan"] / search["makespan"])
        bench.add(problem=arguments, machine=machine, nodes=search["nodes"], lns=search["makespan"],
                  auto=learned["makespan"], ratio=ratios[-1])
    rng = random.Random(1)
    means = sorted(geometric_mean(rng.choices(ratios, k=len(ratios))) for _ in range(10_000))
    print(f"{len(ratios)} graphs: geometric mean {geometric_mean(ratios):.4f}, 95 % bootstrap interval "
          f"{means[250]:.4f} to {means[9750]:.4f}")


def kept_share(graph, assignment):
    """Of the bytes that nodes read from each other, those that stay on a device."""
    text = json.loads(graph.read_text())
    maker = {name: node["name"] for node in text["nodes"] for name in node["outputs"]}
    size = {tensor["name"]: tensor["bytes"] for tensor in text["tensors"]}
    kept = total = 0
    for node in text["nodes"]:
        for name in set(node["inputs"]):
            if name in maker:
                total += size[name]
                kept += size[name] * (assignment[maker[name]] == assignment[node["name"]])
    return kept / total


def transfer(bench):
    sources = {"ffnn": "ffnn --shards 4 --shard batch=4,hidden=4,out=2",
               "chainmm": "chainmm --size 6000 --shards 4 --shard i=3,j=2,k=2,l=2,m=3"}
    targets = {name: f"{name} --seq 1024 --shards 4 --shard seq=4,heads=4,ffn=4,embed=2"
               for name in ("llama-block", "llama-layer")}
    made = {name: bench.generate(arguments) for name, arguments in {**sources, **targets}.items()}
    for seed in range(1, bench.options.seeds + 1):
        for target in targets:
            _, scratch = bench.train(made[target], "4xP100", "--episodes", 8000, "--seed", seed)
            for source in [*sources, "shipped", "nothing"]:
                if source == "shipped":
                    start = ["--start", pathlib.Path(__file__).resolve().parents[2] / "policies/seed1.json"]
                elif source == "nothing":
                    start = []
                else:
                    run, _ = bench.train(made[source], "4xP100", "--episodes", 8000, "--seed", seed)
                    start = ["--start", run / "policy.json"]
                _, tuned = bench.train(made[target], "4xP100", "--episodes", 2000, "--seed", seed, *start,
                                       *(["--rate", 0.002] if start else []))
                bench.add(what=f"{source} -> {target}", seed=seed, scratch=scratch["graphs"][0]["best"],
                          tuned=tuned["graphs"][0]["best"],
                          ratio=tuned["graphs"][0]["best"] / scratch["graphs"][0]["best"], kept_before="", kept_after="")
        target = made["llama-layer"]
        run, _ = bench.train(target, "4xP100", "--episodes", 8000, "--seed", seed)
        _, scratch = bench.train(target, "8xV100", "--episodes", 8000, "--seed", seed)
        tuned_run, tuned = bench.train(target, "8xV100", "--episodes", 2000, "--seed", seed, "--start",
                                       run / "policy.json", "--rate", 0.002)
        kept = [kept_share(target, bench.place(target, "8xV100", "policy", "--policy", folder / "policy.json")
                           ["assignment"]) for folder in (run, tuned_run)]
        bench.add(what="4xP100 -> 8xV100", seed=seed, scratch=scratch["graphs"][0]["best"],
                  tuned=tuned["graphs"][0]["best"],
                  ratio=tuned["graphs"][0]["best"] / scratch["graphs"][0]["best"], kept_before=kept[0],
                  kept_after=kept[1])
    for what in dict.fromkeys(row["what"] for row in bench.rows):
        ratios = [row["ratio"] for row in bench.rows if row["what"] == what]
        print(f"{what:26} 2000 episodes / 8000 from nothing: median {statistics.median(ratios):.3f}, "
              f"worst {max(ratios):.3f}")


def memory(bench):
    for sizes in ("--seq 512 --hidden 1024 --heads 8 --ffn 2752 --vocab 8000",
                  "--seq 1024 --hidden 2048 --heads 16 --ffn 5504 --vocab 16000",
                  "--seq 2048 --hidden 4096 --heads 32 --ffn 11008 --vocab 32000"):
        graph = bench.generate(f"llama-layer {sizes} --shards 4 --shard seq=4,heads=4,ffn=4,vocab=4")
        text = json.loads(graph.read_text())
        least = least_capacity(bench, graph, text)
        untrained = {name: bench.train(graph, "4xP100", *more)[0] / "policy.json" for name, more in CONTROLS.items()}

        def place(method):
            if method in CONTROLS:
                return bench.place(graph, "4xP100", "policy", "--policy", untrained[method])
            return bench.place(graph, "4xP100", method, "--finetune", 10, *(["--budget", 15] if method == "auto" else []))

        free = place("policy")
        for factor in (1.1, 1.5, 2):
            capacity = math.ceil(factor * least)
            text["constraints"] = {"memory": {f"gpu{d}": capacity for d in range(4)}}
            graph.write_text(json.dumps(text))
            for method in ("policy", "auto", *CONTROLS):
                try:
                    tight = place(method)
                except RuntimeError:  # nothing that it sampled fits
                    print(f"sizes {sizes}  factor {factor}  method {method}: nothing fits", flush=True)
                    continue
                peak = max(tight["peak_memory_bytes"].values())
                bench.add(sizes=sizes, factor=factor, method=method, capacity=capacity, peak=peak,
                          fits=peak <= capacity, unlimited=free["makespan"], makespan=tight["makespan"],
                          ratio=tight["makespan"] / free["makespan"], unlimited_moved=free["bytes_moved"],
                          moved=tight["bytes_moved"])


def least_capacity(bench, graph, text):
    """By bisection: the least capacity of four equal devices for which any method finds a placement."""
    low, high = 0, sum(tensor["bytes"] for tensor in text["tensors"])
    while high - low > 0.01 * high:
        capacity = (low + high) // 2
        limited = dict(text, constraints={"memory": {f"gpu{d}": capacity for d in range(4)}})
        path = bench.folder / "limited.json"
        path.write_text(json.dumps(limited))
        try:
            bench.place(path, "4xP100", "auto", "--budget", 2)
            high = capacity
        except RuntimeError:
            low = capacity
    return high


ABLATIONS = {
    "dual": [], "sel-only": ["--model", "sel-only"], "plc-only": ["--model", "plc-only"], "joint": ["--model", "joint"],
    "no messages": ["--message-rounds", "0"], "b-level priorities": ["--priorities", "b-level"],
    "no prior": ["--prior", "none"], "imitation first": ["--stages", "imitation,sim"], "imitation alone": ["--stages", "imitation",
                                                                         "--imitation-episodes", "EPISODES"],
    "gdp": ["--model", "gdp"], **CONTROLS,
}


def ablations(bench):
    episodes = bench.options.episodes
    wanted = bench.options.variants.split(",") if bench.options.variants else list(ABLATIONS)
    for what in wanted:
        more = ABLATIONS[what]
        for name in GRAPHS:
            for seed in range(1, bench.options.seeds + 1):
                arguments = [str(episodes) if word == "EPISODES" else word for word in more]
                run, result = bench.train(bench.reference(name), "uniform:4", "--seed", seed, *(
                    [] if what == "imitation alone" or what in CONTROLS else ["--episodes", episodes]), *arguments)
                placed = bench.place(bench.reference(name), "uniform:4", "policy", "--policy", run / "policy.json")
                best = min(placed["makespan"], result["graphs"][0]["best"] or math.inf)
                bench.add(what=what, graph=name, seed=seed, best=best, sampled=placed["makespan"],
                          seconds=round(result["seconds"], 1))
                if bench.options.curves:
                    keep = pathlib.Path(bench.options.curves) / f"{what.replace(' ', '-')}.{name}.{seed}.csv"
                    keep.write_text((run / "metrics.csv").read_text())
    for what in wanted:
        print(f"{what:20}", end="")
        for name in GRAPHS:
            best = [row["best"] for row in bench.rows if (row["what"], row["graph"]) == (what, name)]
            print(f"  {name} {statistics.median(best):8.2f} (worst {max(best):8.2f})", end="")
        print()


FEATURES = ["start", "end", "ends first", "free", "arrival", "idle before", "load", "moved", "inputs near",
            "siblings near", "compute", "same meta-op", "room", "links", "progress", "start behind traffic"]
PARTS = {
    "all": [], "no messages": ["--message-rounds", "0"], "6 rounds": ["--message-rounds", "6"],
    "width 64": ["--width", "64"], "no prior": ["--prior", "none"], "sel-only": ["--model", "sel-only"],
    "plc-only": ["--model", "plc-only"], "joint": ["--model", "joint"],
    "b-level priorities": ["--priorities", "b-level"],
    "no self-imitation": ["--self-imitation", "0"], "self-imitation of 0.1": ["--self-imitation", "0.1"],
    "imitates critical-path first": ["--stages", "imitation,sim", "--imitation-episodes", "10000"],
    "imitates lns first": ["--stages", "imitation,sim", "--teacher", "lns", "--imitation-episodes", "10000"],
    **{f"without {name}": ["--without", name] for name in FEATURES}, **CONTROLS,
}
MOST_NODES_OF_PARTS = 150
PROBLEMS_OF_PARTS = 120, 40  # to train on, to try


def parts(bench):
    maker = train_policy.Maker(bench.options.dopp, bench.folder, 900)
    lines, number = [], 0
    with concurrent.futures.ThreadPoolExecutor(bench.options.threads) as pool:
        while len(lines) < sum(PROBLEMS_OF_PARTS):
            for made in pool.map(maker.problems, range(number, number + 32)):
                if made and len(json.loads((bench.folder / made[0].split()[0]).read_text())["nodes"]) <= \
                        MOST_NODES_OF_PARTS:
                    lines.append(made[0])
            number += 32
    seen, unseen = lines[:PROBLEMS_OF_PARTS[0]], lines[PROBLEMS_OF_PARTS[0]:sum(PROBLEMS_OF_PARTS)]
    (bench.folder / "seen.txt").write_text("\n".join(seen) + "\n")

    def one(job):
        """Mean times of the last batches by problem seen, makespans by problem unseen."""
        what, seed = job
        run = bench.folder / f"{what}.{seed}".replace(" ", "-")
        began = time.monotonic()
        episodes = [] if what in CONTROLS else ["--episodes", str(bench.options.episodes), "--last-rate", "0.00004"]
        subprocess.run([bench.options.dopp, "train", "--list", "seen.txt", *episodes, "--threads", "1", "--seed",
                        str(seed), "-o", str(run), *PARTS[what]], check=True, cwd=bench.folder, capture_output=True)
        seconds = time.monotonic() - began
        means = {}
        for row in csv.DictReader((run / "metrics.csv").open()):
            if row["stage"] == "sim" and math.isfinite(float(row["mean"])):
                means.setdefault(row["task"], []).append(float(row["mean"]))
        placed = {}
        for line in unseen:
            graph, devices, links = line.split()
            found = subprocess.run([bench.options.dopp, "place", graph, "--devices", devices, "--links", links,
                                    "--method", "policy", "--policy", str(run / "policy.json"), "--threads", "1",
                                    "--json"], cwd=bench.folder, capture_output=True)
            if found.returncode == 0:
                placed[line] = json.loads(found.stdout)["makespan"]
        print(f"{what}, seed {seed}: {seconds:.0f} s", flush=True)
        return what, seed, seconds, {task: statistics.fmean(last[-4:]) for task, last in means.items()}, placed

    jobs = [(what, seed) for seed in range(1, bench.options.seeds + 1) for what in PARTS]
    with concurrent.futures.ThreadPoolExecutor(bench.options.threads) as pool:
        results = list(pool.map(one, jobs))
    # Against the best of all on each problem, so that every problem counts alike.
    least = {}
    for _, _, _, trained, placed in results:
        for key, value in [*trained.items(), *placed.items()]:
            least[key] = min(value, least.get(key, math.inf))
    common = set.intersection(*(set(placed) for *_, placed in results))  # what every variant could place
    for what, seed, seconds, trained, placed in results:
        bench.add(what=what, seed=seed,
                  trained=geometric_mean([trained[key] / least[key] for key in trained]) if trained else math.nan,
                  unseen=geometric_mean([placed[key] / least[key] for key in common]), seconds=round(seconds, 1))
    for what in PARTS:
        rows = [row for row in bench.rows if row["what"] == what]
        print(f"{what:30} last batches {statistics.fmean(row['trained'] for row in rows):.3f}  best of 64 on unseen "
              f"problems {statistics.fmean(row['unseen'] for row in rows):.3f}  "
              f"{statistics.fmean(row['seconds'] for row in rows):.0f} s")


EXPERIMENTS = {"parts": parts, "single": single, "few-shot": few_shot, "transfer": transfer, "memory": memory,
               "ablations": ablations}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--reference", help="folder of the published graphs")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--episodes", type=int, default=20_000, help="of ablations")
    parser.add_argument("--variants", help="some of ablations' variants (default: all)")
    parser.add_argument("--recipes", default=",".join(["trained", *CONTROLS]), help="of single")
    parser.add_argument("--finetune", type=float, default=5, help="seconds of few-shot's 10")
    parser.add_argument("--curves", help="folder for the metrics of every ablation")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    options.dopp = str(pathlib.Path(options.dopp).resolve())
    if options.experiment in ("single", "ablations") and not options.reference:
        parser.error(f"{options.experiment} needs --reference FOLDER")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        EXPERIMENTS[options.experiment](bench)
        bench.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
