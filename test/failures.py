#!/usr/bin/env python3
"""What explains the failures in a log of `lit -v`, short enough to stand at the end of a log that is shown cut.

    test/failures.py LOG

Of each test that failed: its name, the RUN line that did, and of what that one's command told the first lines and the
last ones. Lines are cut, and more so those that only echo a command: they take most of such a log.
"""
import re
import sys

FIRST, LAST = 8, 20
LINE, COMMAND = 240, 120
HEADING = re.compile(r"^\*{20} TEST '(.*)' FAILED \*{20}$")
# Of FileCheck's: marks below lines, and what is the same each time.
NOISE = re.compile(r"^\s*(\w+:\S+ +)?[~^]+\s*$|^Input file: |^Check file: |^-dump-input=help |^Input was:$|^(<<<<<<|>>>>>>)$")
RUN = re.compile(r" ?# RUN: at line (\d+)$")


def cut(line, most):
    return line if len(line) <= most else line[: most - 3] + "..."


def find_blocks(lines):
    """Each failed test's name and what lit tells of it."""
    blocks = []
    inside = None
    for line in lines:
        heading = HEADING.match(line)
        if heading:
            inside = []
            blocks.append((heading[1], inside))
        elif inside is not None and line == "*" * 20:
            inside = None
        elif inside is not None:
            inside.append(line)
    return blocks


def take_stream(block, name):
    """What the test wrote to it, without lit's own lines around."""
    heading = f"Command Output ({name}):"
    if heading not in block:
        return []
    rest = block[block.index(heading) + 2 :]
    ends = [i for i, line in enumerate(rest) if line == "--" and rest[i + 1 : i + 2] in ([], [""], ["Command Output (stderr):"])]
    return [line for line in rest[: ends[0] if ends else None] if line and not NOISE.match(line)]


def explain(block):
    told = [line for line in block if line.startswith(("Exit Code:", "Timeout:"))]
    said = take_stream(block, "stderr")
    runs = [i for i, line in enumerate(said) if RUN.search(line)]
    if runs:
        number = RUN.search(said[runs[-1]])[1]
        told.append(f"RUN line {number}: {cut(RUN.sub('', said[runs[-1]]), COMMAND)}")
        said = said[runs[-1] + 1 :]
    if all(line.startswith("+ ") for line in said):  # a script that tells its reason to stdout
        said += take_stream(block, "stdout")[-LAST:]
    if len(said) > FIRST + LAST:
        said = [*said[:FIRST], f"... {len(said) - FIRST - LAST} lines ...", *said[-LAST:]]
    return [*told, *(cut(line, COMMAND if line.startswith("+ ") else LINE) for line in said)]


with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    for name, block in find_blocks(log.read().splitlines()):
        print(f"== {name}", *explain(block), sep="\n  ")
