#!/usr/bin/env python3
"""Writes digits_keras.json: losses of our digits models under real Keras, step by step.

The weights are those of the ONNX files, the examples those of examples/data/digits
in the files' order, so that the curves are to be equal to rounding. Run it where
TensorFlow and onnx are:

    python make_digits_keras.py > digits_keras.json
"""
import gzip
import json
import os

import keras
import numpy as np
import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "..", "examples")
LAYERS = keras.layers


def idx(name):
    data = gzip.open(os.path.join(EXAMPLES, "data", "digits", name)).read()
    dims = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * len(dims)).reshape(dims)


def weights(path):
    return {w.name: numpy_helper.to_array(w) for w in onnx.load(path).graph.initializer}


def conv(w, name, filters):
    """A convolution of 3x3 with the file's weights, which Keras wants as HWIO."""
    def load(layer):
        layer.set_weights([w[name + ".weight"].transpose(2, 3, 1, 0), w[name + ".bias"]])
    return LAYERS.Conv2D(filters, 3, padding="same"), load


def dense(w, name, outputs, activation=None):
    return (LAYERS.Dense(outputs, activation=activation),
            lambda layer: layer.set_weights([w[name + ".weight"], w[name + ".bias"]]))


def norm():
    return LAYERS.BatchNormalization(momentum=0.9, epsilon=1e-3), lambda layer: None


def plain(layer):
    return layer, lambda layer: None


def flatten():
    """As ONNX flattens: channels first."""
    return [plain(LAYERS.Permute((3, 1, 2))), plain(LAYERS.Flatten())]


def build(parts, shape):
    layers = [layer for layer, _ in parts]
    model = keras.Sequential([keras.Input(shape), *layers])
    for layer, load in parts:
        load(layer)
    return model


def digits_mlp(w):
    return build([dense(w, "dense1", 32, "relu"), dense(w, "dense2", 10, "softmax")], (64,))


def digits_cnn(w):
    return build([conv(w, "conv1", 16), plain(LAYERS.ReLU()), plain(LAYERS.MaxPooling2D()),
                  conv(w, "conv2", 32), plain(LAYERS.ReLU()), plain(LAYERS.MaxPooling2D()), *flatten(),
                  dense(w, "dense1", 64, "relu"), dense(w, "dense2", 10, "softmax")], (8, 8, 1))


def digits_bn(w):
    return build([conv(w, "conv1", 8), norm(), plain(LAYERS.ReLU()), plain(LAYERS.MaxPooling2D()),
                  conv(w, "conv2", 8), norm(), plain(LAYERS.ReLU()), *flatten(),
                  dense(w, "dense1", 10, "softmax")], (8, 8, 1))


MODELS = {"examples/models/digits-mlp": digits_mlp, "examples/models/digits-cnn": digits_cnn,
          "test/e2e/Inputs/digits-bn": digits_bn}
# Model, optimizer here and there, global batch, steps. 1437 examples: batches of
# 200 end with one of 37; that of the normalized net is left out (each replica
# normalizes by its own part of it).
OPTIMIZERS = keras.optimizers
CASES = [
    ("examples/models/digits-mlp", "sgd:lr=0.1", lambda: OPTIMIZERS.SGD(0.1), 200, 24),
    ("examples/models/digits-mlp", "adam:lr=2e-3", lambda: OPTIMIZERS.Adam(2e-3), 32, 60),
    ("examples/models/digits-cnn", "adam:lr=1e-3", lambda: OPTIMIZERS.Adam(1e-3), 64, 46),
    ("examples/models/digits-cnn", "rmsprop:lr=1e-3", lambda: OPTIMIZERS.RMSprop(1e-3), 200, 16),
    ("test/e2e/Inputs/digits-bn", "momentum:lr=0.02", lambda: OPTIMIZERS.SGD(0.02, momentum=0.9), 64, 22),
    ("test/e2e/Inputs/digits-bn", "adamw:lr=1e-3,weight-decay=0.01", lambda: OPTIMIZERS.AdamW(1e-3, weight_decay=0.01), 96, 14),
]


def run(name, optimizer, batch, steps):
    path = os.path.join(EXAMPLES, "..", name + ".onnx")
    model = MODELS[name](weights(path))
    x = idx("train-images-idx3-ubyte.gz").astype(np.float32) / 16
    y = idx("train-labels-idx1-ubyte.gz").astype(np.int64)
    x = x.reshape(len(x), -1) if model.input_shape[1:] == (64,) else x[..., None]
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy")
    losses, start = [], 0
    for _ in range(steps):
        rows = slice(start, min(start + batch, len(x)))
        result = model.train_on_batch(x[rows], y[rows], return_dict=True)
        model.reset_metrics()
        losses.append(float(result["loss"]))
        start = 0 if rows.stop == len(x) else rows.stop
    return losses


def main():
    rows = []
    for name, ours, theirs, batch, steps in CASES:
        losses = run(name, theirs(), batch, steps)
        rows.append(json.dumps({"model": name + ".onnx", "optimizer": ours, "batch": batch, "losses": losses}))
    print('{"keras": "%s", "cases": [\n%s\n]}' % (keras.__version__, ",\n".join(rows)))


if __name__ == "__main__":
    main()
