"""Writes models as exporters leave them: exported.py NAME FILE. Needs no package."""
import sys

from models import model, node, num, sub, tensor, value


def layers(biases, names=(), weights=("w0", "w1", "w2")):
    """Three layers of 4 units; `biases`: what each adds. `names`: Identity nodes that give an
    initializer another name."""
    return model(
        *(node("Identity", [source], [name], "Identity_%d" % i) for i, (source, name) in enumerate(names)),
        *(part for i, bias in enumerate(biases) for part in (
            node("MatMul", ["h%d" % i if i else "x", weights[i]], ["m%d" % i], "fc%d" % i),
            node("Add", ["m%d" % i, bias], ["h%d" % (i + 1) if i < 2 else "y"], "bias%d" % i))),
        *(tensor("w%d" % i, [4, 4], [(7 * (i + 1) * j % 11 - 5) / 10 for j in range(16)]) for i in range(3)),
        tensor("l0.bias", [4], [0.0] * 4),
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4]))


def token(name, rows, padded=False):
    """A class token, repeated over the batch and put before the patches; a scale through Cast and Reshape."""
    return model(
        node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Concat", ["n", "minus"], ["to"], axis=0),
        node("Expand", [name, "to"], ["c"], "repeat"), node("Concat", ["c", "x"], ["t"], "join", axis=1),
        node("Concat", ["t", "pad"], ["p"], "filled", axis=1) if padded else
        node("Identity", ["t"], ["p"], "same"),
        node("Cast", ["scale"], ["wide"], "widen", to=1), node("Reshape", ["wide", "flat"], ["r"], "form"),
        node("Mul", ["p", "r"], ["q"], "scaled"),
        node("Where", ["mask", "q", "other"], ["y"], "choose"),
        tensor(name, [1, 1, 4], rows), tensor("scale", [2, 2], [1.5, 0.5, 1.0, 2.0]),
        tensor("zero", [1], [0], "q"), tensor("minus", [2], [1, 4], "q"), tensor("flat", [1], [4], "q"),
        tensor("pad", [1, 1, 4], [0.0] * 4), tensor("other", [1, 1, 4], [1.0, 2.0, 3.0, 4.0]),
        value(11, "mask", [1, 1, 4], 9),
        value(11, "x", ["batch", 2, 4]), value(12, "y", ["batch", 4 if padded else 3, 4]))


def keras():
    """As tf2onnx leaves a model of two convolutions, a batch norm and a layer without its zero bias."""
    return model(
        node("Conv", ["x", "k"], ["c"], "conv/Conv2D", kernel_shape=[1, 1]),
        node("Mul", ["c", "g"], ["b"], "bn/batchnorm/mul_1"), node("Add", ["b", "s"], ["d"], "bn/batchnorm/add_1"),
        node("Conv", ["d", "k2", "kb"], ["e"], "conv2/Conv2D", kernel_shape=[1, 1]),
        node("Flatten", ["e"], ["f"], "flat"),
        node("MatMul", ["f", "w"], ["m"], "dense/MatMul"), node("Add", ["m", "v"], ["o"], "dense/BiasAdd"),
        node("MatMul", ["o", "w2"], ["y"], "dense_1/MatMul"),
        tensor("k", [2, 1, 1, 1], [0.5, 0.25]), tensor("g", [2, 1, 1], [0.5, 0.75]),
        tensor("s", [2, 1, 1], [0.1, 0.2]), tensor("k2", [2, 2, 1, 1], [0.1, 0.2, 0.3, 0.4]),
        tensor("kb", [2], [0.1, 0.3]), tensor("w", [8, 3], [i / 24 for i in range(24)]),
        tensor("v", [3], [0.1, 0.2, 0.3]), tensor("w2", [3, 2], [i / 6 for i in range(6)]),
        value(11, "x", ["n", 1, 2, 2]), value(12, "y", ["n", 2]), producer="tf2onnx")


def rescaled():
    """As tf2onnx leaves a Rescaling layer by channels, a batch norm of the data, a variable, and tables."""
    return model(
        node("Mul", ["x", "r"], ["m"], "rescaling/mul"), node("Add", ["m", "o"], ["a"], "rescaling/add"),
        node("Transpose", ["a"], ["t"], "turned", perm=[1, 0]), node("Transpose", ["t"], ["b"], "back", perm=[1, 0]),
        node("Mul", ["b", "g"], ["c"], "bn/batchnorm/mul_1"), node("Add", ["b", "own/ReadVariableOp:0"], ["d"], "own/add"),
        node("Add", ["c", "d"], ["e"], "sum"), node("MatMul", ["e", "w"], ["f"], "dense/MatMul"),
        node("Add", ["f", "v"], ["h"], "dense/BiasAdd"), node("Mul", ["h", "s"], ["i"], "scaled/mul"),
        node("MatMul", ["i", "mel/Const_1:0"], ["j"], "mel/MatMul"), node("Add", ["j", "pos/add/y:0"], ["y"], "pos/add"),
        tensor("mel/Const_1:0", [2, 2], [0.1, 0.3, 0.2, 0.4]),
        *(tensor(name, [2], [0.25 + i, 0.5]) for i, name in enumerate(("r", "o", "g", "own/ReadVariableOp:0", "v", "s", "pos/add/y:0"))),
        tensor("w", [2, 2], [0.1, 0.2, 0.3, 0.4]), value(11, "x", ["n", 2]), value(12, "y", ["n", 2]), producer="tf2onnx")


