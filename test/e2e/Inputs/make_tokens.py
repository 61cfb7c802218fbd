"""Writes files of 8 x 64 tokens below a number: good.npy, ends.npy (some count from the end), beyond.npy (one too large).

    make_tokens.py ROWS
"""
import struct
import sys

rows = int(sys.argv[1])
good = [i * 7 % rows for i in range(8 * 64)]
ends = [token - rows if i % 3 == 0 else token for i, token in enumerate(good)]
beyond = list(good)
beyond[6 * 64 + 36] = rows
for name, tokens in (("good", good), ("ends", ends), ("beyond", beyond)):
    head = b"{'descr': '<i8', 'fortran_order': False, 'shape': (8, 64), }".ljust(117) + b"\n"
    with open(f"{name}.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(tokens)}q", *tokens))
