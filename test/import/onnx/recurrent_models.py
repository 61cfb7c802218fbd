"""Writes models of one recurrent node: recurrent_models.py NAME FILE. Needs no package."""
import sys

from models import model, node, tensor, value


def cell(op="LSTM", gates=4, x=(3, 2, 2), y=("steps", 1, "batch", 2), inputs=("x", "w", "r"), w=None, r=None, extra=(),
         opset=22, producer="", **attributes):
    """Two units of inputs [steps, batch, 2]; `extra`: initializers of further inputs."""
    w, r = w or [1, 2 * gates, 2], r or [1, 2 * gates, 2]
    size = lambda dims: dims[0] * dims[1] * (dims[2] if len(dims) > 2 else 1)
    return model(
        node(op, inputs, ["y"], "cell", **attributes),
        tensor("w", w, [(7 * i % 11 - 5) / 10 for i in range(size(w))]),
        tensor("r", r, [(5 * i % 7 - 3) / 10 for i in range(size(r))]), *extra,
        value(11, "x", list(x)), value(12, "y", list(y)), opset=opset, producer=producer)


def biased(op="LSTM", gates=4, states=0.0, producer="tf2onnx", **attributes):
    """With biases, those of the state all `states`."""
    own = [(3 * i % 5 - 2) / 10 for i in range(2 * gates)]
    return cell(op, gates, inputs=("x", "w", "r", "b"), extra=[tensor("b", [1, 4 * gates], own + [states] * 2 * gates)],
                producer=producer, **attributes)


def started(name, dims, rows, kind="f"):
    """From a state that an Expand repeats over the batch."""
    return model(
        node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["n"], axis=0),
        node("Concat", ["first", "n", "last"], ["to"], axis=0), node("Expand", [name, "to"], ["h"], "repeat"),
        node("LSTM", ["x", "w", "r", "", "", "h", "c", "p"], ["y"], "cell"),
        tensor(name, dims, rows), tensor("c", [1, 2, 2], [0.1, 0.2, 0.3, 0.4]), tensor("p", [1, 6], [0.1] * 6),
        tensor("one", [1], [1], "q"), tensor("first", [1], [1], "q"), tensor("last", [1], [2], "q"),
        tensor("w", [1, 8, 2], [0.1] * 16), tensor("r", [1, 8, 2], [0.2] * 16),
        value(11, "x", [3, 2, 2]), value(12, "y", [3, 1, 2, 2]))


def floats(name, *dims):
    count = 1
    for d in dims:
        count *= d
    return tensor(name, dims, [0.5] * count)


def lengths(numbers, kind="i"):
    return cell(inputs=("x", "w", "r", "", "l"), extra=[tensor("l", [len(numbers)], numbers, kind)])


MODELS = {
    "rnn": lambda: cell("RNN", 1),
    "gru": lambda: cell("GRU", 3),
    "gru-linear": lambda: cell("GRU", 3, linear_before_reset=1),
    "lstm": cell,
    "one-bias": biased,
    "one-bias-gru": lambda: biased("GRU", 3),
    "zero-bias": lambda: biased(producer="pytorch"),
    "two-biases": lambda: biased(states=0.1),
    "two-biases-gru": lambda: biased("GRU", 3, linear_before_reset=1),
    "symbolic": lambda: cell(x=("batch", "time", 2), y=("batch", "time", 1, 2), layout=1),
    "steps-first": lambda: cell(x=("time", "batch", 2)),
    "trained-state": lambda: started("h0", [1, 1, 2], [0.1, 0.2]),
    "zero-state": lambda: started("h0", [1, 1, 2], [0.0, 0.0]),
    "named-state": lambda: started("cell.start", [1, 1, 2], [0.0, 0.0]),
    "unknown-activation": lambda: cell(activations=["Sigmoid", "Mish", "Tanh"]),
    "few-activations": lambda: cell(activations=["Sigmoid", "Tanh"]),
    "no-number": lambda: cell(activations=["Sigmoid", "ScaledTanh", "Tanh"], activation_alpha=[1.5]),
    "many-numbers": lambda: cell(activations=["Sigmoid", "Elu", "Tanh"], activation_alpha=[1.5, 0.5]),
    "wrong-activations": lambda: cell(activations=1),
    "direction": lambda: cell(direction="backward"),
    "layout": lambda: cell(layout=2),
    "clip": lambda: cell(clip=-1.0),
    "hidden-size": lambda: cell(hidden_size=3),
    "no-steps": lambda: cell(x=(0, 2, 2)),
    "many-steps": lambda: cell(x=(20000, 2, 2)),
    "matrix": lambda: cell(x=(3, 2)),
    "weight": lambda: cell(w=[1, 6, 2]),
    "recurrence": lambda: cell(r=[8, 2]),
    "bias": lambda: cell(inputs=("x", "w", "r", "b"), extra=[floats("b", 1, 8)]),
    "state": lambda: cell(inputs=("x", "w", "r", "", "", "h"), extra=[floats("h", 1, 3, 2)]),
    "peepholes": lambda: cell(inputs=("x", "w", "r", "", "", "", "", "p"), extra=[floats("p", 1, 4)]),
    "long": lambda: lengths([3, 4]),
    "float-lengths": lambda: lengths([3.0, 2.0], "f"),
    "unknown-attribute": lambda: cell("RNN", 1, linear_before_reset=1),
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(MODELS[sys.argv[1]]())
