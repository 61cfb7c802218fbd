#!/usr/bin/env python3
"""Holds files to their sizes: sources 600 lines, tests 400, mains 80, headers of the C API 250."""
import os

from sources import read, report, tracked


def limit(name):
    if name.startswith("test/"):
        return 400
    if os.path.basename(name) == "main.cpp":
        return 80
    if name.startswith("runtime/include/"):
        return 250
    return 600


findings = []
files = tracked(".cpp", ".h", ".td", ".c", ".mlir", ".test")
for name in files:
    lines = read(name).count("\n")
    if lines > limit(name):
        findings.append(f"{name}: {lines} lines, at most {limit(name)}: split it by family")
report("sizes", findings, len(files))
