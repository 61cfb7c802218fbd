"""Writes a model with the notes of PyTorch's exporter (dynamo=True): source_models.py told|silent FILE."""
import sys

from models import model, node, sub, tensor, value

FOLDED = "pkg.onnxscript.optimizer.folded_from"
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
        sub(16, note("pkg.torch.export.ExportedProgram.graph_signature", SIGNATURE)) if told else b"",
        value(11, "x", ["n", 4]), value(12, "y", ["n", 4]), producer="pytorch")


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(write(sys.argv[1] == "told"))
