"""Writes models with the notes of PyTorch's exporter (dynamo=True): source_models.py NAME FILE."""
import sys

from models import model, node, num, sub, tensor, value

FOLDED = "pkg.onnxscript.optimizer.folded_from"
SIGNATURE_KEY = "pkg.torch.export.ExportedProgram.graph_signature"
SIGNATURE = """
# inputs
p_a_n_weight: PARAMETER target='a.n.weight'
p_b_n_weight: PARAMETER target='b.n.weight'
p_b_n_bias: PARAMETER target='b.n.bias'
p_a_w: PARAMETER target='a.w'
p_b_w: PARAMETER target='b.w'
p_g: PARAMETER target='g'
p_v: PARAMETER target='v'
p_lam: PARAMETER target='lam'
b_inv: BUFFER target='inv' persistent=False
b_pe: BUFFER target='pe' persistent=True
x: USER_INPUT

# outputs
y: USER_OUTPUT
"""


def note(key, text):
    return sub(1, key) + sub(2, text)


def reads(*names):
    return [("pkg.torch.onnx.fx_node",
             "%%o : [num_users=1] = call_function[target=f](args = (%%h, %s), kwargs = {})"
             % ", ".join("%p_" + name for name in names))]


def folded(name, dims, values, *origins):
    """An initializer that the exporter computed from others."""
    return tensor(name, dims, values) + sub(13, sub(1, name) + sub(4, note(FOLDED, str(list(origins)))))


def write(told):
    """Two layers that began alike; a table of sines, a buffer and literals beside the parameters."""
    of = reads if told else lambda *names: []
    return model(
        node("Add", ["x", "pe"], ["x0"], "positions"), node("Mul", ["x0", "cos"], ["x1"], "turned"),
        node("MatMul", ["x1", "val_1"], ["m0"], "fc0", notes=of("a_w")),
        node("Mul", ["m0", "a.n.weight"], ["h0"], "scale0", notes=of("a_n_weight")),
        node("Mul", ["h0", "a.n.weight"], ["h1"], "again0", notes=of("a_n_weight")),
        node("MatMul", ["h1", "val_1"], ["m1"], "fc1", notes=of("b_w", "b_n_bias")),
        node("Mul", ["m1", "a.n.weight"], ["h2"], "scale1", notes=of("b_n_weight", "b_n_bias")),
        node("Mul", ["h2", "a.n.weight"], ["h3"], "again1", notes=of("b_n_weight")),
        node("Mul", ["h3", "lam"], ["h4"], "lambda", notes=of("lam")),
        node("Mul", ["h4", "val_9"], ["h5"], "halved"),
        node("MatMul", ["h5", "mul"], ["y"], "normed", notes=of("g", "v")),
        tensor("pe", [4], [0.1, 0.2, 0.3, 0.4]), tensor("a.n.weight", [4], [1.0] * 4),
        tensor("lam", [], [0.75]), tensor("val_9", [], [0.5]),
        folded("cos", [4], [1.0, 0.5, 0.25, 0.125], "inv", "arange", "val_7"),
        folded("val_1", [4, 4], [(7 * j % 11 - 5) / 10 for j in range(16)], "a.w"),
        folded("mul", [4, 4], [(5 * j % 13 - 6) / 10 for j in range(16)], "g", "v", "div"),
        sub(16, note(SIGNATURE_KEY, SIGNATURE)) if told else b"",
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4]), producer="pytorch")


def calls(*operands, target="f"):
    """As `reads`, of any operands: numbers of the source stand among them."""
    return [("pkg.torch.onnx.fx_node", "%%o : [num_users=1] = call_function[target=%s](args = (%s), kwargs = {})"
             % (target, ", ".join(operands)))]


