#!/usr/bin/env python3
"""Runs the commands of a page as a reader would: run_page.py PROJECT FOLDER PAGE.md

In ```console blocks, a line `$ COMMAND` (and the lines behind it while one ends
with a backslash) is run by bash in FOLDER, where `examples` is the project's.
The lines below it are what it prints: each must be found in the output, in this
order; numbers may be others, `...` stands for anything. A command must succeed
unless its first expected line says `error:`. Prints how many were run.
"""
import os
import re
import subprocess
import sys


def read_commands(path):
    """(line number, command, expected lines) of each command of the page."""
    commands, inside = [], False
    for number, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```console"
        elif not inside:
            continue
        elif line.startswith("$ "):
            commands.append([number, line[2:], []])
        elif commands and commands[-1][1].endswith("\\"):
            commands[-1][1] += "\n" + line
        elif line.strip():
            commands[-1][2].append(line)
    return commands


def as_pattern(line):
    """The line as a regular expression: any numbers, any blanks, anything for dots."""
    pattern = ""
    for piece in re.split(r"(\.\.\.|\s+|\d+(?:\.\d+)?(?:e[-+]?\d+)?)", line.strip()):
        if piece == "...":
            pattern += ".*"
        elif piece.isspace():
            pattern += r"\s+"
        elif re.match(r"\d", piece):
            pattern += r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
        else:
            pattern += re.escape(piece)
    return pattern


def check(command, expected, folder):
    """What is wrong with a command, or nothing."""
    run = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    lines = (run.stdout + run.stderr).splitlines()
    refused = bool(expected) and "error:" in expected[0]
    if (run.returncode != 0) != refused:
        return f"exit {run.returncode}: " + " | ".join(lines[-3:])
    for wanted in expected:
        if wanted.strip() == "...":
            continue
        at = next((i for i, line in enumerate(lines) if re.search(as_pattern(wanted), line)), None)
        if at is None:
            return f"does not print: {wanted}\n  but: " + "\n       ".join(lines[:12])
        lines = lines[at + 1 :]
    return ""


project, folder, page = map(os.path.abspath, sys.argv[1:4])
os.makedirs(folder, exist_ok=True)
if not os.path.exists(os.path.join(folder, "examples")):
    os.symlink(os.path.join(project, "examples"), os.path.join(folder, "examples"))
commands = read_commands(page)
bad = 0
for number, command, expected in commands:
    wrong = check(command, expected, folder)
    if wrong:
        bad += 1
        print(f"{os.path.basename(page)}:{number}: {command}\n  {wrong}")
print(f"{len(commands) - bad} of {len(commands)} commands do what the page says")
sys.exit(bad > 0 or not commands)
