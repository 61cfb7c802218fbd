"""Writes the small models of the import tests: models.py NAME FILE. Needs no
package: the few messages are put together by hand."""
import struct
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def num(field, n):
    return varint(field << 3) + varint(n)


def sub(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def attr(name, value):
    out = sub(1, name)
    if isinstance(value, int):
        return out + num(3, value) + num(20, 2)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + num(20, 1)
    if isinstance(value, str):
        return out + sub(4, value) + num(20, 3)
    if isinstance(value, bytes):
        return out + sub(6, value) + num(20, 5)
    if value and isinstance(value[0], float):
        return out + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + num(20, 6)
    if value and isinstance(value[0], str):
        return out + b"".join(sub(9, v) for v in value) + num(20, 8)
    return out + b"".join(num(8, v) for v in value) + num(20, 7)


def node(op, inputs, outputs, name="", devices=b"", domain="", notes=(), **attributes):
    """`notes`: pairs of the node's metadata."""
    out = b"".join(sub(1, i) for i in inputs) + b"".join(sub(2, o) for o in outputs)
    out += sub(3, name or outputs[0]) + sub(4, op) + (sub(7, domain) if domain else b"")
    return sub(1, out + b"".join(sub(5, attr(k, v)) for k, v in attributes.items())
               + b"".join(sub(9, sub(1, k) + sub(2, v)) for k, v in notes) + devices)


def graph(name, *parts):
    """A branch, as an attribute's value: nodes lie in fields of a graph."""
    return b"".join(parts) + sub(2, name)


def split(name, *dims):
    """A node's device configuration: (axis, shards...) of a tensor's dims."""
    cuts = b"".join(sub(4, num(1, axis) + b"".join(sub(2, num(3, n)) for n in shards)) for axis, *shards in dims)
    return sub(10, sub(1, "pair") + sub(2, sub(1, name) + cuts))


def tensor(name, dims, values, kind="f"):
    types = {"f": 1, "q": 7, "i": 6, "?": 9, "e": 10}
    raw = struct.pack("<%d%s" % (len(values), kind), *values)
    return sub(5, b"".join(num(1, d) for d in dims) + num(2, types[kind]) + sub(8, name) + sub(9, raw))


def value(field, name, dims, kind=1):
    shape = b"".join(sub(1, sub(2, d) if isinstance(d, str) else num(1, d)) for d in dims)
    return sub(field, sub(1, name) + sub(2, sub(1, num(1, kind) + sub(2, shape))))


def model(*parts, opset=17, producer="", domains=()):
    sets = b"".join(sub(8, sub(1, name) + num(2, version)) for name, version in (("", opset), *domains))
    return num(1, 8) + (sub(2, producer) if producer else b"") + sub(7, b"".join(parts) + sub(2, "g")) + sets


def mlp(fc1=b"", fc2=b"", **change):
    """Two layers; the second weight comes through a Transpose. `fc1`, `fc2`: of which devices."""
    first = [0.5] * 12
    return model(
        node("Gemm", ["x", "w1", "b1"], ["h"], "fc1", fc1, transB=1),
        node("Relu", ["h"], ["r"], "act"),
        node("Transpose", ["w2"], ["w2t"], "turn", perm=[1, 0]),
        node("MatMul", ["r", "w2t"], ["m"], "fc2", fc2),
        node("Add", ["m", "b2"], ["a"], "bias"),
        node("Mul", ["a", "scale"], ["s"], "scaled"),
        node("Add", ["s", "mask"], ["y"], "masked"),
        tensor("w1", [3, 4], first), tensor("b1", [3], [0.0] * 3),
        tensor("w2", [2, 3], [0.25] * 6), tensor("b2", [2], [1.0, 2.0]),
        tensor("scale", [1], [2.0]), tensor("mask", [2], [0.0, -1e9]),
        value(11, "x", ["batch", 4]), value(12, "y", ["batch", 2]), **change)


def sharded(**nodes):
    return mlp(**nodes) + sub(26, sub(1, "pair") + num(2, 2))


def stacked():
    """Layers of one kind in one initializer, as JAX's scan and vmap keep them, and the bias of a
    layer of one unit. `none`, `init` and `gain` are no parameters."""
    index = [tensor(name, [1], [n], "q") for name, n in (("zero", 0), ("one", 1), ("two", 2))]
    return model(
        node("Slice", ["w", "zero", "one", "zero"], ["w0"]), node("Squeeze", ["w0", "zero"], ["k0"]),
        node("Gemm", ["x", "k0", "none"], ["m0"]),
        node("Slice", ["b", "zero", "one", "zero"], ["b0"]), node("Squeeze", ["b0", "zero"], ["c0"]),
        node("Expand", ["c0", "like"], ["e0"]), node("Add", ["m0", "e0"], ["h0"]),
        node("Slice", ["w", "one", "two", "zero"], ["w1"]), node("Squeeze", ["w1", "zero"], ["k1"]),
        node("MatMul", ["h0", "k1"], ["m1"]),
        node("Split", ["p"], ["p0", "p1"], axis=0, num_outputs=2),
        node("Mul", ["m1", "p0"], ["s1"]), node("Add", ["s1", "p1"], ["h1"]),
        node("Expand", ["init", "like"], ["state"]), node("MatMul", ["state", "r"], ["s"]),
        node("Concat", ["h1", "z"], ["hz"], axis=1), node("Add", ["hz", "hz"], ["twice"]),
        node("MatMul", ["twice", "head"], ["o"]), node("Add", ["o", "unit"], ["u"]),
        node("Add", ["u", "s"], ["v"]), node("Mul", ["v", "gain"], ["y"]),
        tensor("w", [2, 4, 4], [0.1] * 32), tensor("b", [1, 4], [0.5] * 4), tensor("none", [], [0.0]),
        tensor("p", [2, 4], [0.5] * 8), tensor("init", [1, 4], [0.0] * 4), tensor("r", [4, 1], [0.5] * 4),
        tensor("head", [6, 1], [0.3] * 6), tensor("unit", [1], [0.2]), tensor("gain", [1], [0.7]),
        tensor("like", [2], [1, 4], "q"), *index,
        value(11, "x", ["n", 4]), value(11, "z", ["n", 2]), value(12, "y", ["n", 1]), opset=18)


def norms():
    """Weights that are divided by their norm, as PyTorch's weight_norm and normalize have it, a gain
    that is; `fixed` is divided by what no initializer is in, and divides `b`."""
    return model(
        node("ReduceL2", ["v", "one"], ["length"], keepdims=1), node("Div", ["v", "length"], ["unit"]),
        node("Mul", ["unit", "g"], ["w"]), node("MatMul", ["x", "w"], ["h"]),
        node("ReduceL2", ["c", "one"], ["size"], keepdims=1), node("Clip", ["size", "least"], ["some"]),
        node("Expand", ["some", "like"], ["wide"]), node("Div", ["c", "wide"], ["classes"]),
        node("MatMul", ["h", "classes"], ["o"]),
        node("ReduceL2", ["v2", "one"], ["length2"], keepdims=0), node("Div", ["gain", "length2"], ["scale"]),
        node("Mul", ["v2", "scale"], ["w2"]), node("MatMul", ["o", "w2"], ["p"]),
        node("ReduceL2", ["p", "one"], ["own"], keepdims=1), node("Div", ["fixed", "own"], ["f"]),
        node("Div", ["p", "b"], ["q"]), node("Add", ["f", "q"], ["y"]),
        *[tensor(name, [4, 4], [0.1 * i + 0.1 for i in range(16)]) for name in ("v", "c", "v2")],
        tensor("g", [4, 1], [0.5, 0.6, 0.7, 0.8]), tensor("gain", [4], [0.5, 0.6, 0.7, 0.8]),
        tensor("fixed", [4], [0.5, 0.6, 0.7, 0.8]), tensor("b", [4], [0.5, 0.6, 0.7, 0.8]),
        tensor("least", [], [1e-12]), tensor("one", [1], [1], "q"), tensor("like", [2], [4, 4], "q"),
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4]), opset=18)