def numbers():
    """Numbers that the exporter made one with parameters which began as equal to them: a factor, a bound and
    the other side of a choice; group norm's own scale; and 1 - lam, which came to the value of lam."""
    norm = calls("%h2", "2", "%p_b_w", "%p_b_n_bias", target="torch.ops.aten.group_norm.default")
    return model(
        node("Mul", ["x", "lam"], ["h0"], "scale", notes=calls("%x", "%p_lam")),
        node("Mul", ["h0", "lam"], ["h1"], "half", notes=calls("%h0", "0.5")),
        node("Clip", ["h1", "lam"], ["h2"], "bound", notes=calls("%h1", "0.5")),
        node("Reshape", ["h2", "groups"], ["h3"], "group", notes=norm),
        node("InstanceNormalization", ["h3", "a.n.weight", "b.n.bias"], ["h4"], "norm", notes=norm),
        node("Reshape", ["h4", "whole"], ["h5"], "ungroup", notes=norm),
        node("Add", ["h5", "b.n.bias"], ["h6"], "shift", notes=calls("%h5", "%p_b_n_bias")),
        node("Where", ["x_on", "h6", "b.n.bias"], ["h7"], "choice", notes=calls("%x_on", "%h6", "%zeros_3")),
        node("Cast", ["x"], ["x_on"], to=9),
        node("Mul", ["h7", "a.n.weight"], ["h8"], "factor", notes=calls("%h7", "%p_a_n_weight")),
        node("Mul", ["h8", "lam"], ["y"], "rest", notes=calls("%h8", "%sub_2")),
        tensor("lam", [], [0.5]), tensor("a.n.weight", [2], [1.0] * 2), tensor("b.n.bias", [2], [0.0] * 2),
        tensor("groups", [3], [0, 2, -1], "q"), tensor("whole", [3], [-1, 2, 2], "q"),
        sub(16, note(SIGNATURE_KEY, SIGNATURE)),
        value(11, "x", ["n", 2, 2]), value(12, "y", ["n", 2, 2]), producer="pytorch")


def padding(told):
    """A table one row of which lookups leave as it is (padding_idx), beside one without."""
    of = calls if told else lambda *operands, target: []
    target = "torch.ops.aten.embedding.default"
    rows = [(7 * j % 11 - 5) / 10 for j in range(12)]
    return model(
        node("Cast", ["x"], ["tokens"], to=7),
        node("Gather", ["a.w", "tokens"], ["h0"], "look", notes=of("%p_a_w", "%x", "1", target=target)),
        node("Gather", ["b.w", "tokens"], ["h1"], "look1", notes=of("%p_b_w", "%x", target=target)),
        node("Add", ["h0", "h1"], ["y"], "sum"),
        tensor("a.w", [4, 3], rows[:3] + [0.0] * 3 + rows[6:]), tensor("b.w", [4, 3], rows),
        sub(16, note(SIGNATURE_KEY, SIGNATURE)) if told else b"",
        value(11, "x", ["n", 2]), value(12, "y", ["n", 2, 3]), producer="pytorch")


def constant(name, dims, values):
    """A Constant node of integers."""
    return sub(1, sub(2, name) + sub(3, name) + sub(4, "Constant")
               + sub(5, sub(1, "value") + tensor("", dims, values, "q") + num(20, 4)))


def parts(at):
    """x.split([1, 3]) as PyTorch's exporter writes it, unoptimized, of a weight; `at`: the second part's number."""
    return model(
        constant("sizes", [2], [1, 3]), constant("zero", [], [0]), constant("one", [], [at]),
        node("SplitToSequence", ["w", "sizes"], ["list"], "split", axis=0, keepdims=1),
        node("SequenceAt", ["list", "zero"], ["row"], "first"),
        node("SequenceAt", ["list", "one"], ["rest"], "second"),
        node("Mul", ["x", "row"], ["h"], "scale"), node("MatMul", ["h", "rest"], ["y"], "fc"),
        tensor("w", [4, 3], [(7 * j % 11 - 5) / 10 for j in range(12)]),
        sub(16, note(SIGNATURE_KEY, "p_w: PARAMETER target='w'\n")),
        value(11, "x", ["n", 3]), value(12, "y", ["n", 3]), producer="pytorch")


def equal_parts(kind):
    """x.chunk(2, -1), and what comes back by a sequence of single rows: of `kind` x.split(1) or x.unbind()."""
    return model(
        constant("two", [], [2]), constant("zero", [], [0]), constant("one", [], [1]),
        node("SplitToSequence", ["x", "two"], ["halves"], "chunk", axis=-1),
        node("SequenceAt", ["halves", "zero"], ["a"], "first"), node("SequenceAt", ["halves", "one"], ["b"], "second"),
        node("SplitToSequence", ["w"], ["rows"], "rows", axis=0, keepdims=int(kind == "rows")),
        node("SequenceAt", ["rows", "one"], ["row"], "row"),
        node("Mul", ["a", "row"], ["h"], "scale"), node("Concat", ["h", "b"], ["y"], "joined", axis=1),
        tensor("w", [3, 2], [1, 2, 3, 5, 7, 9]),
        value(11, "x", ["n", 3]), value(12, "y", ["n", 3]), producer="pytorch")


