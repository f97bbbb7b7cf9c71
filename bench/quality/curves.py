#!/usr/bin/env python3
"""Learning curves of `learning.py ablations --curves FOLDER` as a picture.

  bench/quality/curves.py FOLDER -o docs/learning-curves.svg [--show dual,joint,...]

A panel for each graph: the mean makespan of a batch against episodes, median over seeds, smoothed over a
fiftieth of the training.
"""
import argparse
import csv
import pathlib
import statistics

COLOURS = ["#1b6ca8", "#d1495b", "#3a7d44", "#8e5ea2", "#e08e45", "#5c677d", "#00a6a6", "#b08900"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 220, 64, 34, 70
POINTS = 100


def read(path):
    """Episodes and smoothed means of one training, at POINTS places."""
    rows = [row for row in csv.DictReader(path.open()) if row["stage"] == "sim"]
    means = [float(row["mean"]) for row in rows]
    window = max(1, len(means) // 50)
    at = [round(i * (len(means) - 1) / (POINTS - 1)) for i in range(POINTS)]
    return ([int(rows[i]["episodes"]) for i in at],
            [statistics.fmean(means[max(0, i - window):i + window + 1]) for i in at])


def panel(title, curves, x0, y0):
    episodes = max(xs[-1] for xs, _ in curves.values())
    low = min(min(ys) for _, ys in curves.values())
    high = max(ys[POINTS // 50] for _, ys in curves.values())
    low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    place_x = lambda x: x0 + WIDTH * x / episodes
    place_y = lambda y: y0 + HEIGHT * (high - max(low, min(high, y))) / (high - low)
    out = [f'<text x="{x0}" y="{y0 - 10}" class="title">{title}</text>']
    for i in range(5):
        y = low + (high - low) * i / 4
        out.append(f'<line x1="{x0}" y1="{place_y(y):.1f}" x2="{x0 + WIDTH}" y2="{place_y(y):.1f}" class="grid"/>')
        out.append(f'<text x="{x0 - 6}" y="{place_y(y) + 4:.1f}" class="tick" text-anchor="end">{y:.4g}</text>')
        x = episodes * i / 4
        out.append(f'<text x="{place_x(x):.1f}" y="{y0 + HEIGHT + 16}" class="tick" text-anchor="middle">'
                   f'{x / 1000:.3g}k</text>')
    for (_, (xs, ys)), colour in zip(curves.items(), COLOURS):
        points = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in zip(xs, ys))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--show", default="dual,sel-only,plc-only,joint,no-messages,b-level-priorities,gdp")
    options = parser.parse_args()
    shown = options.show.split(",")
    graphs = sorted({path.name.split(".")[1] for path in options.folder.glob("*.csv")})
    out = []
    for i, graph in enumerate(graphs):
        curves = {}
        for what in shown:
            runs = [read(path) for path in sorted(options.folder.glob(f"{what}.{graph}.*.csv"))]
            if runs:
                curves[what] = (runs[0][0], [statistics.median(ys) for ys in zip(*(ys for _, ys in runs))])
        out += panel(graph, curves, LEFT + (i % 2) * (WIDTH + GAP), TOP + (i // 2) * (HEIGHT + GAP))
    rows = (len(graphs) + 1) // 2
    total_width, legend_y = LEFT + 2 * WIDTH + GAP + 20, TOP + rows * (HEIGHT + GAP) - 14
    for i, (what, colour) in enumerate(zip(shown, COLOURS)):
        x, y = LEFT + (i % 4) * 200, legend_y + (i // 4) * 20
        out.append(f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" stroke="{colour}" stroke-width="3"/>')
        out.append(f'<text x="{x + 32}" y="{y + 4}" class="tick">{what.replace("-", " ")}</text>')
    style = ("text{font-family:sans-serif;fill:#333}.title{font-size:14px;font-weight:bold}.tick{font-size:11px}"
             ".grid{stroke:#e3e3e3}")
    options.output.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width} {legend_y + 40}" width="{total_width}">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="white"/>' + "\n".join(out) + "</svg>\n")


if __name__ == "__main__":
    main()
