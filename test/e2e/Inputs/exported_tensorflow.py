"""Saves models as TensorFlow's users do, and trains what was saved by TensorFlow: exported_tensorflow.py FOLDER

FOLDER/NAME is a SavedModel, FOLDER/NAME.x.npy, .y.npy and .p.npy inputs, labels and what it predicts, and
FOLDER/NAME.OPTIMIZER.jsonl the losses of 4 steps of the signature's function itself.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
L = keras.layers
rng = np.random.default_rng(0)
keras.utils.set_random_seed(3)
BATCH, STEPS = 16, 4


def mlp(x):
    return L.Dense(5)(L.Dense(16, activation="swish")(L.LayerNormalization()(L.Dense(16, activation="gelu")(x))))


def cnn(x):
    x = L.ReLU()(L.BatchNormalization()(L.Conv2D(8, 3, padding="same", use_bias=False)(x)))
    x = L.Conv2DTranspose(6, 3, strides=2, padding="same")(L.DepthwiseConv2D(3, strides=2, padding="same")(x))
    x = L.Conv2D(6, 3, dilation_rate=2, padding="same", activation="elu")(L.UpSampling2D(2, interpolation="bilinear")(x))
    return L.Dense(5)(L.Dropout(0.5)(L.Flatten()(L.AveragePooling2D(2)(L.MaxPooling2D()(x)))))


def block(x):
    x = L.Embedding(20, 8)(x)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True))
    return L.Dense(5)(L.GlobalAveragePooling1D()(x))


def recurrent(x):
    x = L.Bidirectional(L.LSTM(6, return_sequences=True))(L.Embedding(20, 8, mask_zero=True)(x))
    return L.Dense(5)(L.GRU(6)(x))


class Plain(tf.Module):
    """A model without layers: a loop over a scale, a branch, and a table that is not trained."""

    def __init__(self):
        super().__init__()
        self.w = [tf.Variable(tf.random.stateless_normal([12, 12], [1, i]) / 4, name=f"w{i}") for i in range(2)]
        self.table = tf.Variable(tf.ones([12]), trainable=False, name="table")
        self.head = tf.Variable(tf.random.stateless_normal([12, 5], [2, 2]) / 4, name="head")

    @tf.function(input_signature=[tf.TensorSpec([None, 12], tf.float32, name="x")])
    def __call__(self, x):
        for w in self.w:
            x = tf.tanh(tf.einsum("bi,io->bo", x, w)) * self.table
        for _ in tf.range(3):
            x = x * 1.5 - tf.reduce_mean(x, axis=1, keepdims=True)
        return {"logits": tf.linalg.matmul(x[:, ::-1], self.head)}


def keras_model(make, shape, dtype="float32"):
    given = keras.Input(shape, name="x", dtype=dtype)
    return keras.Model(given, make(given))


def numbers(*shape):
    return rng.normal(size=(BATCH * STEPS, *shape)).astype("f")


TOKENS = rng.integers(0, 20, (BATCH * STEPS, 7)).astype("int32")
MODELS = {"mlp": (keras_model(mlp, (12,)), numbers(12)), "cnn": (keras_model(cnn, (8, 8, 3)), numbers(8, 8, 3)),
          "block": (keras_model(block, (7,), "int32"), TOKENS), "recurrent": (keras_model(recurrent, (7,), "int32"), TOKENS),
          "plain": (Plain(), numbers(12))}


def steps(path, x, y, optimizer):
    """The losses, with the optimizer as it is defined."""
    loaded = tf.saved_model.load(path)
    function = loaded.signatures["serving_default"]
    variables = list(function.trainable_variables)
    first, second = ([np.zeros(v.shape, "f") for v in variables] for _ in range(2))
    losses = []
    for t in range(STEPS):
        rows = slice(t * BATCH, (t + 1) * BATCH)
        with tf.GradientTape() as tape:
            logits = next(iter(function(x=tf.constant(x[rows])).values()))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y[rows], logits=logits))
        losses.append(float(loss))
        for i, (variable, gradient) in enumerate(zip(variables, tape.gradient(loss, variables))):
            gradient = tf.convert_to_tensor(gradient).numpy()
            if optimizer == "momentum":
                first[i] = 0.9 * first[i] + gradient
                variable.assign_sub(0.1 * first[i])
            else:
                first[i] = 0.9 * first[i] + 0.1 * gradient
                second[i] = 0.999 * second[i] + 0.001 * gradient * gradient
                rate = 1e-2 * np.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
                variable.assign_sub(rate * first[i] / (np.sqrt(second[i]) + 1e-7))
    return losses


for name, (model, x) in MODELS.items():
    path = os.path.join(folder, name)
    y = rng.integers(0, 5, len(x)).astype("int64")
    if isinstance(model, tf.Module) and not isinstance(model, keras.Model):
        tf.saved_model.save(model, path)
        predicted = model(x)["logits"].numpy()
    else:
        model.export(path, verbose=False)
        predicted = model.predict(x, verbose=0)
    for ending, array in (("x", x), ("y", y), ("p", predicted)):
        np.save(f"{path}.{ending}.npy", array)
    for optimizer in ("momentum", "adam"):
        with open(f"{path}.{optimizer}.jsonl", "w") as out:
            for step, loss in enumerate(steps(path, x, y, optimizer)):
                out.write(json.dumps({"kind": "step", "step": step + 1, "loss": loss}) + "\n")
