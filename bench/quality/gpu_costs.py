#!/usr/bin/env python3
"""How well predicted costs agree with measured kernels and transfers of GPUs.

  bench/quality/gpu_costs.py --profiles DIR [--dopp build/release/dopp] [--fit] [-o docs/results/costs.svg]

DIR holds `GPU/MODEL/kernels.csv` (times of the operations of language models by number of tokens and degree
of tensor parallelism, in milliseconds, f16) and `transfers/*send_recv*.csv` (times of sends between two GPUs,
by bytes). A folder's name is the GPU: a100, a40, h100, …; --gpu NAME=KIND gives another kind of device for one.

Each operation becomes a node of a graph, as readers of models would make it, and `dopp` says how long it takes:
the launch that separates it from the next kernel is taken off, since profiles count kernels alone. The table has
the median and the 90th percentile of |predicted / measured - 1|; transfers below 64 KB are judged by the ratio
of the longer to the shorter time.

--fit searches for the figures of doppler/device/kernel_figures.h that fit one file (--fit-on, by default
a100/Llama-2-7b) best, starting from those that the program has and from other places, and prints them.
"""
import argparse
import collections
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

PRODUCTS = ("attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj")
F16 = 2  # bytes
SMALL = 65536  # bytes: below, a transfer is mostly latency

# What --fit may change, by the object of a kind's "kernels", with the range of each figure.
FITTED = {
    "product": {"floor_seconds": (0.0, 8e-6), "peak_share": (0.6, 1.0), "whole_wave_share": (0.0, 1.0),
                "least_wave": (0.2, 1.0), "fill_seconds": (0.0, 4e-6), "depth_seconds": (0.0, 6e-9),
                "second_kernel_seconds": (0.0, 8e-6), "choice_exponent": (1.0, 40.0),
                "blend_exponent": (1.2, 20.0), "heat_share": (0.0, 0.6)},
    "elementwise": {"floor_seconds": (0.0, 6e-6), "bytes_per_clock": (5.0, 30.0)},
    "strided": {"floor_seconds": (0.0, 6e-6), "bytes_per_clock": (2.0, 20.0)},
    "norm": {"floor_seconds": (0.0, 8e-6), "bytes_per_clock": (2.0, 20.0)},
    "gather": {"floor_seconds": (0.0, 8e-6), "bytes_per_clock": (1.0, 10.0)},
}

Sample = collections.namedtuple("Sample", "op node seconds")  # `node`: as in a graph's file, without a name


# --- what was measured ---

def node(op, read, written, **work):
    return {"op": op, "bytes_read": read, "bytes_written": written, "work": [{"type": "f16", **work}]}


def product(rows, columns, depth):
    return {**node("matmul", F16 * (rows * depth + depth * columns), F16 * rows * columns, rows=rows,
                   columns=columns, depth=depth), "flops": 2 * rows * columns * depth}


