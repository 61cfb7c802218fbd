#!/usr/bin/env python3
"""Which of two reports says that an entry needs less memory: peaks.py ENTRY BEFORE.json AFTER.json"""
import json
import sys


def memory(path):
    with open(path) as file:
        report = json.load(file)
    return next(e for e in report["entries"] if e["entry"] == sys.argv[1])["memory"]


before, after = memory(sys.argv[2]), memory(sys.argv[3])
for parts in (("activations",), ("activations", "communication"), ("peak",)):
    old, new = (sum(one[part] for part in parts) for one in (before, after))
    word = "less" if new < old else "not less"
    print(f"{' and '.join(parts)} {word}: {new:.0f} instead of {old:.0f}")
