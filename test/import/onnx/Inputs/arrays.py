"""Writes arrays of numbers of no pattern: arrays.py FILE.npz NAME=DIM,DIM,... Needs no package."""
import math
import struct
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for spec in sys.argv[2:]:
        name, dims = spec.split("=")
        shape = [int(d) for d in dims.split(",")]
        count = math.prod(shape)
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, shape))
        head += " " * (63 - (len(head) + 10) % 64) + "\n"
        values = [((i * 37 + len(name)) % 23 - 11) / 16 for i in range(count)]
        archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                         + struct.pack("<%df" % count, *values))
