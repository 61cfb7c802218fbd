#!/usr/bin/env python3
"""Writes scores of three classes for four examples, of which three hold an infinity or a NaN, to infinite.npy, and their classes to
classes.npy.

    infinite_scores.py
"""
import struct


def write(name, shape, code, values):
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        f.write(struct.pack(f"<{len(values)}{'f' if code == '<f4' else 'q'}", *values))


inf, nan = float("inf"), float("nan")
write("infinite.npy", (4, 3), "<f4", [1, 2, 3, inf, 0, 0, nan, 5, 4, -inf, 5, 4])
write("classes.npy", (4,), "<i8", [1, 0, 1, 1])
