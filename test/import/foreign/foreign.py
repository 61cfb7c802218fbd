"""Writes small models of other tools' forms: foreign.py NAME PATH. Needs no package."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "onnx"))
from models import num, sub

NODE = sub(1, sub(1, "x") + sub(2, "Placeholder") + sub(5, sub(1, "dtype") + sub(2, num(6, 1))))
# A MetaGraphDef's MetaInfoDef has a name and TensorFlow's version; ONNX has its producer there.
SAVED = num(1, 1) + sub(2, sub(1, sub(1, "\x08\x96") + sub(5, "2.21.0")) + sub(2, NODE))
BYTECODE = b"ML\xefR\rStableHLO_v1.15.0\0" + bytes(8)
FILES = {
    "saved": SAVED,
    "saved-cut": SAVED[:20],
    "frozen": NODE + NODE,
    "frozen-cut": NODE[:-3],
    "text": b'node {\n  name: "x"\n  op: "Placeholder"\n}\n',
    "portable": BYTECODE,
    "exported": b"\x10\0\0\0" + bytes(12) + BYTECODE,
    "tflite": b"\x1c\0\0\0TFL3" + bytes(16),
    "h5": b"\x89HDF\r\n\x1a\n" + bytes(16),
    "keras": b"PK\x03\x04" + bytes(26) + b"model.weights.h5",
    "pt": b"PK\x03\x04" + bytes(26) + b"archive/data.pkl",
    "pretty": b'#loc = loc("x")\nmodule @jit_f {\n  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n'
              b"    %0 = stablehlo.add %x, %x : tensor<4xf32>\n    return %0 : tensor<4xf32>\n  }\n}\n",
    "generic": b'"builtin.module"() ({\n  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>\n'
               b"}) : () -> ()\n",
    # The name of a place is no op.
    "place": b'func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> {\n'
             b'  %0 = graph.neg %x : tensor<4xf32> loc("stablehlo.negate"("f"))\n  return %0 : tensor<4xf32>\n}\n',
}

if __name__ == "__main__":
    name, path = sys.argv[1:]
    with open(path, "wb") as file:
        file.write(FILES[name])
