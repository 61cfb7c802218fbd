"""Writes the small models of these tests: tensorflow_models.py CASE PATH. Needs no package: messages and checkpoints are
put together by hand. PATH is a folder for a SavedModel, and a file for a frozen graph."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "onnx"))
from models import num, sub, varint  # noqa: E402

FLOAT, INT, STRING, BOOL, LONG, RESOURCE = 1, 3, 7, 10, 9, 20


def floats(values):
    return b"".join(struct.pack("<f", v) for v in values)


def shape(dims):
    return b"".join(sub(2, num(1, d)) for d in dims)


def tensor(dtype, dims, values):
    out = num(1, dtype) + sub(2, shape(dims))
    if dtype == STRING:
        return out + b"".join(sub(8, v) for v in values)
    if dtype == FLOAT:
        return out + sub(4, floats(values))
    if dtype == BOOL:
        return out + b"".join(num(11, v) for v in values)
    return out + b"".join(num(10 if dtype == LONG else 7, v) for v in values)


def attr(value):
    if isinstance(value, tuple):  # (kind, bytes or number)
        kind, of = value
        fields = {"type": 6, "shape": 7, "tensor": 8, "func": 10}
        return num(6, of) if kind == "type" else sub(fields[kind], sub(1, of) if kind == "func" else of)
    if isinstance(value, bool):
        return num(5, value)
    if isinstance(value, int):
        return num(3, value)
    if isinstance(value, float):
        return varint(4 << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        return sub(2, value)
    return sub(1, b"".join(num(3, v) for v in value))


def node(name, op, *inputs, **attributes):
    return (sub(1, name) + sub(2, op) + b"".join(sub(3, i) for i in inputs)
            + b"".join(sub(5, sub(1, k) + sub(2, attr(v))) for k, v in attributes.items()))


def const(name, dtype, dims, values):
    return node(name, "Const", dtype=("type", dtype), value=("tensor", tensor(dtype, dims, values)))


def function(name, inputs, results, *nodes):
    """`results`: name -> what gives it."""
    signature = sub(1, name) + b"".join(sub(2, sub(1, i)) for i in inputs) + b"".join(sub(3, sub(1, r)) for r in results)
    return sub(1, signature) + b"".join(sub(3, n) for n in nodes) + b"".join(
        sub(4, sub(1, k) + sub(2, v)) for k, v in results.items())


def graph(nodes, functions=()):
    return b"".join(sub(1, n) for n in nodes) + sub(2, b"".join(sub(1, f) for f in functions))


def port(key, name, dims=None, dtype=FLOAT):
    of = shape(dims) if dims is not None else num(3, 1)
    return sub(1, key) + sub(2, sub(1, name) + num(2, dtype) + sub(3, of))


def signature(name, inputs, outputs):
    return sub(5, sub(1, name) + sub(2, b"".join(sub(1, i) for i in inputs) + b"".join(sub(2, o) for o in outputs)))


def saved(graph_def, signatures, saver="", objects=b""):
    meta = sub(1, sub(4, "serve") + sub(5, "2.21.0")) + sub(2, graph_def)
    meta += sub(3, sub(3, saver)) if saver else b""
    return num(1, 1) + sub(2, meta + b"".join(signatures) + sub(7, objects))


# A checkpoint: a table of one block of entries, and the bytes of all tensors.

def crc(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def block(entries):
    out = b"".join(varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in entries)
    return out + struct.pack("<II", 0, 1)


def write_checkpoint(folder, tensors):
    """`tensors`: key -> (dims, values), of floats."""
    os.makedirs(os.path.join(folder, "variables"), exist_ok=True)
    entries, data = [(b"", num(1, 1))], b""
    for key, (dims, values) in sorted(tensors.items()):
        raw = floats(values)
        entry = num(1, FLOAT) + sub(2, shape(dims)) + num(4, len(data)) + num(5, len(raw))
        entries.append((key.encode(), entry + varint(6 << 3 | 5) + struct.pack("<I", crc(raw))))
        data += raw
    file = b""

    def add(content):
        nonlocal file
        at = len(file)
        file += content + b"\0" + struct.pack("<I", crc(content + b"\0"))
        return varint(at) + varint(len(content))

    place = add(block(entries))
    meta = add(block([]))
    index = add(block([(b"~", place)]))
    footer = meta + index
    file += footer + bytes(40 - len(footer)) + struct.pack("<Q", 0xDB4775248B80FB57)
    for ending, content in ((".index", file), (".data-00000-of-00001", data)):
        with open(os.path.join(folder, "variables", "variables" + ending), "wb") as out:
            out.write(content)


KEY = "/.ATTRIBUTES/VARIABLE_VALUE"


def mlp(folder, bias=0.5):
    """As TensorFlow 2 saves it: x w + b twice, of which the second w is not trained, and a variable that nothing reads."""
    names = ["w1", "b1", "w2", "left"]
    handles = [node(n, "VarHandleOp", shared_name="net/" + n, dtype=("type", FLOAT)) for n in names]
    serve = function(
        "serve", ["x", "w1", "b1", "w2"], {"y": "out:output:0", "half": "halves:output:1"},
        node("r1", "ReadVariableOp", "w1"), node("rb", "ReadVariableOp", "b1"), node("r2", "ReadVariableOp", "w2"),
        node("m1", "MatMul", "x", "r1:value:0"), node("a1", "BiasAdd", "m1:product:0", "rb:value:0"),
        node("h", "Tanh", "a1:output:0"), node("m2", "MatMul", "h:y:0", "r2:value:0"),
        node("bad", "Assert", "x"), node("out", "Identity", "m2:product:0", "^bad"),
        const("axis", INT, [], [1]), node("halves", "Split", "axis:output:0", "out:output:0", num_split=2))
    restore = function(
        "restore", ["prefix", "h0", "h1", "h2", "h3"], {"done": "id:output:0"},
        const("names", STRING, [4], ["layers/0/w" + KEY, "layers/0/b" + KEY, "layers/1/w" + KEY, "left" + KEY]),
        const("slices", STRING, [4], [""] * 4), node("load", "RestoreV2", "prefix", "names:output:0", "slices:output:0"),
        *[node(f"i{i}", "Identity", f"load:tensors:{i}") for i in range(4)],
        *[node(f"s{i}", "AssignVariableOp", f"h{i}", f"i{i}:output:0") for i in range(4)],
        node("id", "Identity", "prefix"))
    nodes = handles + [
        node("in", "Placeholder", dtype=("type", FLOAT)), node("prefix", "Placeholder", dtype=("type", STRING)),
        node("call", "StatefulPartitionedCall", "in", "w1", "b1", "w2", f=("func", "serve")),
        node("load", "StatefulPartitionedCall", "prefix", *names, f=("func", "restore"))]

    def variable(name, trainable):
        return sub(7, (num(3, 1) if trainable else b"") + sub(6, name))

    def children(**of):
        return b"".join(sub(1, num(1, i) + sub(2, k)) for k, i in of.items())

    objects = b"".join(sub(1, o) for o in [
        children(layers=1, left=6), children(**{"0": 2, "1": 3}), children(w=4, b=5), children(w=7),
        variable("first/kernel", True), variable("first/bias", True), variable("left", True), variable("second/kernel", False)])
    signatures = [signature("serving_default", [port("x", "in:0", [-1, 3])],
                            [port("y", "call:0", [-1, 2]), port("half", "call:1", [-1, 1])]),
                  signature("logits", [port("x", "in:0", [-1, 3])], [port("y", "call:0", [-1, 2])])]
    write_checkpoint(folder, {"layers/0/w" + KEY: ([3, 4], [i / 8 - 0.7 for i in range(12)]),
                              "layers/0/b" + KEY: ([4], [bias, -0.5, 0.25, 0]),
                              "layers/1/w" + KEY: ([4, 2], [i / 4 - 1 for i in range(8)]), "left" + KEY: ([1], [7])})
    return saved(graph(nodes, [serve, restore]), signatures, "load", objects)


def frozen(_):
    """A convolution, batch norm by moving statistics, and a dense layer."""
    return graph([
        node("x", "Placeholder", dtype=("type", FLOAT), shape=("shape", shape([-1, 4, 4, 1]))),
        const("conv/kernel", FLOAT, [3, 3, 1, 2], [i / 9 - 1 for i in range(18)]), node("k", "Identity", "conv/kernel"),
        node("c", "Conv2D", "x", "k", strides=[1, 2, 2, 1], padding="SAME", data_format="NHWC"),
        *[const("bn/" + n, FLOAT, [2], v) for n, v in (
            ("gamma", [1, 2]), ("beta", [0, 1]), ("moving_mean", [0.5, 0.25]), ("moving_variance", [1, 4]))],
        node("n", "FusedBatchNormV3", "c", "bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance", is_training=False,
             epsilon=0.001), node("r", "Relu", "n:0"), node("p", "MaxPool", "r", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
                                                            padding="VALID"),
        const("flat", INT, [2], [-1, 2]), node("f", "Reshape", "p", "flat"),
        const("dense/MatMul/ReadVariableOp/resource", FLOAT, [2, 3], [1, 2, 3, 4, 5, 6]),
        node("dense/MatMul/ReadVariableOp", "Identity", "dense/MatMul/ReadVariableOp/resource"),
        node("dense/MatMul", "MatMul", "f", "dense/MatMul/ReadVariableOp"), node("y", "Softmax", "dense/MatMul"),
        # What converting a loop may leave: only an order mentions it, and its shape is not told.
        node("unused", "Placeholder", dtype=("type", FLOAT), shape=("shape", num(3, 1))), node("after", "NoOp", "^unused")])


def values(_):
    """Numbers alone: what the import computes of them is what TensorFlow does."""
    i9 = const("x", INT, [3, 3], range(9))

    def ints(name, *v):
        return const(name, INT, [len(v)], v)

    body = function("body", ["i", "list"], {"j": "j:z:0", "out": "set:output_handle:0"},
                    const("one", INT, [], [1]), node("j", "AddV2", "i", "one:output:0"), node("sq", "Mul", "i", "i"),
                    node("set", "TensorListSetItem", "list", "i", "sq:z:0"))
    cond = function("cond", ["i", "list"], {"on": "less:z:0"},
                    const("five", INT, [], [5]), node("less", "Less", "i", "five:output:0"))
    then, other = (function(name, ["v"], {"r": f"{op}:y:0"}, node(op, op, "v")) for name, op in (
        ("then", "Neg"), ("else", "Square")))
    nodes = [
        i9, ints("b", 0, 2, 1), ints("e", 0, 0, 0), ints("s", 1, -1, 1),
        # x[..., newaxis, ::-2][1:] and x[-1, :0:-1]
        ints("b1", 1, 0, 0, 0), ints("e1", 0, 0, 0, 0), ints("s1", 1, 1, 1, -2),
        node("y0", "StridedSlice", "x", "b1", "e1", "s1", end_mask=9, begin_mask=8, ellipsis_mask=2, new_axis_mask=4),
        ints("b2", -1, 0), ints("e2", 0, 0), ints("s2", 1, -1),
        node("y1", "StridedSlice", "x", "b2", "e2", "s2", begin_mask=2, shrink_axis_mask=1),
        ints("minus", -7, 7), ints("three", 3, -3), node("y2", "FloorDiv", "minus", "three"),
        node("y3", "FloorMod", "minus", "three"),
        const("n", INT, [], [5]), ints("none"), const("zero", INT, [], [0]),
        node("list", "TensorListReserve", "none", "n", element_dtype=("type", INT)),
        node("loop", "StatelessWhile", "zero", "list", cond=("func", "cond"), body=("func", "body")),
        node("y4", "TensorListStack", "loop:1", "none", element_dtype=("type", INT)),
        const("yes", BOOL, [], [1]), node("y5", "If", "yes", "three", then_branch=("func", "then"), else_branch=("func", "else")),
        const("depth", INT, [], [3]), const("on", INT, [], [1]), ints("at", 2, -1), node("y6", "OneHot", "at", "depth", "on", "zero", axis=-1),
        ints("two", 2), node("y7", "Sum", "x", "zero"), node("both", "Pack", "at", "two2", axis=1), ints("two2", 2, 2),
        node("parts", "Unpack", "both", num=2, axis=1), node("y8", "SquaredDifference", "parts:0", "parts:1"),
        const("half", FLOAT, [4], [0.5, 1.5, -2.5, 3.5]), node("y9", "Cast", "rounded", DstT=("type", INT)),
        node("y10", "Roll", "x", "one", "none0"), ints("one", 1), ints("none0", 0),
        const("deep", INT, [1, 1, 1, 4], range(4)), node("y11", "DepthToSpace", "deep", block_size=2),
        node("y12", "SpaceToBatchND", "long", "two", "edge"), const("long", INT, [1, 3], [5, 6, 7]), const("edge", INT, [1, 2], [0, 1]),
        node("y13", "BatchToSpaceND", "y12", "two", "edge"),
        node("rounded", "Round", "half"), node("z", "Placeholder", dtype=("type", FLOAT))]
    outs = [port(f"y{i}", f"y{i}:0") for i in range(14)]
    return saved(graph(nodes, [body, cond, then, other]), [signature("serving_default", [port("z", "z:0", [2])], outs)])


def one(*nodes, functions=(), out="y:0", dims=(2, 2), dtype=FLOAT):
    """A model of these nodes from `x` to `y`."""
    return saved(graph([node("x", "Placeholder", dtype=("type", dtype)), *nodes], functions),
                 [signature("serving_default", [port("x", "x:0", dims, dtype)], [port("y", out)])])


def calls(name, *called):
    """A function that calls others, one after the other."""
    nodes = [node(f"c{i}", "PartitionedCall", f"c{i - 1}:output:0" if i else "v", f=("func", f)) for i, f in enumerate(called)]
    return function(name, ["v"], {"r": f"c{len(called) - 1}:output:0"}, *nodes)


X = {"cond": ("func", "cond"), "body": ("func", "body")}
CASES = {
    "mlp": mlp, "mlp-other": lambda folder: mlp(folder, 0.75), "frozen": frozen, "values": values,
    "unknown": lambda _: one(node("y", "Fft9", "x")),
    "dead": lambda _: one(node("z", "Fft9", "x"), node("y", "Neg", "x", "^z")),
    "cycle": lambda _: one(node("y", "Add", "x", "z"), node("z", "Neg", "y")),
    "missing": lambda _: one(node("y", "Neg", "nowhere")),
    "few": lambda _: one(node("y", "MatMul", "x")),
    "result": lambda _: one(node("z", "Neg", "x"), node("y", "Neg", "z:3")),
    "text": lambda _: one(const("t", STRING, [], ["a"]), node("y", "AddV2", "x", "t")),
    "strings": lambda _: one(node("y", "Identity", "x"), dtype=STRING),
    "rank": lambda _: one(node("y", "Neg", "x"), dims=None),
    "open": lambda _: one(node("y", "Neg", "x"), dims=[-1, -1]),
    "inner": lambda _: one(const("w", FLOAT, [3, 2], range(6)), node("y", "MatMul", "x", "w")),
    "deep": lambda _: one(node("y", "f0", "x"), functions=[calls("f0", "f0")]),
    "double": lambda _: one(node("y", "f0", "x"), functions=[calls(f"f{i}", f"f{i + 1}", f"f{i + 1}") for i in range(30)]
                            + [function("f30", ["v"], {"r": "n:y:0"}, node("n", "Identity", "v"))]),
    "nofunction": lambda _: one(node("y", "PartitionedCall", "x", f=("func", "gone"))),
    "rounds": lambda _: one(node("y", "While", "x", **X), dims=[], functions=[
        function("cond", ["v"], {"r": "g:z:0"}, const("t", FLOAT, [], [9]), node("g", "Less", "v", "t:output:0")),
        function("body", ["v"], {"r": "n:y:0"}, node("n", "Exp", "v"))]),
    "forever": lambda _: one(node("y", "While", "x", **X), dims=[], functions=[
        function("cond", ["v"], {"r": "t:output:0"}, const("t", BOOL, [], [1])),
        function("body", ["v"], {"r": "v"})]),
    "assigns": lambda _: one(node("v", "VarHandleOp", shared_name="count"), node("y", "f", "x", "v"), functions=[
        function("f", ["x", "v"], {"r": "n:y:0"}, node("n", "Neg", "x"), node("a", "AssignAddVariableOp", "v", "x"))]),
    "novalue": lambda _: one(node("v", "VarHandleOp", shared_name="w"), node("y", "ReadVariableOp", "v")),
    "random": lambda _: one(const("s", INT, [2], [1, 2]), node("r", "StatelessRandomUniform", "s", "s"), node("y", "Add", "x", "r")),
    "unsigned": lambda _: saved(graph([node("x", "Placeholder")]), []),
    "twice": lambda _: one(node("y", "Neg", "x"), node("y", "Abs", "x")),
    "shapes": lambda _: one(const("w", FLOAT, [1 << 20, 1 << 20, 2], []), node("y", "Add", "x", "w")),
}

if __name__ == "__main__":
    name, path = sys.argv[1:]
    content = CASES[name](path)
    if not path.endswith(".pb"):
        os.makedirs(path, exist_ok=True)
        path = os.path.join(path, "saved_model.pb")
    with open(path, "wb") as out:
        out.write(content)