def inputs():
    """Two inputs whose exporter named the one batch anew at each, and a table of rows of their own."""
    return model(
        node("Concat", ["x", "z"], ["y"], axis=1), node("Neg", ["t"], ["u"]),
        value(11, "x", ["unk__1", 4]), value(11, "z", ["unk__2", 2]), value(11, "t", ["rows", 2]),
        value(12, "y", ["unk__3", 6]), value(12, "u", ["rows", 2]))


def shapes():
    """Flattens by arithmetic on Shape, as exporters write it."""
    return model(
        node("Shape", ["x"], ["all"]),
        node("Gather", ["all", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Concat", ["n1", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"], "flat"),
        tensor("zero", [], [0], "q"), tensor("axes", [1], [0], "q"), tensor("rest", [1], [-1], "q"),
        value(11, "x", ["batch", 2, 3]), value(12, "y", ["batch", 6]))


def guarded():
    """Functions whose formula has a branch or a root that is infinite where another one counts: of
    numbers up to 1e20, and of rows of which some are zeros, or -inf."""
    large = [("Elu", {}), ("Selu", {}), ("Celu", {"alpha": 0.1}), ("Gelu", {"approximate": "tanh"}), ("Gelu", {}),
             ("Softplus", {}), ("Mish", {}), ("HardSwish", {}), ("HardSigmoid", {}), ("Softsign", {}),
             ("Sigmoid", {}), ("Tanh", {}), ("Shrink", {}), ("ThresholdedRelu", {}), ("LogSoftmax", {})]
    rows = [("LpNormalization", {"p": 1}), ("LpNormalization", {}), ("MeanVarianceNormalization", {"axes": [1]})]
    pools = [("LpPool", {"kernel_shape": [2], "strides": [2]}), ("GlobalLpPool", {"p": 3})]
    parts = [(op, "a", more) for op, more in large] + [(op, "z", more) for op, more in rows] \
        + [(op, "z3", more) for op, more in pools]
    return model(
        node("Mul", ["x", "w"], ["xw"], "scaled"), node("Mul", ["xw", "sizes"], ["a"]),
        node("Constant", [], ["sizes"], value_floats=[1.0, 1e3, 1e5, 1e20]),
        node("Slice", ["x", "zero", "one", "one"], ["first"]), node("Greater", ["first", "half"], ["isAny"]),
        node("Cast", ["isAny"], ["any"], to=1), node("Mul", ["xw", "any"], ["z"]),
        node("Unsqueeze", ["z", "one"], ["z3"]), node("Log", ["any"], ["mask"]), node("Add", ["z", "mask"], ["l"]),
        node("ReduceL2", ["z", "one"], ["length"], "length", keepdims=1),
        node("ReduceLogSumExp", ["l", "one"], ["lse"], "lse", keepdims=1), node("Exp", ["lse"], ["elements"]),
        *[node(op, [x], [f"p{i}"], f"{op}{i}", **more) for i, (op, x, more) in enumerate(parts)],
        *[node("Flatten", [f"p{i}"], [f"q{i}"]) for i in range(len(parts))],
        node("Concat", [f"q{i}" for i in range(len(parts))] + ["length", "elements"], ["y"], axis=1),
        tensor("w", [4], [0.5, 0.6, 0.7, 0.8]), tensor("half", [], [0.0]),
        tensor("zero", [1], [0], "q"), tensor("one", [1], [1], "q"),
        value(11, "x", ["n", 4]), value(12, "y", ["n", 77]), opset=20)


