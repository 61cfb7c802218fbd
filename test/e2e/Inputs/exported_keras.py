"""Exports a Keras model as people have them and trains it by Keras: exported_keras.py PROJECT FOLDER

FOLDER/model.onnx is what examples/export/keras_to_onnx.py makes of it,
FOLDER/model.jsonl the losses of 40 steps on the repository's digits. The same of
FOLDER/layers.onnx, of layers whose weights an exporter puts together, splits, reads
more than once or takes for others. Not trained are FOLDER/dropout.onnx, which draws
numbers of its own, and FOLDER/several.onnx, of several inputs and outputs.
"""
import json
import os
import sys

project, folder = sys.argv[1:3]
sys.path[:0] = [os.path.join(project, "examples", "export"), os.path.join(project, "test", "e2e", "Inputs")]
os.makedirs(folder, exist_ok=True)
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras_to_onnx import export  # noqa: E402
from make_digits_keras import idx  # noqa: E402

L = keras.layers
keras.utils.set_random_seed(1)


def net(*dropout):
    return keras.Sequential([
        keras.Input((8, 8, 1), name="image"), L.Conv2D(16, 3, padding="same"), L.BatchNormalization(), L.Activation("tanh"),
        L.Conv2D(16, 3, strides=2, padding="same", activation="tanh"), L.Flatten(), L.Dense(32), L.BatchNormalization(),
        L.Activation("tanh"), *dropout, L.Dense(10, activation="softmax")])


def layers():
    """Layers in two places, one that is frozen, preprocessing, groups, both directions, and steps that are written out."""
    image = keras.Input((8, 8, 1), name="image")
    rows = L.Reshape((8, 8))(L.Normalization(mean=0.3, variance=0.15)(image))
    twice, norm, frozen = L.Dense(8), L.BatchNormalization(), L.Dense(8)
    frozen.trainable = False
    x = L.Conv1D(8, 3, groups=2, padding="same")(rows)
    x = norm(frozen(norm(twice(L.PReLU(shared_axes=[1])(twice(x))))))
    x = L.Bidirectional(L.LSTM(8, return_sequences=True))(L.LSTM(8, go_backwards=True, return_sequences=True)(x))
    x = L.BatchNormalization(scale=False)(L.Bidirectional(L.GRU(6))(x))
    # As it is where the rate is not 0.
    return keras.Model(image, L.Dense(10, activation="softmax")(L.Dense(24, activation="gelu")(L.SpatialDropout1D(0.0)(x[:, None])[:, 0])))


def several():
    """Inputs and outputs in dicts, whose order is not that of their names."""
    given = {name: keras.Input((4,), name=name) for name in ("width", "height")}
    return keras.Model(given, {"size": L.Dense(2)(L.Subtract()([given["width"], given["height"]])),
                               "kind": L.Dense(3)(given["height"])})


def train(model, name, optimizer):
    export(model, os.path.join(folder, name + ".onnx"))
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy")
    with open(os.path.join(folder, name + ".jsonl"), "w") as f:
        for step in range(40):
            rows = slice(32 * step, 32 * step + 32)
            loss = float(model.train_on_batch(x[rows], y[rows], return_dict=True)["loss"])
            model.reset_metrics()
            f.write(json.dumps({"kind": "step", "epoch": 1, "step": step + 1, "loss": loss}) + "\n")


x = idx("train-images-idx3-ubyte.gz")[..., None].astype(np.float32) / 16
y = idx("train-labels-idx1-ubyte.gz").astype(np.int64)
train(net(), "model", keras.optimizers.Adam(1e-3))
train(layers(), "layers", keras.optimizers.SGD(0.05, momentum=0.9))
export(several(), os.path.join(folder, "several.onnx"))
export(net(L.Dropout(0.5)), os.path.join(folder, "dropout.onnx"))
