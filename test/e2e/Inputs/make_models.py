#!/usr/bin/env python3
"""Writes the ONNX models of these tests: make_models.py [FOLDER]; needs numpy and onnx, like examples/models/make_models.py."""
import os
import sys

import numpy as np
from onnx import TensorProto

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


def digits_dropout(path):
    """Dropouts of images, of rows of all images as one matrix, and of rows first: the batch in each place."""
    m = Model(seed=11)
    x = m.node("Tanh", "tanh1", [m.dense("dense1", m.node("Flatten", "flatten", ["image"]), 8 * 8, 24)])
    rate = m.constant("rate", np.float32(0.4))
    x = m.node("Dropout", "drop1", [x, rate])
    x = m.node("Reshape", "rows", [x, m.constant("rows_shape", [-1, 8])])
    x = m.node("Dropout", "drop2", [m.dense("dense2", x, 8, 8), rate])
    x = m.node("Transpose", "first", [m.node("Reshape", "images", [x, m.constant("images_shape", [-1, 3, 8])])], perm=[1, 0, 2])
    x = m.node("Transpose", "last", [m.node("Dropout", "drop3", [x, rate])], perm=[1, 0, 2])
    x = m.dense("dense3", m.node("Flatten", "features", [x]), 24, 10)
    m.save(path, [1, 8, 8], m.node("Softmax", "probabilities", [x], axis=-1), 10)


def digits_divided(path):
    """Images over the size of their batch, a number that the model computes."""
    m = Model(seed=13)
    size = m.node("Gather", "size", [m.node("Shape", "shape", ["image"]), m.constant("zero", 0)])
    x = m.node("Div", "divided", ["image", m.node("Cast", "number", [size], to=TensorProto.FLOAT)])
    x = m.dense("dense1", m.node("Flatten", "flatten", [x]), 8 * 8, 10)
    m.save(path, [1, 8, 8], m.node("Softmax", "probabilities", [x], axis=-1), 10)


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else here
    digits_bn(os.path.join(folder, "digits-bn.onnx"))
    digits_residual(os.path.join(folder, "digits-residual.onnx"))
    digits_centered(os.path.join(folder, "digits-centered.onnx"))
    digits_dropout(os.path.join(folder, "digits-dropout.onnx"))
    digits_divided(os.path.join(folder, "digits-divided.onnx"))
    # A vocabulary that no number of devices divides, looked up in the head's own weights.
    transformer(os.path.join(folder, "tied-transformer.onnx"), layers=1, dim=16, heads=4, length=64, vocabulary=19, tied=True)
