"""How an ONNX file says that tensors are split, as protoc reads it: a line each of
tensor and devices, and with OTHER whether the initializers are the same bytes there.

    onnx_shards.py ONNX.PROTO FILE [OTHER]
"""
import os
import re
import subprocess
import sys


def decode(path):
    """A model as text, with only what our subset of the format has."""
    folder, proto = os.path.split(os.path.abspath(sys.argv[1]))
    with open(path, "rb") as file:
        return subprocess.run(["protoc", f"--proto_path={folder}", "--decode=dist.onnx.ModelProto", proto],
                              stdin=file, check=True, capture_output=True).stdout.decode("latin1")


def blocks(text, name):
    """The bodies of all messages of a field's name."""
    for start in re.finditer(rf"^( *){name} {{\n", text, re.M):
        yield text[start.end() : text.index(f"\n{start[1]}}}\n", start.start())]


text = decode(sys.argv[2])
for spec in blocks(text, "sharding_spec"):
    devices = re.findall(r"^ *device: (\d+)", spec, re.M)
    print(re.search(r'tensor_name: "(.*)"', spec)[1], *devices)
if len(sys.argv) > 3:
    own, other = (sorted(blocks(each, "initializer")) for each in (text, decode(sys.argv[3])))
    print(f"{len(own)} initializers: {'the same' if own and own == other else 'OTHERS'}")
