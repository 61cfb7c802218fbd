"""Writes keras_curves.json: losses of a tiny model under real Keras.

Every loss with every optimizer, then the options that change an update. The
test evaluate_training_test trains the same model, on the same numbers, by
evaluating our passes' ops. Run it where Keras 3 is:

    KERAS_BACKEND=jax python make_keras_curves.py > keras_curves.json
"""
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

BATCH, STEPS, INPUTS, HIDDEN, OUTPUTS = 8, 6, 4, 5, 3


def numbers(count, salt):
    """Even, repeatable numbers in (-1, 1), the same in the C++ test."""
    state, out = (salt * 2654435761 + 12345) % 2**32, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        out.append(state / 2**31 - 1)
    return np.array(out, np.float32)


def labels(loss, count):
    raw = numbers(count * OUTPUTS, 9).reshape(count, OUTPUTS)
    if loss == "sparse-categorical-crossentropy":
        return raw.argmax(1).astype(np.int32)
    if loss == "categorical-crossentropy":
        return np.eye(OUTPUTS, dtype=np.float32)[raw.argmax(1)]
    if loss == "binary-crossentropy":
        return (raw > 0).astype(np.float32)
    return 2 * raw


LOSSES = {
    "sparse-categorical-crossentropy": (keras.losses.SparseCategoricalCrossentropy, "softmax"),
    "categorical-crossentropy": (keras.losses.CategoricalCrossentropy, "softmax"),
    "binary-crossentropy": (keras.losses.BinaryCrossentropy, "sigmoid"),
    "mse": (keras.losses.MeanSquaredError, "linear"),
    "mae": (keras.losses.MeanAbsoluteError, "linear"),
    "huber": (keras.losses.Huber, "linear"),
}
OPTIMIZERS = {
    "sgd": lambda **k: keras.optimizers.SGD(**k),
    "momentum": lambda **k: keras.optimizers.SGD(momentum=0.9, **k),
    "nesterov": lambda **k: keras.optimizers.SGD(momentum=0.9, nesterov=True, **k),
    "adam": keras.optimizers.Adam,
    "adamw": keras.optimizers.AdamW,
    "rmsprop": keras.optimizers.RMSprop,
    "adagrad": keras.optimizers.Adagrad,
    "lamb": keras.optimizers.Lamb,
    "lion": keras.optimizers.Lion,
}


def run(loss, optimizer, short=0, from_logits=False, metrics=(), class_weights=None, sample_weights=False):
    """Losses of STEPS batches, the last of `short` examples if not 0."""
    build, activation = LOSSES[loss]
    model = keras.Sequential([
        keras.Input((INPUTS,)),
        keras.layers.Dense(HIDDEN, activation="relu"),
        keras.layers.Dense(OUTPUTS, activation="linear" if from_logits else activation),
    ])
    model.set_weights([
        numbers(INPUTS * HIDDEN, 1).reshape(INPUTS, HIDDEN), 0.1 * numbers(HIDDEN, 2),
        numbers(HIDDEN * OUTPUTS, 3).reshape(HIDDEN, OUTPUTS), 0.1 * numbers(OUTPUTS, 4),
    ])
    kwargs = {"from_logits": True} if from_logits else {}
    model.compile(optimizer=optimizer, loss=build(**kwargs), metrics=list(metrics))
    x = numbers(BATCH * STEPS * INPUTS, 5).reshape(-1, INPUTS)
    y = labels(loss, BATCH * STEPS)
    weights = numbers(BATCH * STEPS, 7) + 1
    losses, values = [], []
    for step in range(STEPS):
        rows = slice(step * BATCH, step * BATCH + (short if short and step == STEPS - 1 else BATCH))
        result = model.train_on_batch(
            x[rows], y[rows], return_dict=True, class_weight=class_weights,
            sample_weight=weights[rows] if sample_weights else None)
        model.reset_metrics()
        losses.append(float(result.pop("loss")))
        values.append({k: float(v) for k, v in result.items()})
    return losses, values


