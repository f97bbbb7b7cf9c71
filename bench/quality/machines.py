#!/usr/bin/env python3
"""What models take on machines, by the roofline of data sheets in f32 and as predicted, as a Markdown table.

  bench/quality/machines.py MODEL … [--dopp build/release/dopp] [--machines 1xA10,1xA100,4xA100] [--precisions f32,tf32,f16]

Milliseconds of `dopp place MODEL --devices MACHINE --evaluations 2000`; the models of `export_models.py`, say. The roofline
knows f32 alone.
"""
import argparse
import json
import pathlib
import subprocess


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--dopp", default="build/release/dopp")
    parser.add_argument("--machines", default="1xA10,1xA100,4xA100")
    parser.add_argument("--precisions", default="f32,tf32,f16")
    options = parser.parse_args()

    def milliseconds(model, machine, *costs):
        done = subprocess.run([options.dopp, "place", str(model), "--devices", machine, "--evaluations", "2000", "--json", *costs],
                              capture_output=True, text=True, check=True)
        return f"{1e3 * json.loads(done.stdout)['makespan']:.2f}"

    precisions = options.precisions.split(",")
    print("| model | machine | roofline | " + " | ".join(f"predicted, {p}" for p in precisions) + " |")
    print("|---|---|" + "---|" * (1 + len(precisions)))
    for model in options.models:
        for machine in options.machines.split(","):
            cells = [milliseconds(model, machine, "--costs", "roofline")]
            cells += [milliseconds(model, machine, "--precision", precision) for precision in precisions]
            print(f"| {model.stem} | {machine} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
