#!/usr/bin/env python3
"""Fails on an include that the architecture forbids (the table of docs/architecture.md).

Usage: check_layers.py [ROOT] | check_layers.py --self-test

Prints one line per violation, "file:line: message", and exits with 1 where there is any.
"""

import pathlib
import re
import sys
import tempfile

# What each module may include; "may include" is transitive. Lowest first.
LAYERS = {
    "base": [],
    "kernel": ["base"],
    "graph": ["kernel"],
    "device": ["base"],
    "cost": ["graph", "device"],
    "tra": ["cost"],
    "formats": ["graph", "device"],
    "schedule": ["cost"],
    "sim": ["schedule"],
    "place": ["sim"],
    "compile": ["tra", "place"],
    "nn": ["base"],
    "policy": ["place", "nn"],
    "exec": ["schedule", "kernel"],
    "train": ["policy", "exec"],
    "export": ["formats", "schedule"],
    "analysis": ["place", "exec"],
    "render": ["analysis", "compile", "train"],
    "api": ["render", "export", "formats"],
}

# Outside headers and who may include them, by the start of what is included. Of the libraries,
# headers of doppler/ may include Eigen only, so that users need nothing else to compile.
OUTSIDE = [
    ("CLI/", lambda path: path.startswith("app/"), "CLI11 belongs to app/ only"),
    ("metis.h", lambda path: path.startswith("doppler/place/") and path.endswith(".cc"),
     "METIS belongs to the sources of doppler/place only"),
    ("zlib.h", lambda path: path.startswith("doppler/base/") and path.endswith(".cc"),
     "zlib belongs to the sources of doppler/base only"),
    ("cblas.h", lambda path: path.startswith("doppler/kernel/cpu/") and path.endswith(".cc"),
     "OpenBLAS belongs to the sources of doppler/kernel/cpu only"),
    ("Eigen/", lambda path: path.startswith(("doppler/nn/", "doppler/policy/", "doppler/train/")),
     "Eigen belongs to the networks and what is built on them"),
    ("fmt/", lambda path: not (path.startswith("doppler/") and path.endswith(".h")),
     "headers of the library do not include fmt"),
] + [
    (header, lambda path: not path.startswith("doppler/"), "the library never prints")
    for header in ("iostream", "ostream", "cstdio", "stdio.h", "fmt/ostream.h")
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MODULE = re.compile(r"^\s*doppler_module\(\s*(\w+)([^)]*)\)")
KEYWORDS = {"OPTIMISE_LITTLE", "SINGLE_SOURCES", "DEPENDS", "PRIVATE", "UNIT_BYTES"}  # of doppler_module()


def closure(layers):
    """For each module the set of modules it may include, itself among them."""
    allowed = {}
    for module, below in layers.items():  # lowest first, so that what is below is known
        allowed[module] = {module}.union(*(allowed[name] for name in below))
    return allowed


def check_source(path, text, allowed):
    """Violations of one source file; `path` is relative to the root, with slashes."""
    module = path.split("/")[1] if path.startswith("doppler/") and path.count("/") > 1 else None
    if module is not None and module not in allowed:
        yield f"{path}:1: module '{module}' is not in the table of tools/check_layers.py"
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, target = match.group(1) == '"', match.group(2)
        for prefix, permits, why in OUTSIDE:
            if target.startswith(prefix) and not permits(path):
                yield f"{path}:{number}: includes {target}: {why}"
        if path.startswith("lab/") and target.startswith("app/"):
            yield f"{path}:{number}: lab may not include {target}"
        if module is None:
            continue
        if target.startswith(("lab/", "app/")):
            yield f"{path}:{number}: {module} may not include {target}: the library stands on its own"
        elif target.startswith("doppler/"):
            wanted = target.split("/")[1]
            if wanted not in allowed[module]:
                below = ", ".join(sorted(allowed[module] - {module})) or "nothing of ours"
                yield f"{path}:{number}: {module} may not include {target} (only {below})"
        elif quoted:
            yield f"{path}:{number}: include {target} by its full path, doppler/…"


def check_targets(path, text, allowed):
    """Violations in the CMake dependencies, which must follow the same table."""
    for number, line in enumerate(text.splitlines(), 1):
        match = MODULE.match(line)
        if not match:
            if line.lstrip().startswith("doppler_module("):
                yield f"{path}:{number}: write doppler_module(…) in one line, which this script reads"
            continue
        module, keyword = match.group(1), None
        for word in match.group(2).split():
            if word in KEYWORDS:
                keyword = word
            elif keyword == "DEPENDS" and (module not in allowed or word not in allowed[module]):
                yield f"{path}:{number}: target {module} may not depend on {word}"


def check_tree(root):
    allowed = closure(LAYERS)
    violations = []
    count = 0
    for folder in ("doppler", "lab", "app", "fuzz", "examples"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".cc"):
                count += 1
                path = file.relative_to(root).as_posix()
                violations += check_source(path, file.read_text(encoding="utf-8"), allowed)
    targets = root / "doppler" / "CMakeLists.txt"
    if targets.exists():
        violations += check_targets("doppler/CMakeLists.txt", targets.read_text(), allowed)
    return count, violations


def self_test():
    """A small tree with one violation of each kind; each must be found, and nothing else."""
    files = {
        "doppler/base/id.h": "#pragma once\n#include <vector>\n",
        "doppler/graph/graph.h": '#include "doppler/base/id.h"\n',  # through kernel: fine
        "doppler/base/up.cc": '#include "doppler/graph/graph.h"\n',
        "doppler/graph/peek.cc": '\n#include "doppler/sim/simulator.h"\n',
        "doppler/graph/near.cc": '#include "graph.h"\n',
        "doppler/graph/text.h": "#include <fmt/format.h>\n",
        "doppler/graph/text.cc": "#include <fmt/format.h>\n",  # in a source: fine
        "doppler/misc/x.h": "#pragma once\n",
        "doppler/sim/loud.cc": "#include <iostream>\n",
        "doppler/sim/printing.cc": "#include <cstdio>\n",
        "doppler/analysis/options.cc": "#include <CLI/CLI.hpp>\n",
        "doppler/place/lab.cc": '#include "lab/scale.h"\n',
        "lab/command.cc": '#include "app/terminal.h"\n',
        "fuzz/options.cc": "#include <cstdio>\n#include <CLI/CLI.hpp>\n",  # the first is fine
        "app/options.cc": '#include <CLI/CLI.hpp>\n#include "doppler/base/id.h"\n',  # fine
        "doppler/CMakeLists.txt":
            "doppler_module(base PRIVATE fmt::fmt)\ndoppler_module(device DEPENDS base graph PRIVATE x)\n"
            "doppler_module(api OPTIMISE_LITTLE DEPENDS base lab PRIVATE x UNIT_BYTES 1)\ndoppler_module(sim\n",
    }
    expected = {
        "doppler/base/up.cc:1",
        "doppler/graph/peek.cc:2",
        "doppler/graph/near.cc:1",
        "doppler/graph/text.h:1",
        "doppler/misc/x.h:1",
        "doppler/sim/loud.cc:1",
        "doppler/sim/printing.cc:1",
        "doppler/analysis/options.cc:1",
        "doppler/place/lab.cc:1",
        "lab/command.cc:1",
        "fuzz/options.cc:2",
        "doppler/CMakeLists.txt:2",
        "doppler/CMakeLists.txt:3",
        "doppler/CMakeLists.txt:4",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        _, violations = check_tree(root)
    found = {":".join(line.split(":")[:2]) for line in violations}
    if found != expected or len(violations) != len(expected):
        print(f"self-test failed: missed {expected - found}, made up {found - expected}")
        return 1
    print(f"self-test: all {len(expected)} violations found")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parent.parent
    if not (root / "doppler").is_dir():
        print(f"check_layers: error: {root}: no folder doppler/ here", file=sys.stderr)
        return 2
    count, violations = check_tree(root.resolve())
    for line in violations:
        print(line)
    if violations:
        print(f"check_layers: {len(violations)} forbidden; the table is in docs/architecture.md")
        return 1
    print(f"layers: {count} files follow the table")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
