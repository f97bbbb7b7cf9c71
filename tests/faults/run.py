#!/usr/bin/env python3
"""Breaks trainings and reproductions at every moment, goes on, and compares the end with one that was left alone.

  run.py --dopp build/check/dopp --shim build/check/tests/libfaults.so [--rounds 40] [--seed 1]

A round does something small and breaks it: the process is killed before or after one of the calls by which it changes
files, the disk is full from one of them on, it gets a signal at a random time, or a second process works in the same
folder. Then it is begun again or resumed, and perhaps broken again, until it comes to its end. In the end every file
must be that of a folder to which nothing happened, and no temporary file may be left. Prints what it did and the
seed; the exit code is 1 after a finding, whose folder is kept.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SMALL = "train g.json --devices 3xP100 --seed 5 --threads 2 "
NETWORK = "--width 4 --message-rounds 1 "
IMITATE, SIMULATE = "--imitation-episodes 8 ", "--episodes 40 --batch 4 "
SERVE = "--engine emulated --clock virtual --jitter 0.03 --slow-device gpu1=1.6 --runs 60 "
SCENARIOS = {
    "simulation": SMALL + NETWORK + SIMULATE + "--stages sim",
    "both": SMALL + NETWORK + IMITATE + SIMULATE + "--stages imitation,sim",
    "seeds": SMALL + NETWORK + SIMULATE + "--stages sim --seeds 2",
    "service": SMALL + SERVE + "--candidates moves,search --stages real",
    "all": SMALL + NETWORK + IMITATE + SIMULATE + SERVE + "--candidates moves,policy --stages imitation,sim,real",
    "published": SMALL + NETWORK + IMITATE + "--episodes 40 " + SERVE + "--recipe paper --stages imitation,sim,real",
    "reproduction": "reproduce --quick --only modes --threads 2",
}
TIMED = {"metrics.csv"}  # their last column is wall clock
MOST_CALLS = {name: 200 if name == "reproduction" else 120 for name in SCENARIOS}  # more than are made


def start(options, folder, scenario, more=(), fault=None):
    """A started process. `fault` is how and at which call."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    if fault:
        environment |= {"LD_PRELOAD": options.shim, "DOPPLER_FAULT": fault[0], "DOPPLER_FAULT_AT": str(fault[1])}
    return subprocess.Popen([options.dopp, *SCENARIOS[scenario].split(), "-o", folder, *more],
                            cwd=options.work, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process):
    return process.communicate(timeout=300)[1], process.returncode


def contents(folder):
    """By name what each file holds, without what is wall clock."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        text = path.read_text()
        if path.name in TIMED:
            text = "\n".join(line.rpartition(",")[0] for line in text.splitlines())
        files[str(path.relative_to(folder))] = text
    return files


class Finding(Exception):
    pass


def go_on(options, name, scenario, fault=None):
    """Resumes what is there or begins anew: what a user would do. Returns whether it came to its end."""
    folder = options.work / name
    begun = any((folder / sub).exists() for sub in ("checkpoint.json", "online.json", "seed5/checkpoint.json",
                                                    "seed6/checkpoint.json", "real/checkpoint.json"))
    words, code = ended(start(options, name, scenario, ["--resume"] if begun else [], fault))
    if code == 0:
        return True
    if fault and (code == -signal.SIGKILL or (code == 1 and "No space left" in words)):
        return False
    raise Finding(f"{'--resume' if begun else 'a fresh run'} ends with {code}: {words.strip()}")


def random_fault(scenario, rng):
    return rng.choice(["before", "after", "full"]), rng.randint(1, MOST_CALLS[scenario])


def break_off(options, name, scenario, rng):
    """Returns in words what was done."""
    kind = rng.choice(["call", "call", "call", "signal", "two"])
    if kind == "call":
        fault = random_fault(scenario, rng)
        words, code = ended(start(options, name, scenario, fault=fault))
        if code not in (0, -signal.SIGKILL) and not (code == 1 and "No space left" in words):
            raise Finding(f"{fault}: ends with {code}: {words.strip()}")
        return f"{fault[0]} call {fault[1]}"
    first = start(options, name, scenario)
    time.sleep(rng.uniform(0.0, 0.4))
    if kind == "signal":
        number = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
        first.send_signal(number)
        ended(first)
        return f"signal {number}"
    second = start(options, name, scenario, [] if scenario == "reproduction" else ["--resume"])
    words, code = ended(second)
    own, own_code = ended(first)
    # The second one was kept out, found nothing to go on with yet, or came when the first had ended.
    if code != 0 and "is working in this folder" not in words and "to go on with" not in words:
        raise Finding(f"a second process ends with {code}: {words.strip()}")
    # Either may have been the first.
    if own_code != 0 and "is working in this folder" not in own:
        raise Finding(f"a process beside another ends with {own_code}: {own.strip()}")
    return "two processes"


def play(options, number, references):
    rng = random.Random(f"{options.seed} {number}")
    scenario = rng.choice(list(SCENARIOS))
    name = f"round{number}"
    folder = options.work / name
    done = [scenario, break_off(options, name, scenario, rng)]
    try:
        while rng.random() < 0.3:
            fault = random_fault(scenario, rng)
            done.append(f"{fault[0]} call {fault[1]}")
            if go_on(options, name, scenario, fault):
                break
        go_on(options, name, scenario)
        found = contents(folder)
        for file in sorted(set(found) | set(references[scenario])):
            if found.get(file) != references[scenario].get(file):
                state = "missing" if file not in found else "left over" if file not in references[scenario] else "different"
                raise Finding(f"{file} is {state}")
    except Finding as finding:
        raise Finding(f"round {number} ({', then '.join(done)}): {finding}") from None
    shutil.rmtree(folder)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dopp", required=True, type=pathlib.Path)
    parser.add_argument("--shim", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # The loader passes over a library that is not there, and nothing would be broken.
    if not options.shim.is_file():
        parser.error(f"--shim {options.shim}: there is no such file")
    options.dopp, options.shim = str(options.dopp.resolve()), str(options.shim.resolve())
    options.work = pathlib.Path(tempfile.mkdtemp(prefix="doppler-faults-"))
    subprocess.run([options.dopp, "graph", "generate", "random", "--family", "layered", "--nodes", "25", "--seed", "3",
                    "-o", "g.json"], cwd=options.work, check=True, stdout=subprocess.DEVNULL)
    references = {}
    for scenario in SCENARIOS:
        words, code = ended(start(options, f"whole-{scenario}", scenario))
        if code != 0:
            sys.exit(f"faults: {scenario} ends with {code}: {words}")
        references[scenario] = contents(options.work / f"whole-{scenario}")
    breaks = {}
    for number in range(1, options.rounds + 1):
        try:
            done = play(options, number, references)
        except Finding as finding:
            print(f"faults: seed {options.seed}: {finding}; kept in {options.work}", file=sys.stderr)
            return 1
        for what in done[1:]:
            kind = re.sub(r" \d+$", "", what)
            breaks[kind] = breaks.get(kind, 0) + 1
    shutil.rmtree(options.work)
    print(f"faults: {options.rounds} rounds with seed {options.seed}, nothing found: "
          + ", ".join(f"{count} x {what}" for what, count in sorted(breaks.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