def torch(training=False):
    """As PyTorch's second exporter leaves two convolutions, of which the first had a batch norm and the
    second a bias of zeros, a group norm, and an upsampling. `training`: another batch norm is left."""
    rule = "pkg.onnxscript.rewriter.rule_name"
    return model(
        node("Conv", ["x", "a.weight"], ["c"], "node_Conv_22", kernel_shape=[1, 1],
             notes=[("namespace", "conv"), (rule, "RemoveOptionalBiasFromConv, FuseBatchNormIntoConv")]),
        node("Conv", ["c", "b.weight"], ["d"], "node_conv2d_1", kernel_shape=[1, 1],
             notes=[(rule, "RemoveOptionalBiasFromConv")]),
        node("Reshape", ["d", "to"], ["r"], "split"),
        node("InstanceNormalization", ["r", "val_8", "val_11"], ["n"], "norm"),
        node("Reshape", ["n", "back"], ["g"], "join"),
        node("Mul", ["g", "val_21"], ["h"], "scaled"), node("Add", ["h", "val_23"], ["i"], "shifted"),
        node("Resize", ["i", "", "val_24"], ["j"], "up", mode="nearest"),
        node("Clip", ["j", "low", "high"], ["k"], "bounded"),
        *([node("BatchNormalization", ["k", "bn.weight", "bn.bias", "bn.mean", "bn.var"], ["y", "m", "v"], "bn",
                training_mode=1),
           tensor("bn.weight", [2], [1.0, 1.0]), tensor("bn.bias", [2], [0.0, 0.5]),
           tensor("bn.mean", [2], [0.0, 0.0]), tensor("bn.var", [2], [1.0, 1.0])] if training else
          [node("Identity", ["k"], ["y"], "out")]),
        tensor("a.weight", [2, 1, 1, 1], [0.5, 0.25]), tensor("b.weight", [2, 2, 1, 1], [0.1, 0.2, 0.3, 0.4]),
        tensor("to", [3], [0, 2, -1], "q"), tensor("back", [4], [0, 2, 2, 2], "q"),
        tensor("val_8", [2], [1.0, 1.0]), tensor("val_11", [2], [0.0, 0.0]),
        tensor("val_21", [2, 1, 1], [0.5, 0.75]), tensor("val_23", [2, 1, 1], [0.1, 0.2]),
        tensor("val_24", [4], [1.0, 1.0, 2.0, 2.0]), tensor("low", [], [0.0]), tensor("high", [], [6.0]),
        value(11, "x", ["n", 1, 2, 2]), value(12, "y", ["n", 2, 4, 4]), producer="pytorch")


def repeated():
    """As a class token and a table look where the exporter repeated them for each of four examples."""
    return model(
        node("Concat", ["expand", "x"], ["t"], "join", axis=1), node("Add", ["t", "table"], ["s"], "placed"),
        node("Add", ["s", "scale"], ["y"], "scaled"),
        tensor("expand", [4, 1, 2], [0.5, 0.25] * 4), tensor("table", [4, 3, 2], [i % 6 / 6 for i in range(24)]),
        tensor("scale", [4, 3, 2], [i / 24 for i in range(24)]),
        value(11, "x", [4, 2, 2]), value(12, "y", [4, 3, 2]), producer="pytorch")


MODELS = {
    "tied-named": lambda: layers(["l0.bias", "l1.bias", "l2.bias"],
                                 [("l0.bias", "l1.bias"), ("l0.bias", "l2.bias"), ("w0", "w0.again")],
                                 ["w0", "w0.again", "w2"]),
    "repeated": repeated,
    "torch": torch,
    "torch-training": lambda: torch(training=True),
    "tied-nameless": lambda: layers(["l0.bias"] * 3),
    "token": lambda: token("cls", [0.1, 0.2, 0.3, 0.4]),
    "padding": lambda: token("class_token", [0.0] * 4, padded=True),
    "keras": keras,
    "rescaled": rescaled,
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(MODELS[sys.argv[1]]())
