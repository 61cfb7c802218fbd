#!/usr/bin/env python3
"""Arrays of f32 as .npy files, without NumPy: npy.py make FILE DIM...; npy.py compare A B TOLERANCE"""
import ast
import struct
import sys


def read(path):
    data = open(path, "rb").read()
    (size,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10 : 10 + size].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    count = (len(data) - 10 - size) // 4
    return header["shape"], struct.unpack(f"<{count}f", data[10 + size :])


if sys.argv[1] == "make":
    shape = tuple(map(int, sys.argv[3:]))
    count = 1
    for dim in shape:
        count *= dim
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    header += b" " * ((-11 - len(header)) % 64) + b"\n"
    numbers = (((i * 2654435761) >> 7) % 1000 / 1000 for i in range(count))
    with open(sys.argv[2], "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack(f"<{count}f", *numbers))
else:
    (a_shape, a), (b_shape, b) = read(sys.argv[2]), read(sys.argv[3])
    assert a_shape == b_shape, (a_shape, b_shape)
    difference = max(abs(x - y) for x, y in zip(a, b))
    print(f"{a_shape} {'same' if difference <= float(sys.argv[4]) else difference}")
