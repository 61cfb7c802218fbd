#!/usr/bin/env python3
"""Reads --explain=json: every transfer has the chain that caused it, from a decision on; none is named by the model's file."""
import json
import sys

count = 0
for entry in json.load(sys.stdin)["entries"]:
    for row in entry["transfers"]:
        where = (entry["entry"], row["collective"], row["tensor"], row["reason"])
        assert ".onnx" not in row["tensor"] + row["place"], where
        assert row["reason"] and row["place"], where
        for chain in row["chains"]:
            assert "decision" in chain[0], where
        assert row["chains"], where
        count += 1
print(count, "transfers")
