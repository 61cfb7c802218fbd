"""own_draws.py make ROWS: x.npy and y.npy of one image of digits, ROWS times, without NumPy.
own_draws.py compare ONE.jsonl TWO.jsonl: whether each step of two workers is two steps of one device, which
draw different numbers. All examples are alike and nothing is learned, so that losses differ by what is dropped alone."""
import json
import struct
import sys


def write(path, kind, shape, data):
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    header += b" " * ((-11 - len(header)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def losses(path):
    with open(path, encoding="utf-8") as file:
        return [row["loss"] for row in map(json.loads, file) if row["kind"] == "step"]


if sys.argv[1] == "make":
    rows = int(sys.argv[2])
    image = struct.pack("<64f", *(i * 29 % 17 / 16 for i in range(64)))
    write("x.npy", "<f4", (rows, 1, 8, 8), image * rows)
    write("y.npy", "<i8", (rows,), struct.pack("<q", 3) * rows)
else:
    one, two = map(losses, sys.argv[2:])
    assert len(one) == 2 * len(two) > 0, (one, two)
    pairs = list(zip(one[::2], one[1::2]))
    alike = [abs((a + b) / 2 - c) < 1e-5 for (a, b), c in zip(pairs, two)]
    apart = [abs(a - b) > 1e-3 for a, b in pairs]
    print("own draws" if all(alike) and all(apart) else f"other draws: {one} {two}")
