#!/usr/bin/env python3
"""Writes each label's weight as .npy: make_weights.py LABELS.gz OUT.npy CLASS=WEIGHT...

Classes that are not named have 1.
"""
import gzip
import struct
import sys

labels = gzip.open(sys.argv[1]).read()[8:]
weights = {int(c): float(w) for c, w in (word.split("=") for word in sys.argv[3:])}
head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(labels)},), }}".encode().ljust(117) + b"\n"
with open(sys.argv[2], "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
    f.write(struct.pack(f"<{len(labels)}f", *(weights.get(label, 1.0) for label in labels)))