def head(turned, told, other="onnx::MatMul_9"):
    """A table that is the head, too. `turned`: what the head multiplies by is another initializer, or
    comes by a node that transposes; or the table is read in another form, too."""
    rows = [(7 * j % 11 - 5) / 10 for j in range(12)]
    columns = [rows[3 * j + i] for i in range(3) for j in range(4)]
    name = "val_9" if told else other
    table = "unsqueeze_1" if turned == "form" else "e.weight"
    return model(
        node("Transpose", ["e.weight"], [name], "turn", perm=[1, 0]) if turned == "node" else b"",
        node("Abs", ["x"], ["x0"]), node("Mul", ["x0", "up"], ["x1"]), node("Cast", ["x1"], ["tokens"], to=7),
        node("GatherND", [table, "at"], ["h0"], "look") if turned == "form" else
        node("Gather", [table, "tokens"], ["h0"], "look"),
        node("MatMul", ["h0", name], ["y"], "head"),
        tensor("up", [], [5.75]), b"" if turned == "node" else
        folded(name, [3, 4], columns, "e.weight") if told else tensor(name, [3, 4], columns),
        folded(table, [1, 4, 3], rows, "e.weight") + tensor("at", [2, 2], [0, 1, 0, 3], "q") if turned == "form" else
        tensor(table, [4, 3], rows),
        sub(16, note(SIGNATURE_KEY, "p_e_weight: PARAMETER target='e.weight'\n")) if told else b"",
        value(11, "x", ["n", 2]), value(12, "y", [2, 4] if turned == "form" else ["n", 2, 4]),
        producer="pytorch" if told else "")


def units():
    """Two matrices, one of which the exporter computed: each began as ones on the diagonal."""
    return model(
        node("MatMul", ["x", "a.weight"], ["h"], "first"), node("MatMul", ["h", "onnx::MatMul_9"], ["y"], "second"),
        tensor("a.weight", [2, 3], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
        tensor("onnx::MatMul_9", [3, 2], [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        value(11, "x", ["n", 2]), value(12, "y", ["n", 2]))


def weights():
    """As examples/export writes it: initializers are parameters wherever they are read, nodes are none."""
    table = sub(1, "value") + sub(5, tensor("", [4], [0.1, 0.2, 0.3, 0.4])[2:]) + num(20, 4)
    return model(
        sub(1, sub(2, "table") + sub(4, "Constant") + sub(5, table)),
        node("Exp", ["scale"], ["e"], "exp"), node("Sigmoid", ["gain"], ["s"], "gate"),
        node("Add", ["x", "table"], ["h"], "placed"), node("Mul", ["h", "e"], ["i"], "scaled"),
        node("Mul", ["i", "s"], ["y"], "gated"),
        tensor("scale", [], [0.5]), tensor("gain", [4], [0.0] * 4), sub(16, note("dist.initializers", "weights")),
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4]))


def quantized(detach):
    """Codes of a table in the place of what is nearest to them: z + (q - z).detach(). `detach`: the node is there, as
    without optimization. What numbers alone come of, and what nothing trained leads to, is no matter."""
    noted = [("pkg.torch.onnx.fx_node", "%d : [num_users=1] = call_function[target=torch.ops.aten.detach.default](args = (%s,), kwargs = {})")]
    return model(
        node("Identity", ["x"], ["same"], "data", notes=noted),
        node("MatMul", ["same", "e"], ["z"], "encode"), node("ArgMax", ["z"], ["at"], "nearest", axis=1, keepdims=0),
        node("Identity", ["at"], ["codes"], "numbers", notes=noted),
        node("Gather", ["table", "codes"], ["q"], "look"), node("Sub", ["q", "z"], ["d"], "apart"),
        *([node("Identity", ["d"], ["s"], "stop", notes=noted)] if detach else []),
        node("Add", ["z", "s" if detach else "d"], ["p"], "through"), node("MatMul", ["p", "w"], ["y"], "decode"),
        tensor("e", [3, 4], [(7 * j % 11 - 5) / 10 for j in range(12)]),
        tensor("table", [4, 4], [(5 * j % 13 - 6) / 10 for j in range(16)]),
        tensor("w", [4, 2], [(3 * j % 7 - 3) / 10 for j in range(8)]),
        value(11, "x", ["n", 3]), value(12, "y", ["n", 2]), producer="pytorch")


MODELS = {
    "detached": lambda: quantized(True),
    "straight-through": lambda: quantized(False),
    "weights": weights,
    "told": lambda: write(True),
    "silent": lambda: write(False),
    "numbers": numbers,
    "parts": lambda: parts(-1),
    "no-part": lambda: parts(2),
    "rows": lambda: equal_parts("rows"),
    "unbound": lambda: equal_parts("unbound"),
    "padding": lambda: padding(True),
    "silent-padding": lambda: padding(False),
    "head": lambda: head("initializer", False),
    "units": units,
    "node": lambda: head("node", False),
    "keras-head": lambda: head("initializer", False, "model/head/transpose:0"),
    "told-head": lambda: head("initializer", True),
    "forms": lambda: head("form", True),
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(MODELS[sys.argv[1]]())