def operations(row):
    """The nodes of one row of kernels.csv, by the name of the operation."""
    number = lambda key: int(float(row[key]))
    n, e, f, p = (number(key) for key in ("num_tokens", "n_embd", "n_expanded_embd", "num_tensor_parallel_workers"))
    kv = number("n_kv_head") * e // number("n_head")
    gated = row["use_gated_mlp"] == "True"
    rotated, hidden, inner = F16 * n * (e + kv) // p, F16 * n * e, F16 * n * f // p
    norm = node("rms_norm" if gated else "layer_norm", hidden, hidden, rows=n, columns=e)
    return {
        "attn_pre_proj": product(n, (e + 2 * kv) // p, e), "attn_post_proj": product(n, e, e // p),
        "mlp_up_proj": product(n, (2 * f if gated else f) // p, e), "mlp_down_proj": product(n, e, f // p),
        "mlp_act": node("silu_mul", 2 * inner, inner) if gated else node("gelu", inner, inner),
        "input_layernorm": norm, "post_attention_layernorm": norm, "attn_rope": node("rotary", rotated, rotated),
        "add": node("add", 2 * hidden, hidden), "emb": node("gather", hidden, hidden)}


def read_kernels(path):
    samples = []
    for row in csv.DictReader(path.open()):
        for op, made in operations(row).items():
            measured = row.get(f"time_stats.{op}.median")
            if measured:
                samples.append(Sample(op, made, float(measured) * 1e-3))
    return samples


def read_transfers(path):
    """Samples by devices per node (1: between two boxes)."""
    by_box = collections.defaultdict(list)
    for row in csv.DictReader(path.open()):
        by_box[int(row["devices_per_node"])].append(
            (float(row["size"]), float(row["time_stats.send_recv.median"]) * 1e-3))
    return by_box


# --- what is predicted ---

class Doppler:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"gpu_costs: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def machine(self, spec):
        return json.loads(self.run("devices", "show", spec, "--json"))

    def durations(self, graph, devices):
        """Seconds of every node and transfer of one simulated run, by name."""
        graph = {"format": "doppler.graph", "version": 2, **graph}
        (self.folder / "graph.json").write_text(json.dumps(graph))
        self.run("place", self.folder / "graph.json", "--devices", devices, "--method", "round-robin", "--costs",
                 "predicted", "-o", self.folder / "placement.json")
        self.run("simulate", self.folder / "graph.json", self.folder / "placement.json", "--devices", devices,
                 "--costs", "predicted", "--trace", self.folder / "trace.json")
        trace = json.loads((self.folder / "trace.json").read_text())
        return {event["name"]: event["dur"] * 1e-6 for event in trace["traceEvents"] if event.get("ph") == "X"}

    def kernel_times(self, nodes, machine):
        """Seconds of each node as one kernel on the first device of a machine."""
        (self.folder / "machine.json").write_text(json.dumps(machine))
        kind = machine["devices"][0]["kind"]
        kernels = next(k for k in machine["kinds"] if k["name"] == kind)["hardware"]["kernels"]
        graph = {"nodes": [{"name": str(i), **made} for i, made in enumerate(nodes)]}
        times = self.durations(graph, self.folder / "machine.json")
        return [times[str(i)] - kernels["launch_seconds"] for i in range(len(nodes))]

    def transfer_times(self, sizes, devices):
        """Seconds of a transfer of each size from the first device to the second."""
        first, second = (device["name"] for device in self.machine(devices)["devices"][:2])
        nodes = [{"name": "from", "op": "op", "flops": 1, "outputs": [f"t{i}" for i in range(len(sizes))]}]
        nodes += [{"name": f"to{i}", "op": "op", "flops": 1, "inputs": [f"t{i}"]} for i in range(len(sizes))]
        pins = [{"node": "from", "device": first}] + [{"node": f"to{i}", "device": second} for i in range(len(sizes))]
        times = self.durations({"tensors": [{"name": f"t{i}", "bytes": size} for i, size in enumerate(sizes)],
                                "nodes": nodes, "constraints": {"pin": pins}}, devices)
        return [times[f"t{i}"] for i in range(len(sizes))]


def predict(doppler, samples, machine):
    """Predicted seconds of samples; equal operations are asked for once."""
    keys = [json.dumps(sample.node, sort_keys=True) for sample in samples]
    distinct = list(dict.fromkeys(keys))
    times = dict(zip(distinct, doppler.kernel_times([json.loads(key) for key in distinct], machine)))
    return [times[key] for key in keys]


# --- how well they agree ---

def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def in_words(errors):
    return f"{100 * statistics.median(errors):5.1f} % | {100 * percentile(errors, 0.9):5.1f} %"


def misses(samples, predicted):
    """Relative errors by group (products, others) and by operation."""
    groups = collections.defaultdict(list)
    for sample, seconds in zip(samples, predicted):
        error = abs(seconds / sample.seconds - 1)
        groups["products" if sample.op in PRODUCTS else "others"].append(error)
        groups[sample.op].append(error)
    return groups


def loss(samples, predicted):
    """What --fit makes small: median and 90th percentile, and the mean so that every sample counts a little."""
    errors = [abs(seconds / sample.seconds - 1) for sample, seconds in zip(samples, predicted)]
    return (statistics.median(errors) / 0.04 + percentile(errors, 0.9) / 0.12 +
            statistics.fmean(min(error, 1.0) for error in errors) / 0.06)


def descend(figures, ranges, loss_now, rounds):
    """Changes figures one after another as long as that helps, by steps that become smaller; the loss at the end."""
    steps = {name: (high - low) / 8 for name, (low, high) in ranges.items()}
    best = loss_now()
    for _ in range(rounds):
        for name, (low, high) in ranges.items():
            for sign in (1, -1):
                before = figures[name]
                figures[name] = min(high, max(low, before + sign * steps[name]))
                now = loss_now() if figures[name] != before else best
                if now < best:
                    best = now
                    break
                figures[name] = before
            else:
                steps[name] /= 2
    return best


def fit(doppler, samples, machine, starts=6, rounds=16):
    """Finds the kernels' figures of the machine's first kind: from those that it has, the middle of all ranges, and
    random places."""
    random_numbers = random.Random(1)
    kernels = machine["kinds"][0]["hardware"]["kernels"]
    of = {"product": PRODUCTS, "elementwise": ("add",), "strided": ("mlp_act", "attn_rope"),
          "norm": ("input_layernorm", "post_attention_layernorm"), "gather": ("emb",)}
    for part, ranges in FITTED.items():
        chosen = [sample for sample in samples if sample.op in of[part]]
        figures, found = kernels[part], []
        for start in range(starts):
            share = lambda: random_numbers.uniform(0.2, 0.8) if start > 1 else 0.5
            if start > 0:
                figures.update({name: low + share() * (high - low) for name, (low, high) in ranges.items()})
            now = descend(figures, ranges, lambda: loss(chosen, predict(doppler, chosen, machine)), rounds)
            found.append((now, {name: float(f"{figures[name]:.3g}") for name in ranges}))
            print(f"{part}: start {start + 1}, loss {now:.4f}", file=sys.stderr)
        best = min(found, key=lambda each: each[0])[1]
        figures.update(best)
        print(part, json.dumps(best))


# --- pictures ---

COLOURS = {"products": "#1b6ca8", "others": "#e08e45"}


def scatter(panels, path):
    """Predicted against measured times, a panel for each file, both axes logarithmic."""
    side, left, top, gap = 300, 72, 40, 76
    low, high = 1e-6, 1e-2
    place = lambda seconds: side * math.log(min(high, max(low, seconds)) / low) / math.log(high / low)
    out = []
    for i, (title, samples, predicted) in enumerate(panels):
        x0, y0 = left + i * (side + gap), top
        out.append(f'<text x="{x0}" y="{y0 - 14}" class="title">{title}</text>')
        for decade in range(5):
            at = place(low * 10 ** decade)
            label = ["1 us", "10 us", "100 us", "1 ms", "10 ms"][decade]
            out.append(f'<line x1="{x0 + at:.1f}" y1="{y0}" x2="{x0 + at:.1f}" y2="{y0 + side}" class="grid"/>'
                       f'<line x1="{x0}" y1="{y0 + side - at:.1f}" x2="{x0 + side}" y2="{y0 + side - at:.1f}" class="grid"/>'
                       f'<text x="{x0 + at:.1f}" y="{y0 + side + 16}" class="tick" text-anchor="middle">{label}</text>'
                       f'<text x="{x0 - 6}" y="{y0 + side - at + 4:.1f}" class="tick" text-anchor="end">{label}</text>')
        out.append(f'<line x1="{x0}" y1="{y0 + side}" x2="{x0 + side}" y2="{y0}" class="equal"/>')
        seen = set()
        for sample, seconds in zip(samples, predicted):
            group = "products" if sample.op in PRODUCTS else "others"
            # Points nearer than a pixel and a half to another are left out, which keeps the picture small.
            x, y = (round(at / 1.5) * 1.5 for at in (x0 + place(sample.seconds), y0 + side - place(seconds)))
            if (x, y, group) not in seen:
                seen.add((x, y, group))
                out.append(f'<circle cx="{x:g}" cy="{y:g}" r="1.6" fill="{COLOURS[group]}"/>')
        out.append(f'<text x="{x0 + side / 2}" y="{y0 + side + 34}" class="tick" text-anchor="middle">measured</text>')
    x, y = 14, top + side / 2
    out.append(f'<text x="{x}" y="{y}" class="tick" text-anchor="middle" transform="rotate(-90 {x} {y})">predicted</text>')
    for i, (group, colour) in enumerate(COLOURS.items()):
        x = left + 8
        out.append(f'<circle cx="{x}" cy="{top + 14 + 16 * i}" r="4" fill="{colour}"/>'
                   f'<text x="{x + 10}" y="{top + 18 + 16 * i}" class="tick">{group}</text>')
    width, height = left + len(panels) * (side + gap), top + side + 50
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        '<style>text{font-family:sans-serif;fill:#222}.title{font-size:14px;font-weight:600}.tick{font-size:11px}'
        '.grid{stroke:#e3e3e3}.equal{stroke:#888;stroke-dasharray:4 3}</style>'
        f'<rect width="{width}" height="{height}" fill="white"/>' + "".join(out) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=pathlib.Path, required=True)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--gpu", action="append", default=[], metavar="NAME=KIND",
                        help="the kind of device that a folder's name means (default: the name itself)")
    parser.add_argument("--network", type=float, default=62.4, metavar="GBIT",
                        help="the bandwidth of the network between boxes, in Gbit/s (default %(default)s)")
    parser.add_argument("--fit", action="store_true", help="fit the figures of kernels instead")
    parser.add_argument("--fit-on", default="a100/Llama-2-7b", metavar="GPU/MODEL")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="write a picture (SVG)")
    options = parser.parse_args()
    kinds = dict(pair.split("=", 1) for pair in options.gpu)
    kind_of = lambda folder: kinds.get(folder, folder)
    with tempfile.TemporaryDirectory() as folder:
        doppler = Doppler(options.dopp, folder)
        if options.fit:
            gpu = options.fit_on.split("/")[0]
            fit(doppler, read_kernels(options.profiles / options.fit_on / "kernels.csv"),
                doppler.machine(f"1x{kind_of(gpu)}"))
            return
        panels = []
        print("| kernels | operations | median | 90th percentile |\n|---|---|---|---|")
        for path in sorted(options.profiles.glob("*/*/kernels.csv")):
            gpu, model = path.parts[-3:-1]
            samples = read_kernels(path)
            predicted = predict(doppler, samples, doppler.machine(f"1x{kind_of(gpu)}"))
            groups = misses(samples, predicted)
            for name in sorted(groups, key=lambda name: (name not in COLOURS, name != "products", name)):
                print(f"| {gpu} {model} | {name} | {in_words(groups[name])} |")
            panels.append((f"{gpu} {model}", samples, predicted))
        print("\n| transfers | 64 KB and more: median | 90th percentile | smaller ones: median ratio |\n|---|---|---|---|")
        for path in sorted(options.profiles.glob("transfers/*send_recv*.csv")):
            gpu = path.stem.split("_")[0]
            for per_box, samples in sorted(read_transfers(path).items(), reverse=True):
                devices = (f"2x{kind_of(gpu)}" if per_box > 1 else f"2n1x{kind_of(gpu)}@{options.network:g}Gb")
                predicted = doppler.transfer_times([size for size, _ in samples], devices)
                errors = [abs(now / seconds - 1) for (size, seconds), now in zip(samples, predicted) if size >= SMALL]
                ratios = [max(now / seconds, seconds / now)
                          for (size, seconds), now in zip(samples, predicted) if size < SMALL]
                print(f"| {path.stem}, {devices} | {in_words(errors)} | {statistics.median(ratios):.2f} |")
        if options.output:
            scatter(panels, options.output)


if __name__ == "__main__":
    main()
