"""Checks the moments of what models.py' draws wrote: moments.py FOLDER. Needs no package."""
import struct
import sys


def read(name, kind):
    data = open(f"{sys.argv[1]}/{name}.npy", "rb").read()
    body = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return struct.unpack("<%d%s" % (len(body) // 4, kind), body)


def check(name, kind, mean, deviation):
    """The mean within five of its own deviations; the deviation within a tenth."""
    values = read(name, kind)
    got = sum(values) / len(values)
    spread = (sum((v - got) ** 2 for v in values) / len(values)) ** 0.5
    assert abs(got - mean) < 5 * deviation / len(values) ** 0.5, (name, got)
    assert abs(spread - deviation) < 0.1 * deviation, (name, spread)


check("u", "f", 0, 4 / 12 ** 0.5)
check("n", "f", 1, 3)
check("b", "f", 0.25, (0.25 * 0.75) ** 0.5)
check("m", "i", 2 / 3, (2 / 9) ** 0.5)
assert min(read("u", "f")) >= -2 and max(read("u", "f")) < 2
