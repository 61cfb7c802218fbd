#!/usr/bin/env python3
"""Writes the ONNX models of these tests: make_models.py [FOLDER]; needs numpy and onnx, like examples/models/make_models.py."""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "..", "examples", "models"))
from make_models import Model, transformer  # noqa: E402


def digits_bn(path):
    """Two normalized convolutions and a dense layer for 8x8 images of ten classes."""
    m = Model(seed=3)
    x = m.relu("relu1", m.batch_norm("norm1", m.conv("conv1", "image", 1, 8, 3), 8))
    x = m.pool("pool1", x)
    x = m.relu("relu2", m.batch_norm("norm2", m.conv("conv2", x, 8, 8, 3), 8))
    x = m.dense("dense1", m.node("Flatten", "flatten", [x]), 8 * 4 * 4, 10)
    m.save(path, [1, 8, 8], m.node("Softmax", "probabilities", [x], axis=-1), 10)


def digits_residual(path):
    """A residual block of 16 channels, as wide as a vector, for 8x8 images of ten classes. It is
    smooth: where relu and max_pool change sides, rounding shows in gradients as a jump."""
    m = Model(seed=5)

    def tanh(name, x):
        return m.node("Tanh", name, [x])

    x = tanh("tanh1", m.batch_norm("norm1", m.conv("conv1", "image", 1, 16, 3), 16))
    y = tanh("tanh2", m.batch_norm("norm2", m.conv("conv2", x, 16, 16, 3), 16))
    y = m.batch_norm("norm3", m.conv("conv3", y, 16, 16, 3), 16)
    x = tanh("tanh3", m.node("Add", "add", [x, y]))
    x = m.node("AveragePool", "pool1", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = m.dense("dense1", m.node("Flatten", "flatten", [x]), 16 * 4 * 4, 10)
    m.save(path, [1, 8, 8], m.node("Softmax", "probabilities", [x], axis=-1), 10)


def digits_centered(path):
    """A dense layer behind the images less the mean image of their batch: no example is alone."""
    m = Model(seed=7)
    mean = m.node("ReduceMean", "mean", ["image"], axes=[0], keepdims=1)
    x = m.node("Sub", "centered", ["image", mean])
    x = m.dense("dense1", m.node("Flatten", "flatten", [x]), 8 * 8, 10)
    m.save(path, [1, 8, 8], m.node("Softmax", "probabilities", [x], axis=-1), 10)


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else here
    digits_bn(os.path.join(folder, "digits-bn.onnx"))
    digits_residual(os.path.join(folder, "digits-residual.onnx"))
    digits_centered(os.path.join(folder, "digits-centered.onnx"))
    # A vocabulary that no number of devices divides, looked up in the head's own weights.
    transformer(os.path.join(folder, "tied-transformer.onnx"), layers=1, dim=16, heads=4, length=64, vocabulary=19, tied=True)
