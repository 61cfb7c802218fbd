#!/usr/bin/env python3
"""Whether a server's part of a variable has rows of the workers':
rows_of.py PACKAGE VARIABLE SERVER PART BEGIN"""
import json
import struct
import sys


def read(package, name):
    data = open(package + "/weights.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    row = json.loads(data[8 : 8 + size])[name]
    begin, end = row["data_offsets"]
    return row["shape"], data[8 + size + begin : 8 + size + end]


package, variable, server, part, first = sys.argv[1:]
shape, whole = read(package, variable)
rows, values = read(f"{package}/servers/{server}", part)
size = len(whole) // shape[0]
assert rows[1:] == shape[1:], rows
assert values == whole[int(first) * size : (int(first) + rows[0]) * size]
