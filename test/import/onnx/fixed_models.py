"""Writes models that were exported at a batch of one size: fixed_models.py NAME FILE."""
import sys

from models import model, node, tensor, value

ONE, FOUR = 1, 4


def numbers(count):
    return [(7 * i % 11 - 5) / 8 for i in range(count)]


def heads(batch, steps=6, features=8, count=2):
    """Attention as PyTorch writes it out: steps first, batch and heads in one dim, then apart again."""
    size = features // count
    shapes = {"joined": [steps, batch * count, size], "apart": [batch, count, steps, size],
              "rows": [steps * batch, features], "back": [steps, batch, features], "flat": [batch, steps * features]}
    nodes = [node("Transpose", ["x"], ["turned"], perm=[1, 0, 2])]
    for n in "qkv":
        nodes += [node("MatMul", ["turned", "w" + n], [n]), node("Reshape", [n, "joined"], [n + "1"]),
                  node("Transpose", [n + "1"], [n + "2"], perm=[1, 0, 2]), node("Reshape", [n + "2", "apart"], [n + "3"])]
    nodes += [node("Transpose", ["k3"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["q3", "kt"], ["s"]),
              node("Softmax", ["s"], ["p"], "attend", axis=-1), node("MatMul", ["p", "v3"], ["a"]),
              node("Transpose", ["a"], ["a1"], perm=[2, 0, 1, 3]), node("Reshape", ["a1", "rows"], ["a2"]),
              node("MatMul", ["a2", "wo"], ["o"]), node("Reshape", ["o", "back"], ["o1"]),
              node("Transpose", ["o1"], ["o2"], perm=[1, 0, 2]), node("Reshape", ["o2", "flat"], ["f"]),
              node("MatMul", ["f", "w"], ["y"])]
    return model(*nodes, *[tensor(name, [len(s)], s, "q") for name, s in shapes.items()],
                 *[tensor("w" + n, [features, features], numbers(features * features)) for n in "qkvo"],
                 tensor("w", [steps * features, 3], numbers(steps * features * 3)),
                 value(11, "x", [batch, steps, features]), value(12, "y", [batch, 3]))


def one(*parts, steps=6):
    """At a batch of 1."""
    return model(*parts, value(11, "x", [1, steps, 3]), value(12, "y", [steps, 3]))


def recurrent(bias, *parts):
    """At a batch of 1, of a state `h0` that is made."""
    return model(*parts, node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
                 node("LSTM", ["t", "w", "r", bias, "", "h0", "h0"], ["", "h", ""], hidden_size=4),
                 node("Squeeze", ["h", "zero"], ["y"]), tensor("zero", [1], [0], "q"),
                 tensor("w", [1, 16, 8], numbers(128)), tensor("r", [1, 16, 4], numbers(64)),
                 value(11, "x", [1, 5, 8]), value(12, "y", [1, 4]))


def four(*parts):
    """At a batch of 4: `x` and what `made` holds, four of something."""
    return model(*parts, tensor("dims", [2], [4, 3], "q"), tensor("zero", [1], [0], "q"),
                 value(11, "x", [4, 3]), value(12, "y", [4, 3]))


def summed(*made):
    return four(*made, node("ReduceSum", ["made", "zero"], ["sum"], keepdims=0), node("Add", ["x", "sum"], ["y"]))


MODELS = {
    "heads1": lambda: heads(ONE),
    "heads4": lambda: heads(FOUR),
    # As many steps as examples, and a dim that is left over.
    "steps": lambda: model(
        node("Transpose", ["x"], ["t"], perm=[1, 0, 2]), node("Reshape", ["t", "s"], ["y1"], "split"),
        node("Reshape", ["y1", "b"], ["y2"], "back"), node("Transpose", ["y2"], ["y"], perm=[1, 0, 2]),
        tensor("s", [3], [4, 8, -1], "q"), tensor("b", [3], [4, 4, -1], "q"),
        value(11, "x", [4, 4, 8]), value(12, "y", [4, 4, 8])),
    # Four of something that is no batch, and of what meets it.
    "made-apart": lambda: summed(node("ConstantOfShape", ["dims"], ["o"]), node("Exp", ["o"], ["made"])),
    "expanded-apart": lambda: summed(node("Expand", ["row", "dims"], ["made"]), tensor("row", [1, 3], [1.0] * 3)),
    "drawn-apart": lambda: summed(node("RandomUniform", [], ["made"], shape=[4, 3])),
    "made-beside": lambda: model(
        node("ConstantOfShape", ["dims"], ["made"]), node("Concat", ["x", "made"], ["y"], axis=1),
        tensor("dims", [2], [4, 2], "q"), value(11, "x", [4, 3]), value(12, "y", [4, 5])),
    "state-beside": lambda: model(
        node("ConstantOfShape", ["dims"], ["made"]), node("Unsqueeze", ["x", "zero"], ["u"]),
        node("Concat", ["u", "made"], ["y"], axis=0), tensor("dims", [3], [2, 4, 3], "q"),
        tensor("zero", [1], [0], "q"), value(11, "x", [4, 3]), value(12, "y", [3, 4, 3])),
    # A shape of fewer dims than what is repeated; and one of a bias beside that of the state.
    "state-low": lambda: recurrent("", node("Expand", ["c", "s"], ["h0"]), tensor("c", [1, 1, 4], numbers(4)), tensor("s", [2], [1, 4], "q")),
    "state-and-bias": lambda: recurrent(
        "b", node("ConstantOfShape", ["s"], ["h0"]), node("ConstantOfShape", ["d"], ["b"]),
        tensor("s", [3], [1, 1, 4], "q"), tensor("d", [2], [1, 32], "q")),
    # The place before the first largest, or the last, of each example, as classifiers of sequences take it.
    "place-before": lambda: model(
        node("ArgMax", ["s"], ["a"], axis=1, keepdims=0), node("Sub", ["a", "one"], ["b"]), node("Mod", ["b", "five"], ["p"]),
        node("Add", ["begin", "p"], ["at"]), node("Reshape", ["x", "rows"], ["r"]), node("Gather", ["r", "at"], ["h"], axis=0),
        node("MatMul", ["h", "w"], ["y"]), tensor("one", [], [1], "q"), tensor("five", [], [5], "q"),
        tensor("begin", [4], [0, 5, 10, 15], "q"), tensor("rows", [2], [-1, 3], "q"), tensor("w", [3, 2], numbers(6)),
        value(11, "x", [4, 5, 3]), value(11, "s", [4, 5]), value(12, "y", [4, 2])),
    # Examples that meet where the file's model has one.
    "squeezed": lambda: one(node("Squeeze", ["x"], ["s"]), node("Softmax", ["s"], ["y"], "attend", axis=0)),
    "first": lambda: one(node("Gather", ["x", "zero"], ["y"], "pick", axis=0), tensor("zero", [], [0], "q")),
    "places": lambda: one(node("GatherND", ["x", "at"], ["y"], "pick"), tensor("at", [6, 2], [n // 2 * (n % 2) for n in range(12)], "q")),
    # As many rows as the new batch has examples.
    "rows": lambda: model(
        node("Sub", ["x", "t"], ["d"], "apart"), node("Identity", ["d"], ["y"]),
        tensor("t", [4, 3], numbers(12)), value(11, "x", [1, 3]), value(12, "y", [4, 3])),
    "made-one": lambda: model(
        node("Squeeze", ["x", "zero"], ["s"]), node("Clip", ["s", "", "high"], ["c"]),
        node("Mul", ["s", "keep"], ["k"]), node("Mul", ["c", "drop"], ["d"]), node("Add", ["k", "d"], ["a"]),
        node("Unsqueeze", ["a", "zero"], ["y"]),
        tensor("zero", [1], [0], "q"), tensor("high", [], [1.0]), tensor("keep", [3], [1.0, 1.0, 0.0]),
        tensor("drop", [3], [0.0, 0.0, 1.0]), value(11, "x", [1, 3]), value(12, "y", [1, 3])),
    "loss": lambda: model(
        node("MatMul", ["x", "w"], ["h"]), node("ReduceMean", ["h"], ["y"], "mean", keepdims=0),
        tensor("w", [3, 2], numbers(6)), value(11, "x", [1, 3]), value(12, "y", [])),
    "pairs": lambda: model(
        node("Transpose", ["x"], ["t"], perm=[1, 0]), node("MatMul", ["x", "t"], ["p"], "meet"),
        node("MatMul", ["p", "x"], ["y"]), value(11, "x", [4, 3]), value(12, "y", [4, 3])),
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as out:
        out.write(MODELS[sys.argv[1]]())
