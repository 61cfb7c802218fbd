#!/usr/bin/env python3
"""Which tensors of two safetensors files are equal: tensors.py A B"""
import json
import struct
import sys


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    return {name: data[8 + size + row["data_offsets"][0] : 8 + size + row["data_offsets"][1]]
            for name, row in header.items() if name != "__metadata__"}


a, b = map(read, sys.argv[1:])
for name in sorted(a.keys() | b.keys()):
    print(name, "equal" if a.get(name) == b.get(name) else "different")
