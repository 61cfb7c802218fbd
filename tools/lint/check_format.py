#!/usr/bin/env python3
"""Compares the sources with what clang-format 22 makes of them; --fix writes that.

A file's banner is one line: where it is longer, clang-format breaks it in two.
"""
import os
import shutil
import subprocess
import sys

from sources import TOP, read, report, tracked

TOOL = "clang-format-22"  # other versions format otherwise
files = tracked(".cpp", ".h", ".c")
if not shutil.which(TOOL):
    sys.exit(f"format: {TOOL} is missing; run tools/setup/install-deps.sh")
if "--fix" in sys.argv[1:]:
    subprocess.run([TOOL, "-i", *files], cwd=TOP, check=True)
findings = []
output = subprocess.run([TOOL, "--dry-run", *files], cwd=TOP, check=True, capture_output=True, text=True).stderr
for line in output.splitlines():
    name = line.split(":")[0]
    if "-Wclang-format-violations" in line and name in files and name not in findings:
        findings.append(name)
for name in files:
    banner, rest = (read(name) + "\n").split("\n", 1)
    if banner.startswith("//===-") and not (banner.endswith("===//") and rest.startswith("//\n")):
        findings.append(f"{name}: the banner is longer than a line: shorten it")
if findings:
    command = os.path.relpath(os.path.abspath(__file__), TOP)
    print(f"format: to mend: python3 {command} --fix")
report("format", findings, len(files))
