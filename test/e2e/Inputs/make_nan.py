#!/usr/bin/env python3
"""Writes 64 examples of 64 numbers and their classes: rows.npy and images.npy (1 x 8 x 8), whose example 21 holds a NaN, large.npy, all numbers near 1e26, and y.npy. Of 4 numbers, with 2 targets: few.npy, whose example 21 is zeros, and targets.npy.

    make_nan.py
"""
import struct


def write(name, shape, code, values):
    head = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        f.write(struct.pack(f"<{len(values)}{'f' if code == '<f4' else 'q'}", *values))


values = [(i * 7919 % 17) / 16 for i in range(64 * 64)]
write("large.npy", (64, 64), "<f4", [1e26 * value for value in values])
values[21 * 64 + 30] = float("nan")
write("rows.npy", (64, 64), "<f4", values)
write("images.npy", (64, 1, 8, 8), "<f4", values)
write("y.npy", (64,), "<i8", [i % 10 for i in range(64)])
few = [(i * 7919 % 17 + 1) / 16 for i in range(64 * 4)]
few[21 * 4 : 22 * 4] = [0.0] * 4
write("few.npy", (64, 4), "<f4", few)
write("targets.npy", (64, 2), "<f4", [(i * 31 % 7) / 7 for i in range(64 * 2)])
