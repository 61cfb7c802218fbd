#!/usr/bin/env python3
"""Writes the ONNX models that the examples use: make_models.py [FOLDER].

Needs the Python packages numpy and onnx; the files it writes are committed, so
that nobody needs Python to run the examples. Weights start from Glorot's
uniform distribution with a fixed seed, biases from zero, as in Keras.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Model:
    """An ONNX graph under construction; each method adds a node and gives its output's name."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers = [], []

    def weight(self, name, shape, fan_in, fan_out):
        limit = np.sqrt(6 / (fan_in + fan_out))
        value = self.rng.uniform(-limit, limit, shape).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def zeros(self, name, size):
        self.initializers.append(numpy_helper.from_array(np.zeros(size, np.float32), name))
        return name

    def node(self, kind, name, inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def conv(self, name, x, channels, filters, size):
        weight = self.weight(name + ".weight", (filters, channels, size, size), channels * size**2, filters * size**2)
        return self.node("Conv", name, [x, weight, self.zeros(name + ".bias", filters)], kernel_shape=[size, size],
                         strides=[1, 1], pads=[size // 2] * 4)

    def dense(self, name, x, inputs, outputs):
        weight = self.weight(name + ".weight", (inputs, outputs), inputs, outputs)
        return self.node("Gemm", name, [x, weight, self.zeros(name + ".bias", outputs)])

    def relu(self, name, x):
        return self.node("Relu", name, [x])

    def pool(self, name, x):
        return self.node("MaxPool", name, [x], kernel_shape=[2, 2], strides=[2, 2])

    def save(self, path, input_shape, output, classes):
        graph = helper.make_graph(
            self.nodes, os.path.basename(path).removesuffix(".onnx"),
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", *input_shape])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", classes])], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                                  producer_name="dist-mlir examples")
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        print(f"{path}: {os.path.getsize(path)} bytes")


def digits_cnn(path):
    """Two convolutions and two dense layers for 8x8 images of ten classes."""
    m = Model(seed=1)
    x = m.pool("pool1", m.relu("relu1", m.conv("conv1", "image", 1, 16, 3)))
    x = m.pool("pool2", m.relu("relu2", m.conv("conv2", x, 16, 32, 3)))
    x = m.node("Flatten", "flatten", [x])
    x = m.relu("relu3", m.dense("dense1", x, 32 * 2 * 2, 64))
    x = m.dense("dense2", x, 64, 10)
    m.save(path, [1, 8, 8], m.node("Softmax", "probabilities", [x], axis=-1), 10)


def digits_mlp(path):
    """Two dense layers for 64 numbers of ten classes."""
    m = Model(seed=2)
    x = m.relu("relu1", m.dense("dense1", "image", 64, 32))
    x = m.dense("dense2", x, 32, 10)
    m.save(path, [64], m.node("Softmax", "probabilities", [x], axis=-1), 10)


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    os.makedirs(folder, exist_ok=True)
    digits_cnn(os.path.join(folder, "digits-cnn.onnx"))
    digits_mlp(os.path.join(folder, "digits-mlp.onnx"))
