"""Writes files that are small and unpack to much: an archive of members that overlap, and a gzip stream of zeros."""
import gzip
import os
import struct
import sys
import zlib

folder = sys.argv[1]
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1024,), }".ljust(117) + b"\n"
array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 4096
packed = zlib.compress(array)[2:-4]
crc = zlib.crc32(array)
local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, crc, len(packed), len(array), 5, 0) + b"x.npy"
data, directory = local + packed, b""
for i in range(64):
    name = b"%03d.npy" % i
    directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, crc, len(packed), len(array), len(name), 0, 0, 0, 0, 0, 0) + name
end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 64, 64, len(directory), len(data), 0)
with open(os.path.join(folder, "overlap.npz"), "wb") as file:
    file.write(data + directory + end)
member = gzip.compress(bytes(1 << 26))
with open(os.path.join(folder, "bomb.npy.gz"), "wb") as file:
    file.write(member * 16)  # members of one stream, 1 GiB in all
