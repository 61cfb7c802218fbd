#!/usr/bin/env python3
"""Writes the ONNX models of these tests: make_models.py [FOLDER]; needs numpy and onnx, like examples/models/make_models.py."""
import os
import sys

import numpy as np
from onnx import numpy_helper

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "..", "examples", "models"))
from make_models import Model  # noqa: E402


def batch_norm(m, name, x, channels):
    """Batch normalization as a new layer has it: scale 1, bias 0, mean 0, variance 1."""
    inputs = [x]
    for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("variance", 1)):
        m.initializers.append(numpy_helper.from_array(np.full(channels, value, np.float32), f"{name}.{part}"))
        inputs.append(f"{name}.{part}")
    return m.node("BatchNormalization", name, inputs, momentum=0.9, epsilon=1e-3)


def digits_bn(path):
    """Two normalized convolutions and a dense layer for 8x8 images of ten classes."""
    m = Model(seed=3)
    x = m.relu("relu1", batch_norm(m, "norm1", m.conv("conv1", "image", 1, 8, 3), 8))
    x = m.pool("pool1", x)
    x = m.relu("relu2", batch_norm(m, "norm2", m.conv("conv2", x, 8, 8, 3), 8))
    x = m.dense("dense1", m.node("Flatten", "flatten", [x]), 8 * 4 * 4, 10)
    m.save(path, [1, 8, 8], m.node("Softmax", "probabilities", [x], axis=-1), 10)


if __name__ == "__main__":
    digits_bn(os.path.join(sys.argv[1] if len(sys.argv) > 1 else here, "digits-bn.onnx"))
