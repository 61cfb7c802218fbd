#!/usr/bin/env python3
"""Changes a byte in the middle of each file of that name in a folder: damage.py FOLDER NAME"""
import os
import sys

folder, name = sys.argv[1:]
found = 0
for parent, _, files in os.walk(folder):
    for file in files:
        if file == name or (name[0] == "." and file.endswith(name)):
            with open(os.path.join(parent, file), "r+b") as stream:
                middle = os.path.getsize(stream.name) // 2
                stream.seek(middle)
                byte = stream.read(1)[0]
                stream.seek(middle)
                stream.write(bytes([byte ^ 0xFF]))
            found += 1
assert found, f"no {name} in {folder}"
