#!/usr/bin/env python3
"""Writes ONNX models: make_models.py [FOLDER] [NAME...].

Without names those that the examples use; they are committed, so that nobody
needs Python to run the examples. By name, or `workloads` for all of them, the
larger ones that benchmarks and the strategies' matrix use. Needs the Python
packages numpy and onnx. Weights start from Glorot's uniform distribution with a
fixed seed, biases from zero, as in Keras.
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

    def conv(self, name, x, channels, filters, size, stride=1, pad=None, bias=True):
        """Keeps height and width at stride 1 unless `pad` is given."""
        inputs = [x, self.weight(name + ".weight", (filters, channels, size, size), channels * size**2, filters * size**2)]
        if bias:
            inputs.append(self.zeros(name + ".bias", filters))
        return self.node("Conv", name, inputs, kernel_shape=[size, size], strides=[stride, stride],
                         pads=[size // 2 if pad is None else pad] * 4)

    def batch_norm(self, name, x, channels):
        """As a new layer has it: scale 1, bias 0, mean 0, variance 1."""
        inputs = [x]
        for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("variance", 1)):
            self.initializers.append(numpy_helper.from_array(np.full(channels, value, np.float32), f"{name}.{part}"))
            inputs.append(f"{name}.{part}")
        return self.node("BatchNormalization", name, inputs, momentum=0.9, epsilon=1e-3)

    def dense(self, name, x, inputs, outputs):
        weight = self.weight(name + ".weight", (inputs, outputs), inputs, outputs)
        return self.node("Gemm", name, [x, weight, self.zeros(name + ".bias", outputs)])

    def relu(self, name, x):
        return self.node("Relu", name, [x])

    def pool(self, name, x):
        return self.node("MaxPool", name, [x], kernel_shape=[2, 2], strides=[2, 2])

    def constant(self, name, value):
        """A value that is no parameter."""
        self.nodes.append(helper.make_node("Constant", [], [name], name=name,
                                           value=numpy_helper.from_array(np.asarray(value))))
        return name

    def linear(self, name, x, inputs, outputs):
        """Dense over the last of any number of dims."""
        weight = self.weight(name + ".weight", (inputs, outputs), inputs, outputs)
        product = self.node("MatMul", name + ".product", [x, weight])
        return self.node("Add", name, [product, self.zeros(name + ".bias", outputs)])

    def layer_norm(self, name, x, size):
        self.initializers.append(numpy_helper.from_array(np.ones(size, np.float32), name + ".gamma"))
        return self.node("LayerNormalization", name, [x, name + ".gamma", self.zeros(name + ".beta", size)], axis=-1,
                         epsilon=1e-5)

    def save(self, path, input_shape, output, classes, source="image", kind=TensorProto.FLOAT):
        out_shape = classes if isinstance(classes, list) else [classes]
        graph = helper.make_graph(
            self.nodes, os.path.basename(path).removesuffix(".onnx"),
            [helper.make_tensor_value_info(source, kind, ["batch", *input_shape])],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", *out_shape])], self.initializers)
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


def digits_generator(path):
    """Of a GAN: two dense layers from 16 numbers to the 64 pixels of an image."""
    m = Model(seed=7)
    x = m.relu("relu1", m.dense("dense1", "noise", 16, 48))
    x = m.dense("dense2", x, 48, 64)
    m.save(path, [16], m.node("Sigmoid", "image", [x]), 64, source="noise")


def digits_discriminator(path):
    """Of a GAN: two dense layers from the 64 pixels of an image to whether it is real, as a logit."""
    m = Model(seed=8)
    x = m.node("LeakyRelu", "relu1", [m.dense("dense1", "image", 64, 48)], alpha=0.2)
    m.save(path, [64], m.dense("real", x, 48, 1), 1)


def mlp(path):
    """Three dense layers for 784 numbers of ten classes."""
    m = Model(seed=4)
    x = m.relu("relu1", m.dense("fc1", "image", 784, 512))
    x = m.relu("relu2", m.dense("fc2", x, 512, 512))
    m.save(path, [784], m.dense("fc3", x, 512, 10), 10)


def cnn(path, channels, size, left):
    """TensorFlow's tutorial network (images/cnn): three valid convolutions, `left` features, two dense layers."""
    m = Model(seed=5)
    x = m.pool("pool1", m.relu("relu1", m.conv("conv1", "image", channels, 32, 3, pad=0)))
    x = m.pool("pool2", m.relu("relu2", m.conv("conv2", x, 32, 64, 3, pad=0)))
    x = m.node("Flatten", "flatten", [m.relu("relu3", m.conv("conv3", x, 64, 64, 3, pad=0))])
    x = m.relu("relu4", m.dense("fc1", x, left, 64))
    m.save(path, [channels, size, size], m.dense("fc2", x, 64, 10), 10)


