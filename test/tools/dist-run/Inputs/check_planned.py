#!/usr/bin/env python3
"""Whether bench --json says that was allocated what --explain=json plans: check_planned.py REPORT.json BENCH.json"""
import json
import sys

report, bench = (json.load(open(path)) for path in sys.argv[1:])
planned = max(entry["memory"]["planned"] for entry in report["entries"] if not entry["placement"].startswith("on the host"))
allocated = bench["peak_device_mb"]
print("same" if f"{planned / 1e6:.2f}" == f"{allocated:.2f}" else f"planned {planned / 1e6:.2f} MB, allocated {allocated} MB")
