#!/usr/bin/env python3
"""Runs clang-tidy 22 on the sources, last changed ones first; .clang-tidy says what it looks for.

    check_tidy.py [--build DIR] [--seconds N]

A file that was clean stays so until it, a header that it includes, its command or
.clang-tidy changes: the build folder remembers that by a hash. --seconds limits the
time; what was not looked at then is counted, and the next run begins there. The build
folder must have been built: sources include generated headers.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

from sources import TOP, read, report, tracked

TOOL = "clang-tidy-22"  # other versions have other checks
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
FINDING = re.compile(r"^(?P<where>\S+:\d+:\d+): (?:warning|error): (?P<what>.*)$", re.M)

arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
arguments.add_argument("--build", default="build", help="a build folder with compile_commands.json")
arguments.add_argument("--seconds", type=float, default=float("inf"), help="begin no file after this time")
options = arguments.parse_args()
if not shutil.which(TOOL):
    sys.exit(f"tidy: {TOOL} is missing; run tools/setup/install-deps.sh")
build = os.path.join(TOP, options.build)
database = os.path.join(build, "compile_commands.json")
if not os.path.isfile(database):
    sys.exit(f"tidy: {database} is missing; build first")


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


hashes = {}


def included(path, seen):
    """The hash of each of the project's files that `path` includes, itself first."""
    if path in seen:
        return
    seen.add(path)
    if path not in hashes:
        text = read(path)
        hashes[path] = digest(text), INCLUDE.findall(text)
    for name in hashes[path][1]:
        for folder in (os.path.dirname(path), TOP, build, os.path.join(TOP, "runtime/include")):
            found = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(found):
                included(found, seen)
                break


def state(path, command, rules):
    files = set()
    included(path, files)
    return digest(command, rules, *(hashes[name][0] for name in sorted(files)))


# The newest commit first; what is not committed before all.
log = subprocess.run(["git", "log", "-n", "200", "--format=", "--name-only"], cwd=TOP, check=True, capture_output=True, text=True)
dirty = subprocess.run(["git", "diff", "--name-only", "HEAD"], cwd=TOP, check=True, capture_output=True, text=True)
order = {}
for name in dirty.stdout.splitlines() + log.stdout.splitlines():
    order.setdefault(name, len(order))

with open(database, encoding="utf-8") as f:
    commands = {os.path.relpath(entry["file"], TOP): entry["command"] for entry in json.load(f)}
version = subprocess.run([TOOL, "--version"], check=True, capture_output=True, text=True).stdout
rules = read(os.path.join(TOP, ".clang-tidy")) + version
remembered = os.path.join(build, "tidy")
os.makedirs(remembered, exist_ok=True)
waiting, current = [], set()
files = [name for name in tracked(".cpp") if name in commands]
for name in files:
    mark = os.path.join(remembered, state(os.path.join(TOP, name), commands[name], rules))
    current.add(os.path.basename(mark))
    if not os.path.exists(mark):
        waiting.append((order.get(name, len(order)), name, mark))
waiting.sort()
for name in set(os.listdir(remembered)) - current:
    os.remove(os.path.join(remembered, name))
start = time.monotonic()
skipped = []


def look(name, mark):
    if time.monotonic() - start > options.seconds:
        skipped.append(name)
        return set()
    result = subprocess.run([TOOL, "--quiet", "-p", build, os.path.join(TOP, name)], capture_output=True, text=True)
    found = {f"{os.path.relpath(m['where'], TOP)}: {m['what']}" for m in FINDING.finditer(result.stdout)}
    if result.returncode and not found:
        return {f"{name}: {TOOL} failed: {(result.stderr or result.stdout).strip()[-400:]}"}
    if not found:
        open(mark, "w").close()
    return found


findings = set()
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for found in pool.map(lambda entry: look(*entry[1:]), waiting):
        findings |= found
if skipped:
    print(f"tidy: {len(skipped)} files were not looked at in {options.seconds:g} s")
report("tidy", sorted(findings), len(files) - len(skipped))
