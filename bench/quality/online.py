#!/usr/bin/env python3
"""Learning from real runs, carefully: the tables and the picture of docs/online.md.

  bench/quality/online.py table    --bench build/check/bench/online_bench -o bench/results/online.csv
  bench/quality/online.py confirm  --bench build/check/bench/online_bench -o bench/results/online-clocks.csv
  bench/quality/online.py threads  --bench build/check/bench/online_bench -o bench/results/online-threads.csv
  bench/quality/online.py slowdown --bench build/check/bench/online_bench -o bench/results/online-slowdown.csv
                                   --picture docs/online-slowdown.svg

Words after these go to online_bench: runs=500 seeds=1 workloads=ffnn. With --from instead of --bench, what an earlier
run left in the CSV is summed up again. Prints tables in Markdown.
"""
import argparse
import csv
import io
import math
import pathlib
import statistics
import subprocess
import sys


def clopper_pearson_high(events, trials, confidence=0.95):
    """The largest rate under which so few events are not rarer than 1 - confidence (one-sided, exact)."""
    if trials == 0 or events == trials:
        return 1.0
    def tail(rate):  # chance of `events` or fewer
        return sum(math.exp(math.lgamma(trials + 1) - math.lgamma(i + 1) - math.lgamma(trials - i + 1)
                            + i * math.log(rate) + (trials - i) * math.log1p(-rate)) for i in range(events + 1))
    low, high = events / trials, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 - confidence else (low, middle)
    return high


