#!/usr/bin/env python3
"""Sums what one rank sends in an entry, by collective and axes: volumes.py ENTRY < explain.json"""
import json
import sys

report = json.load(sys.stdin)
entry = next(e for e in report["entries"] if e["entry"] == sys.argv[1])
sums = {}
for transfer in entry["transfers"]:
    key = (transfer["collective"], transfer["group"].split(" ")[0])
    count, sent = sums.get(key, (0, 0))
    sums[key] = (count + 1, sent + transfer["bytes_sent"])
for (collective, axes), (count, sent) in sorted(sums.items()):
    print(f"{collective} {axes} {count} transfers {sent:.0f} bytes")
memory = entry["memory"]
print(f"memory parameters {memory['parameters']} slots {memory['slots']}")
