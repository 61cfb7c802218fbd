#!/usr/bin/env python3
"""Writes the first 64 digits with their one channel last, and their labels, as .npy: npy_images.py DIGITS-FOLDER FOLDER"""
import gzip
import os
import struct
import sys

source, folder = sys.argv[1:]
for name, file, kind, dims in (("x", "train-images-idx3-ubyte.gz", "|u1", (8, 8, 1)), ("y", "train-labels-idx1-ubyte.gz", "|u1", ())):
    data = gzip.open(os.path.join(source, file)).read()
    size = 1
    for dim in dims:
        size *= dim
    start = 4 + 4 * data[3]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {(64, *dims)}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(os.path.join(folder, name + ".npy"), "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data[start : start + 64 * size])