def table(rows):
    methods = list(dict.fromkeys(row["method"] for row in rows))
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    mean = lambda values: statistics.fmean(values)
    print("True mean times in ms, mean over the seeds:\n")
    print("| workload | DOPPLER-SIM | oracle | gain | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 4) + "|")
    for workload in workloads:
        of = [row for row in rows if row["workload"] == workload]
        start, oracle = mean([float(r["start_ms"]) for r in of]), mean([float(r["oracle_ms"]) for r in of])
        times = {m: [float(r["true_ms"]) for r in of if r["method"] == m] for m in methods}
        cells = [f"{mean(times[m]):.1f}" if times[m] else "–" for m in methods]
        print(f"| {workload} | {start:.1f} | {oracle:.1f} | {100 * (1 - oracle / start):.1f} % | " + " | ".join(cells) + " |")
    print("\nOf the oracle's gain recovered, mean over the seeds (the least):\n")
    print("| workload | " + " | ".join(methods) + " |\n" + "|---" * (len(methods) + 1) + "|")
    for workload in workloads:
        cells = []
        for method in methods:
            found = [100 * float(r["recovered"]) for r in rows if r["workload"] == workload and r["method"] == method]
            cells.append(f"{mean(found):.0f} % ({min(found):.0f})" if found else "–")
        print(f"| {workload} | " + " | ".join(cells) + " |")
    print("\nHow careful:\n\n| method | exploratory runs | truly over 1.1 x the incumbent | bound (95 %) | worst | "
          "paid of all time | true gain inside the interval |\n|---|---|---|---|---|---|---|")
    for method in methods:
        of = [row for row in rows if row["method"] == method and row["explored"]]
        if not of:
            continue
        explored, slow = sum(int(r["explored"]) for r in of), sum(int(r["slow"]) for r in of)
        inside = sum(float(r["low"]) <= 1 - float(r["true_ms"]) / float(r["start_ms"]) <= float(r["high"]) for r in of)
        print(f"| {method} | {explored} | {slow} ({100 * slow / explored:.2f} %) | "
              f"{100 * clopper_pearson_high(slow, explored):.2f} % | {max(float(r['worst']) for r in of):.2f} | "
              f"{100 * mean([float(r['slowdown_paid']) for r in of]):+.2f} % | {inside} of {len(of)} |")


def confirm(rows):
    print("| workload | placements | median difference | largest |\n|---|---|---|---|")
    for workload in dict.fromkeys(row["workload"] for row in rows):
        off = [abs(float(r["wall_ms"]) / float(r["virtual_ms"]) - 1) for r in rows if r["workload"] == workload]
        print(f"| {workload} | {len(off)} | {100 * statistics.median(off):.2f} % | {100 * max(off):.2f} % |")


def threads(rows):
    print("| workload | method | median ms | 95 % | noise of a run | exploratory | took over |\n|---|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['workload']} | {r['method']} | {float(r['median_ms']):.2f} | {float(r['low_ms']):.2f} to "
              f"{float(r['high_ms']):.2f} | {100 * float(r['noise']):.1f} % | {r['explored']} | {r['promotions']} |")


WIDTH, HEIGHT, LEFT, TOP, GAP = 760, 230, 64, 40, 64


def slowdown(rows, picture):
    runs = [int(r["run"]) for r in rows]
    times = [float(r["ms"]) for r in rows]
    shares = [100 * float(r["slow_device_share"]) for r in rows]
    explored = [int(r["explored"]) for r in rows]
    total, change = len(runs), len(runs) // 2
    served = [i for i in range(total) if rows[i]["exploratory"] == "0"]
    before = statistics.median(times[i] for i in served if i < change)
    hit = statistics.median(times[i] for i in served if change <= i < change + 10)
    after = statistics.median(times[i] for i in served if i >= total - 200)
    first = shares[[i for i in served if i < change][-1]]
    moved = next((i for i in served if i > change and shares[i] < 0.75 * first), None)
    print(f"median {before:.2f} ms before, {hit:.2f} ms in the ten runs after the device slowed down, {after:.2f} ms in the end")
    if moved is not None:
        print(f"a quarter of its work moved away after {moved - change} runs, {explored[moved] - explored[change]} of them exploratory")
    if not picture:
        return
    out = []

    def panel(title, values, low, high, y0, unit):
        px = lambda x: LEFT + WIDTH * x / total
        py = lambda y: y0 + HEIGHT * (high - max(low, min(high, y))) / (high - low)
        out.append(f'<text x="{LEFT}" y="{y0 - 12}" class="title">{title}</text>')
        for i in range(5):
            y = low + (high - low) * i / 4
            out.append(f'<line x1="{LEFT}" y1="{py(y):.1f}" x2="{LEFT + WIDTH}" y2="{py(y):.1f}" class="grid"/>')
            out.append(f'<text x="{LEFT - 6}" y="{py(y) + 4:.1f}" class="tick" text-anchor="end">{y:.3g}{unit}</text>')
            out.append(f'<text x="{px(total * i / 4):.1f}" y="{y0 + HEIGHT + 16}" class="tick" text-anchor="middle">{total * i // 4}</text>')
        out.append(f'<line x1="{px(change):.1f}" y1="{y0}" x2="{px(change):.1f}" y2="{y0 + HEIGHT}" class="mark"/>')
        points = " ".join(f"{px(runs[i]):.1f},{py(values[i]):.1f}" for i in served)
        out.append(f'<polyline points="{points}" fill="none" stroke="#1b6ca8" stroke-width="1.2"/>')
        for i in range(total):
            if rows[i]["exploratory"] == "1":
                out.append(f'<circle cx="{px(runs[i]):.1f}" cy="{py(values[i]):.1f}" r="2.2" fill="#d1495b"/>')

    # Four steps of round numbers from 0.
    above = lambda values, step: 4 * step * math.ceil(max(values) / (4 * step))
    panel("time of a run, ms", times, 0, above(times, 5), TOP, "")
    panel("share of the work on gpu1", shares, 0, above(shares, 2), TOP + HEIGHT + GAP, " %")
    y = TOP + 2 * HEIGHT + GAP + 40
    out.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + 24}" y2="{y}" stroke="#1b6ca8" stroke-width="3"/>'
               f'<text x="{LEFT + 32}" y="{y + 4}" class="tick">incumbent</text>'
               f'<circle cx="{LEFT + 132}" cy="{y}" r="4" fill="#d1495b"/>'
               f'<text x="{LEFT + 144}" y="{y + 4}" class="tick">exploratory run</text>'
               f'<line x1="{LEFT + 262}" y1="{y - 6}" x2="{LEFT + 262}" y2="{y + 6}" class="mark"/>'
               f'<text x="{LEFT + 272}" y="{y + 4}" class="tick">from here on gpu1 takes twice as long</text>')
    style = ("text{font-family:sans-serif;fill:#333}.title{font-size:14px;font-weight:bold}.tick{font-size:11px}"
             ".grid{stroke:#e3e3e3}.mark{stroke:#555;stroke-dasharray:4 3}")
    picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 24} {y + 20}" '
                       f'width="{LEFT + WIDTH + 24}"><style>{style}</style><rect width="100%" height="100%" fill="white"/>'
                       + "\n".join(out) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table", "confirm", "threads", "slowdown"])
    parser.add_argument("--bench", help="online_bench")
    parser.add_argument("--from", dest="source", type=pathlib.Path, help="CSV of an earlier run")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="CSV")
    parser.add_argument("--picture", type=pathlib.Path, help="SVG, of slowdown")
    parser.add_argument("arguments", nargs="*", help="NAME=VALUE for online_bench")
    options = parser.parse_intermixed_args()
    if (options.bench is None) == (options.source is None):
        parser.error("say --bench or --from")
    if options.source:
        text = options.source.read_text()
    else:
        lines = []
        with subprocess.Popen([options.bench, options.what, *options.arguments], stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                lines.append(line)
                if options.what != "slowdown":
                    print(line, end="", file=sys.stderr)
        if run.returncode != 0:
            sys.exit(run.returncode)
        text = "".join(lines)
        if options.output:
            options.output.write_text(text)
    rows = list(csv.DictReader(io.StringIO(text)))
    if options.what == "slowdown":
        slowdown(rows, options.picture)
    else:
        {"table": table, "confirm": confirm, "threads": threads}[options.what](rows)


if __name__ == "__main__":
    main()
