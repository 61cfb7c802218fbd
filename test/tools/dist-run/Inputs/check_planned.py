#!/usr/bin/env python3
"""Whether bench --json says of the program that runs what --explain=json plans: check_planned.py REPORT.json BENCH.json

That is what is allocated of a device, and how long the kernels of a step are predicted to take.
"""
import json
import sys

report, bench = (json.load(open(path)) for path in sys.argv[1:])
planned = max(entry["memory"]["planned"] for entry in report["entries"] if not entry["placement"].startswith("on the host"))
allocated = bench["peak_device_mb"]
explained = max(entry["predicted_ms"] for entry in report["entries"] if entry["of"] == "train_step")
predicted = bench["predicted_ms"]
if f"{planned / 1e6:.2f}" != f"{allocated:.2f}":
    print(f"planned {planned / 1e6:.2f} MB, allocated {allocated} MB")
elif f"{explained:.6f}" != f"{predicted:.6f}":
    print(f"explained {explained:.6f} ms, the program says {predicted} ms")
else:
    print("same")
