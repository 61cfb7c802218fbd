#!/usr/bin/env python3
"""Which of two reports says that an entry needs less memory: peaks.py ENTRY BEFORE.json AFTER.json"""
import json
import sys


def memory(path):
    with open(path) as file:
        report = json.load(file)
    return next(e for e in report["entries"] if e["entry"] == sys.argv[1])["memory"]


before, after = memory(sys.argv[2]), memory(sys.argv[3])
for part in ("activations", "communication", "peak"):
    word = "less" if after[part] < before[part] else "not less"
    print(f"{part} {word}: {after[part]:.0f} instead of {before[part]:.0f}")
