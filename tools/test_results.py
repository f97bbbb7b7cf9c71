#!/usr/bin/env python3
"""Says what was skipped in a run of the tests: tools/test_results.py FILE

FILE is what `ctest --output-junit FILE` writes. Prints one line, and one for each test that was skipped
for another reason than that ../shared is not there; then it exits with 1. With --counts it first says how
many tests there were and which failed."""

import sys
import xml.etree.ElementTree as xml

# What a test that needs ../shared says where it is not there (tests/support/shared_graphs.h).
NO_SHARED_FOLDER = "the shared graphs are not here"


def main(arguments):
    counts = "--counts" in arguments
    files = [a for a in arguments if a != "--counts"]
    if len(files) != 1:
        sys.exit("test_results: error: one file that ctest --output-junit wrote")
    try:
        tests = list(xml.parse(files[0]).iter("testcase"))
    except (OSError, xml.ParseError) as error:
        sys.exit(f"test_results: error: {files[0]}: {error}")

    failed = [t.get("name") for t in tests if t.get("status") == "fail"]
    skipped = [t for t in tests if t.get("status") not in ("run", "fail")]
    shared = [t for t in skipped if NO_SHARED_FOLDER in (t.findtext("system-out") or "")]
    others = [t.get("name") for t in skipped if t not in shared]
    if counts:
        print(f"{len(tests)} tests, {len(failed)} failed")
        for name in failed:
            print(f"  failed: {name}")
    needs = "test that needs" if len(shared) == 1 else "tests that need"
    print(f"skipped: {len(shared)} {needs} ../shared" if shared else "skipped: none" if not others else "skipped:")
    for name in others:
        print(f"  {name}: not because of ../shared; what it needs should have been installed")
    return 1 if others or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