def resnet18(path, activation="Relu"):
    """He et al. 2015 (arXiv:1512.03385), for 32x32 images: a 3x3 stem without pooling."""
    m = Model(seed=6)

    def act(name, x):
        return m.node(activation, name, [x])

    def normal(name, x, channels, filters, size, stride=1):
        return m.batch_norm(name + ".norm", m.conv(name, x, channels, filters, size, stride, bias=False), filters)

    x, channels = act("stem.relu", normal("stem", "image", 3, 64, 3)), 64
    for stage, filters in enumerate([64, 128, 256, 512], 1):
        for block in range(2):
            n = f"layer{stage}.{block}."
            stride = 2 if stage > 1 and block == 0 else 1
            y = act(n + "relu1", normal(n + "conv1", x, channels, filters, 3, stride))
            y = normal(n + "conv2", y, filters, filters, 3)
            if stride > 1:
                x = normal(n + "down", x, channels, filters, 1, stride)
            x, channels = act(n + "relu2", m.node("Add", n + "residual", [y, x])), filters
    x = m.node("Flatten", "flatten", [m.node("GlobalAveragePool", "pool", [x])])
    m.save(path, [3, 32, 32], m.dense("fc", x, 512, 10), 10)


def transformer(path, layers, dim, heads, length, vocabulary, seed=3, tied=False):
    """A causal transformer (pre-norm, GELU by tanh) from tokens to the logits of the next ones; `tied`: the head is the table."""
    m = Model(seed)
    split = m.constant("split", np.array([0, length, heads, dim // heads]))
    join = m.constant("join", np.array([0, length, dim]))
    mask = m.constant("mask", np.where(np.tril(np.ones((length, length))), 0, -1e4).astype(np.float32))
    number = {n: m.constant(n, np.float32(v)) for n, v in {
        "scale": (dim // heads) ** -0.5, "one": 1, "half": 0.5, "three": 3,
        "gelu_a": (2 / np.pi) ** 0.5, "gelu_b": 0.044715}.items()}
    table = m.weight("embedding", (vocabulary, dim), vocabulary, dim)
    position = m.weight("position", (length, dim), length, dim)
    x = m.node("Add", "embedded", [m.node("Gather", "lookup", [table, "tokens"], axis=0), position])
    for i in range(layers):
        n = f"layer{i}."

        def part(kind, y, order):
            y = m.node("Reshape", n + kind + ".heads", [m.linear(n + kind, y, dim, dim), split])
            return m.node("Transpose", n + kind + ".first", [y], perm=order)

        y = m.layer_norm(n + "norm1", x, dim)
        q, k, v = part("q", y, [0, 2, 1, 3]), part("k", y, [0, 2, 3, 1]), part("v", y, [0, 2, 1, 3])
        a = m.node("Mul", n + "scaled", [m.node("MatMul", n + "scores", [q, k]), number["scale"]])
        a = m.node("Softmax", n + "attention", [m.node("Add", n + "masked", [a, mask])], axis=-1)
        y = m.node("Transpose", n + "mixed", [m.node("MatMul", n + "values", [a, v])], perm=[0, 2, 1, 3])
        y = m.linear(n + "out", m.node("Reshape", n + "joined", [y, join]), dim, dim)
        x = m.node("Add", n + "residual1", [x, y])
        u = m.linear(n + "up", m.layer_norm(n + "norm2", x, dim), dim, 4 * dim)
        cubed = m.node("Mul", n + "gelu.b", [m.node("Pow", n + "gelu.cube", [u, number["three"]]), number["gelu_b"]])
        t = m.node("Mul", n + "gelu.a", [m.node("Add", n + "gelu.sum", [u, cubed]), number["gelu_a"]])
        t = m.node("Add", n + "gelu.tanh1", [m.node("Tanh", n + "gelu.tanh", [t]), number["one"]])
        u = m.node("Mul", n + "gelu", [m.node("Mul", n + "gelu.half", [u, number["half"]]), t])
        x = m.node("Add", n + "residual2", [x, m.linear(n + "down", u, 4 * dim, dim)])
    x = m.layer_norm("norm", x, dim)
    if tied:
        logits = m.node("MatMul", "head", [x, m.node("Transpose", "head.weight", [table], perm=[1, 0])])
    else:
        logits = m.linear("head", x, dim, vocabulary)
    m.save(path, [length], logits, [length, vocabulary], "tokens", TensorProto.INT64)


EXAMPLES = {
    "digits-cnn": digits_cnn,
    "digits-mlp": digits_mlp,
    "digits-generator": digits_generator,
    "digits-discriminator": digits_discriminator,
    # The 17 gray levels of 8x8 pixels as tokens.
    "tiny-transformer": lambda path: transformer(path, layers=2, dim=16, heads=4, length=64, vocabulary=20),
}
WORKLOADS = {
    "mnist-mlp": mlp,
    "mnist-cnn": lambda path: cnn(path, 1, 28, 576),
    "cifar-cnn": lambda path: cnn(path, 3, 32, 1024),
    "resnet18-cifar": resnet18,
    "resnet18-smooth": lambda path: resnet18(path, "Softplus"),
    "gpt-6x384": lambda path: transformer(path, layers=6, dim=384, heads=6, length=128, vocabulary=8192),
}

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    os.makedirs(folder, exist_ok=True)
    for name in [name for word in sys.argv[2:] or EXAMPLES for name in (WORKLOADS if word == "workloads" else [word])]:
        (EXAMPLES | WORKLOADS)[name](os.path.join(folder, name + ".onnx"))