def corners():
    """Activations of two pieces, where both meet: all are of x times zeros."""
    parts = [("LeakyRelu", ["a"], {"alpha": 0.25}), ("PRelu", ["a", "slope"], {}), ("Elu", ["a"], {"alpha": 0.5}),
             ("Relu", ["a"], {})]
    return model(
        *[step for i, (op, inputs, more) in enumerate(parts) for step in (
            node("Mul", ["x", f"w{i}"], [f"a{i}"]),
            node(op, [f"a{i}" if name == "a" else name for name in inputs], [f"y{i}"], f"{op}{i}", **more))],
        node("Sum", [f"y{i}" for i in range(len(parts))], ["y"]),
        node("Constant", [], ["slope"], value_floats=[0.25]),
        *[tensor(f"w{i}", [1], [0.0]) for i in range(len(parts))],
        value(11, "x", ["n", 1]), value(12, "y", ["n", 1]))


def unary(op, *extra, inputs=("x",), opset=17, **attributes):
    return model(node(op, inputs, ["y"], "n", **attributes), *extra,
                 value(11, "x", [2, 3]), value(12, "y", [2, 3]), opset=opset)


MODELS = {
    "fixed-batch": lambda: model(node("Relu", ["x"], ["h"], "act"),
                                 node("MatMul", ["h", "w"], ["y"], "fc"), tensor("w", [4, 2], [0.5] * 8),
                                 value(11, "x", [6, 4]), value(12, "y", [6, 2])),
    "mlp": mlp,
    "shapes": shapes,
    "inputs": inputs,
    "stacked": stacked,
    "norms": norms,
    "guarded": guarded,
    "corners": corners,
    "bound": lambda: model(node("Clip", ["x", "low"], ["y"], "clip"), tensor("low", [], [1.0]),
                           value(11, "x", ["n", 1]), value(12, "y", ["n", 1])),
    "sharded": lambda: sharded(fc1=split("w1", (-1, 2)), fc2=split("h", (1, 2))),
    "sharded-many": lambda: sharded(fc1=split("w1", (1, 4))),
    "sharded-axis": lambda: sharded(fc1=split("w1", (2, 2))),
    "sharded-parts": lambda: sharded(fc1=split("w1", (0, 2, 1))),
    "sharded-twice": lambda: sharded(fc1=split("w1", (0, 3)), fc2=split("w1", (1, 2))),
    "conv": lambda: model(
        node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["c", "g", "b", "mean", "var"], ["y"], "bn"),
        tensor("w", [2, 1, 3, 3], [0.1] * 18), tensor("b", [2], [0.0] * 2), tensor("g", [2], [1.0] * 2),
        tensor("mean", [2], [0.0] * 2), tensor("var", [2], [1.0] * 2),
        value(11, "x", ["n", 1, 8, 8]), value(12, "y", ["n", 2, 4, 4])),
    "bind": lambda: model(
        node("Reshape", ["x", "shape"], ["y"], "r"),
        value(11, "x", [2, 3]), value(11, "shape", [1], 7), value(12, "y", [6])),
    "unknown-op": lambda: unary("Frobnicate"),
    "refused-op": lambda: unary("NonZero"),
    "refused-loop": lambda: unary("Loop"),
    "unknown-attribute": lambda: unary("Relu", slope=2),
    "wrong-attribute": lambda: unary("LeakyRelu", alpha="much"),
    "missing-input": lambda: unary("Add"),
    "undefined": lambda: unary("Add", inputs=("x", "nowhere")),
    "cycle": lambda: unary("Add", inputs=("x", "y")),
    "bad-axis": lambda: unary("Softmax", axis=5),
    "bad-shapes": lambda: unary("Add", tensor("t", [4], [0.0] * 4), inputs=("x", "t")),
    "old-opset": lambda: unary("Relu", opset=0),
    "short-weights": lambda: unary("Add", tensor("t", [5], [0.0] * 4), inputs=("x", "t")),
    "huge-weights": lambda: unary("Add", tensor("t", [1 << 40, 1 << 40], [0.0]), inputs=("x", "t")),
    "negative-dim": lambda: unary("Add", tensor("t", [-3, 0], []), inputs=("x", "t")),
    "twice": lambda: unary("Add", tensor("t", [3], [0.0] * 3), tensor("t", [3], [1.0] * 3), inputs=("x", "t")),
    "twice-equal": lambda: unary("Add", tensor("t", [3], [0.5] * 3), tensor("t", [3], [0.5] * 3), inputs=("x", "t")),
    "fixed-reshape": lambda: model(
        node("Reshape", ["x", "s"], ["h"], "rows"), node("MatMul", ["h", "w"], ["m"], "fc"),
        node("Reshape", ["m", "t"], ["y"], "back"), tensor("w", [4, 2], [0.5] * 8),
        tensor("s", [2], [18, 4], "q"), tensor("t", [3], [6, 3, -1], "q"),
        value(11, "x", [6, 3, 4]), value(12, "y", [6, 3, 2])),
    "fixed-rows": lambda: model(
        node("Add", ["x", "t"], ["y"], "places"), tensor("t", [6, 4], [i / 24 for i in range(24)]),
        value(11, "x", [6, 4]), value(12, "y", [6, 4])),
    "fixed-turned": lambda: model(
        node("Transpose", ["x"], ["y"], "turn", perm=[1, 0]), value(11, "x", [6, 4]), value(12, "y", [6, 4])),
    "fixed-one": lambda: model(
        node("Concat", ["cls", "x"], ["y"], "join", axis=1), tensor("cls", [1, 1, 4], [0.1, 0.2, 0.3, 0.4]),
        value(11, "x", [1, 2, 4]), value(12, "y", [1, 3, 4])),
    "declared-size": lambda: model(
        node("Relu", ["x"], ["y"], "act"), value(11, "x", ["n", 3]), value(12, "y", ["n", 5])),
    "declared-rank": lambda: model(
        node("Relu", ["x"], ["y"], "act"), value(11, "x", ["n", 3]), value(12, "y", ["n", 3, "k"])),
    "declared-batch": lambda: model(
        node("Relu", ["x"], ["y"], "act"), value(11, "x", ["n", 3]), value(12, "y", [1, 3])),
    "unordered": lambda: model(
        node("Relu", ["h"], ["y"], "last"), node("Neg", ["x"], ["h"], "first"),
        value(11, "x", [2, 3]), value(12, "y", [2, 3])),
    "classifier": lambda: model(
        node("MatMul", ["x", "w"], ["p"], "scores"), node("ArgMax", ["p"], ["label"], "best", axis=1, keepdims=0),
        node("ZipMap", ["p"], ["map"], "zip", domain="ai.onnx.ml"), node("Neg", ["other"], ["z"], "unused"),
        tensor("w", [3, 2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        value(11, "x", ["n", 3]), value(11, "other", ["n", 3]), value(12, "label", ["n"], 7),
        value(12, "map", ["n", 2]), value(12, "p", ["n", 2]), domains=[("ai.onnx.ml", 3)]),
    "domain": lambda: unary("FusedThing", domain="com.microsoft"),
    "random": lambda: model(
        node("MatMul", ["x", "w"], ["m"], "fc"), node("RandomNormalLike", ["m"], ["r"], "noise"),
        node("Mul", ["r", "tenth"], ["e"]), node("Add", ["m", "e"], ["a"], "noisy"),
        node("Dropout", ["a", "ratio", "train"], ["y"], "drop"),
        tensor("w", [4, 4], [(7 * j % 11 - 5) / 10 for j in range(16)]), tensor("tenth", [], [0.1]),
        tensor("ratio", [], [0.25]), tensor("train", [], [True], "?"),
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4])),
    # Two masks of one tensor, and a third of ones, a number an example.
    "dropouts": lambda: model(
        node("MatMul", ["x", "w"], ["m"], "fc"), node("Dropout", ["m", "ratio"], ["d"], "drop1"),
        node("Dropout", ["m", "ratio"], ["e"], "drop2"), node("Sub", ["d", "e"], ["s"]),
        node("Shape", ["x"], ["all"]), node("Slice", ["all", "zero", "one"], ["n"]),
        node("Concat", ["n", "one"], ["form"], axis=0), node("Expand", ["unit", "form"], ["ones"]),
        node("Dropout", ["ones", "ratio"], ["path"], "drop3"), node("Mul", ["m", "path"], ["p"]),
        node("Add", ["s", "p"], ["y"]),
        tensor("w", [4, 4], [(7 * j % 11 - 5) / 10 for j in range(16)]), tensor("ratio", [], [0.5]),
        tensor("zero", [1], [0], "q"), tensor("one", [1], [1], "q"), tensor("unit", [1, 1], [1.0]),
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4])),
    "dropout-mask": lambda: model(
        node("MatMul", ["x", "w"], ["m"], "fc"), node("Dropout", ["m", "ratio"], ["d", "mask"], "drop"),
        node("Cast", ["mask"], ["kept"], to=1), node("Mul", ["m", "kept"], ["k"]), node("Add", ["d", "k"], ["y"]),
        tensor("w", [4, 4], [(7 * j % 11 - 5) / 10 for j in range(16)]), tensor("ratio", [], [0.5]),
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4])),
    # 600 updates on one element.
    "scatters": lambda: model(
        node("ScatterElements", ["x", "columns", "many"], ["a"], "add", axis=1, reduction="add"),
        node("ScatterND", ["a", "places", "few"], ["b"], "mul", reduction="mul"),
        node("ScatterElements", ["b", "columns", "many"], ["y"], "max", axis=1, reduction="max"),
        tensor("columns", [2, 600], [0] * 1200, "q"), tensor("many", [2, 600], [1.0] * 1200, "e"),
        tensor("places", [3, 2], [0, 1, 1, 1, 0, 1], "q"), tensor("few", [3], [0.5, 2.0, 3.0], "e"),
        value(11, "x", [2, 600], 10), value(12, "y", [2, 600], 10)),
    "lookups": lambda: model(
        node("MatMul", ["x", "w"], ["h"], "fc1"), node("Gather", ["h", "rows"], ["many"], "lookup", axis=1),
        node("MatMul", ["many", "v"], ["o"], "fc2"), node("ReduceMean", ["o"], ["y"], "mean", axes=[1], keepdims=0),
        tensor("w", [4, 4], [(7 * j % 11 - 5) / 10 for j in range(16)]),
        tensor("v", [4, 2], [(5 * j % 7 - 3) / 10 for j in range(8)]), tensor("rows", [600], [0] * 600, "q"),
        value(11, "x", ["n", 3, 4]), value(12, "y", ["n", 2])),
    "draws": lambda: model(
        node("RandomUniform", [], ["u"], "uniform", shape=[1000], low=-2.0, high=2.0),
        node("RandomNormal", [], ["n"], "normal", shape=[1000], mean=1.0, scale=3.0),
        node("Bernoulli", ["p"], ["b"], "coin"), node("Multinomial", ["l"], ["m"], "classes", sample_size=1000),
        tensor("p", [1000], [0.25] * 1000), tensor("l", [1, 3], [0.0, 0.6931472, -1e9]),
        node("Add", ["x", "x"], ["y"]), value(11, "x", [1]), value(12, "y", [1]),
        value(12, "u", [1000]), value(12, "n", [1000]), value(12, "b", [1000]), value(12, "m", [1, 1000], 6)),
    "outside": lambda: unary(
        "Add", sub(5, num(1, 3) + num(2, 1) + sub(8, "t") + num(14, 1)
                   + sub(13, sub(1, "location") + sub(2, "../secret"))), inputs=("x", "t")),
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(MODELS[sys.argv[1]]())
