#!/usr/bin/env python3
"""Writes the digits as three TFRecord files, raw pixels and a label an example: tf_records.py DIGITS-FOLDER FOLDER"""
import gzip
import os
import struct
import sys


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def field(number, data):
    """A field of bytes, of up to 127 of them."""
    return bytes([number << 3 | 2, len(data)]) + data


def record(pixels, label):
    features = [(b"image/raw", field(1, field(1, pixels))), (b"label", field(3, field(1, bytes([label]))))]
    message = b"".join(field(1, field(1, name) + field(2, feature)) for name, feature in features)
    # Longer than a byte can say.
    message = b"\x0a" + bytes([len(message) & 127 | 128, len(message) >> 7]) + message if len(message) > 127 else field(1, message)
    length = struct.pack("<Q", len(message))
    return length + masked_crc(length) + message + masked_crc(message)


source, folder = sys.argv[1:]
images = gzip.open(os.path.join(source, "train-images-idx3-ubyte.gz")).read()[16:]
labels = gzip.open(os.path.join(source, "train-labels-idx1-ubyte.gz")).read()[8:]
cuts = [0, 100, 300, len(labels)]
for number, (begin, end) in enumerate(zip(cuts, cuts[1:])):
    with open(os.path.join(folder, f"digits-{number}.tfrecord"), "wb") as f:
        for i in range(begin, end):
            f.write(record(images[64 * i : 64 * i + 64], labels[i]))