def main():
    cases = []

    def add(loss, optimizer, keras_optimizer, metrics=None, metric=None, **options):
        names = ("short", "from_logits", "class_weights", "sample_weights")
        keras_options = {k: options.pop(k) for k in names if k in options}
        losses, values = run(loss, keras_optimizer, metrics=[metric] if metric else (), **keras_options)
        case = {"loss": loss, "optimizer": optimizer, "losses": losses, **keras_options, **options}
        if "class_weights" in case:
            case["class_weights"] = [f"{c}={w}" for c, w in case["class_weights"].items()]
        if metrics:
            case["metric"] = metrics
            case["metric_values"] = [list(v.values())[0] for v in values]
        cases.append(case)

    for loss in LOSSES:
        for name, build in OPTIMIZERS.items():
            rate = 0.01 if name in ("adam", "adamw", "rmsprop", "lamb", "lion") else 0.05
            add(loss, f"{name}:lr={rate}", build(learning_rate=rate))
    sparse, adam = "sparse-categorical-crossentropy", "adam:lr=0.05"
    for name, build in OPTIMIZERS.items():
        add(sparse, name, build())
    for loss in LOSSES:
        add(loss, adam, keras.optimizers.Adam(0.05), short=5)
    for loss in list(LOSSES)[:3]:
        add(loss, adam, keras.optimizers.Adam(0.05), from_logits=True)
    add(sparse, adam, keras.optimizers.Adam(0.05, global_clipnorm=0.1), **{"clip-norm": 0.1})
    add(sparse, "sgd:lr=0.5", keras.optimizers.SGD(0.5, clipvalue=0.02), **{"clip-value": 0.02})
    add(sparse, "sgd:lr=0.5", keras.optimizers.SGD(0.5, weight_decay=0.1), **{"weight-decay": 0.1})
    add(sparse, "momentum:lr=0.5", keras.optimizers.SGD(0.5, momentum=0.9, gradient_accumulation_steps=2), accumulate=2)
    add(sparse, adam, keras.optimizers.Adam(0.05, gradient_accumulation_steps=3, global_clipnorm=0.1),
        **{"clip-norm": 0.1, "accumulate": 3})
    add(sparse, "rmsprop:lr=0.01,momentum=0.5,rho=0.8", keras.optimizers.RMSprop(0.01, rho=0.8, momentum=0.5))
    add(sparse, "adagrad:lr=0.1,initial-accumulator=0.5", keras.optimizers.Adagrad(0.1, initial_accumulator_value=0.5))
    schedules = keras.optimizers.schedules
    for text, schedule in {
        "cosine:steps=4,alpha=0.1": schedules.CosineDecay(0.5, 4, alpha=0.1),
        "cosine:steps=3,warmup=2": schedules.CosineDecay(0.0, 3, warmup_target=0.5, warmup_steps=2),
        "step:steps=2,rate=0.5": schedules.ExponentialDecay(0.5, 2, 0.5, staircase=True),
        "exponential:steps=2,rate=0.5": schedules.ExponentialDecay(0.5, 2, 0.5),
        "polynomial:steps=4,end=0.1,power=2": schedules.PolynomialDecay(0.5, 4, 0.1, power=2.0),
        "inverse-time:steps=2,rate=0.5": schedules.InverseTimeDecay(0.5, 2, 0.5),
    }.items():
        add(sparse, "sgd:lr=0.5", keras.optimizers.SGD(schedule), schedule=text)
    for loss, ours, theirs in [
        (sparse, "accuracy", "accuracy"),
        ("categorical-crossentropy", "accuracy", "accuracy"),
        ("binary-crossentropy", "binary-accuracy", "binary_accuracy"),
        (sparse, "top-k:k=2", keras.metrics.SparseTopKCategoricalAccuracy(2)),
        ("categorical-crossentropy", "top-k:k=2", keras.metrics.TopKCategoricalAccuracy(2)),
        ("mse", "mae", "mae"),
        ("mae", "mse", "mse"),
        ("categorical-crossentropy", "mse", "mse"),
    ]:
        add(loss, adam, keras.optimizers.Adam(0.05), ours, theirs, short=5)
    # Metrics have no weights, and the mean is over the examples.
    for loss in (sparse, "categorical-crossentropy"):
        add(loss, adam, keras.optimizers.Adam(0.05), "accuracy", "accuracy", short=5, class_weights={0: 3.0, 2: 0.25})
    for loss in LOSSES:
        add(loss, adam, keras.optimizers.Adam(0.05), short=5, sample_weights=True)
    print("{\"keras\": \"%s\", \"cases\": [" % keras.__version__)
    print(",\n".join(json.dumps(case) for case in cases))
    print("]}")


if __name__ == "__main__":
    sys.exit(main())
