"""Writes files that are small and unpack to much: archives of members that overlap or that nobody wants, and gzip streams of zeros."""
import gzip
import os
import struct
import sys
import zipfile
import zlib

folder = sys.argv[1]
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (16, 64), }".ljust(117) + b"\n"
array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 4096
packed = zlib.compress(array)[2:-4]
crc = zlib.crc32(array)
local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, crc, len(packed), len(array), 5, 0) + b"x.npy"
data, directory = local + packed, b""
for i in range(64):
    name = {0: b"x.npy", 1: b"y.npy"}.get(i, b"%03d.npy" % i)
    directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, crc, len(packed), len(array), len(name), 0, 0, 0, 0, 0, 0) + name
end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 64, 64, len(directory), len(data), 0)
with open(os.path.join(folder, "overlap.npz"), "wb") as file:
    file.write(data + directory + end)
member = gzip.compress(bytes(1 << 26))
with open(os.path.join(folder, "bomb.npy.gz"), "wb") as file:
    file.write(member * 16)  # members of one stream, 1 GiB in all


def npy(shape, descr):
    text = b"{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr.encode(), repr(shape).encode())
    text = text.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


# The header is an array's that fits the model; what follows it is 1 GiB more.
with open(os.path.join(folder, "tail.npy.gz"), "wb") as file:
    file.write(gzip.compress(npy((32, 64), "<f4") + bytes(32 * 64 * 4)) + member * 16)
# The header is an array's that does not: 4 GiB of rows of the wrong length.
with open(os.path.join(folder, "wide.npy.gz"), "wb") as file:
    file.write(gzip.compress(npy((4096, 262144), "<f4")) + member * 64)
# 1 GiB that the model has no input for.
with zipfile.ZipFile(os.path.join(folder, "extra.npz"), "w", zipfile.ZIP_DEFLATED) as archive:
    with archive.open("extra.npy", "w") as out:
        out.write(npy((1 << 28,), "<f4"))
        for i in range(1 << 6):
            out.write(bytes(1 << 24))
    archive.writestr("x.npy", npy((32, 64), "<f4") + bytes(32 * 64 * 4))
    archive.writestr("y.npy", npy((32,), "|u1") + bytes(32))
