"""The same digits for three workers, but that those of worker 2 have a NaN in example 60."""
import random
import struct


def save(path, kind, shape, numbers):
    """As NumPy's .npy, without NumPy."""
    header = repr({"descr": "<" + kind, "fortran_order": False, "shape": shape}).encode()
    header += b" " * ((-11 - len(header)) % 64) + b"\n"
    code = {"f4": "f", "i8": "q"}[kind]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack(f"<{len(numbers)}{code}", *numbers))


chance = random.Random(0)
images = [chance.random() for _ in range(96 * 64)]
save("y.npy", "i8", (96,), [chance.randrange(10) for _ in range(96)])
for index in range(3):
    if index == 2:
        images[60 * 64 + 3 * 8 + 3] = float("nan")
    save(f"x{index}.npy", "f4", (96, 1, 8, 8), images)
