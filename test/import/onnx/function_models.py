"""Writes models that define ops of their own: function_models.py NAME FILE, or
function_models.py cases FOLDER for those with the results they must have. Needs
no package."""
import os
import sys

from cases import make, some, write
from models import graph, model, node, num, sub, tensor, value

FLOAT, INT, GRAPH = 1, 2, 5


def refer(name, to, kind):
    """An attribute of a function's node that is one of the call."""
    return sub(5, sub(1, name) + sub(21, to) + num(20, kind))


def call(op, inputs, outputs, name="", overload="", **attributes):
    more = sub(8, overload) if overload else b""
    return node(op, inputs, outputs, name, domain="loc", devices=more, **attributes)


def function(name, inputs, outputs, *nodes, attributes=(), standards=b"", opset=17, overload=""):
    """`standards`: fields of attributes with a standard value."""
    out = sub(1, name) + b"".join(sub(4, i) for i in inputs) + b"".join(sub(5, o) for o in outputs)
    out += b"".join(sub(6, a) for a in attributes) + standards
    # A graph has its nodes in field 1.
    out += b"".join(bytes([7 << 3 | 2]) + n[1:] for n in nodes)
    out += sub(9, sub(1, "") + num(2, opset)) + sub(9, sub(1, "loc") + num(2, 1)) + sub(10, "loc")
    return sub(25, out + (sub(13, overload) if overload else b""))


def constant(name, dims, values, kind="f"):
    # A tensor is in field 5 of a graph, as it is of an attribute.
    return node("Constant", [], [name], devices=sub(5, sub(1, "value") + tensor("", dims, values, kind) + num(20, 4)))


# A slope with a standard value, and one that is the op's own where it is not given.
LEAK = function("Leak", ["a"], ["b"], node("LeakyRelu", ["a"], ["b"], devices=refer("alpha", "slope", FLOAT)),
                standards=sub(11, sub(1, "slope") + bytes([2 << 3 | 5]) + b"\0\0\0\x3f" + num(20, FLOAT)))
OWN = function("Own", ["a"], ["b"], node("LeakyRelu", ["a"], ["b"], devices=refer("alpha", "slope", FLOAT)),
               attributes=["slope"])


def cases():
    """Name, nodes, functions, input, output."""
    x = some(2, 3)

    def leak(slope):
        return lambda v: v if v > 0 else slope * v

    def each(*steps):
        def element(i, j):
            v = x[i, j]
            for step in steps:
                v = step(v)
            return v
        return make([2, 3], element)

    yield "attributes", [call("Leak", ["x"], ["p"]), call("Leak", ["p"], ["q"], slope=0.25),
                         call("Own", ["q"], ["r"], slope=0.125), call("Own", ["r"], ["y"])], [LEAK, OWN], x, each(
        leak(0.5), leak(0.25), leak(0.125), leak(0.01))
    # By a name that the calling function has for it, two calls deep; names within are anyone's.
    yield "nested", [call("Outer", ["x"], ["p"], steep=0.25), call("Outer", ["p"], ["y"], steep=0.5)], [
        LEAK, function("Outer", ["a"], ["y"], node("Leak", ["a"], ["p"], domain="loc", devices=refer("slope", "steep", FLOAT)),
                       node("Neg", ["p"], ["y"]), attributes=["steep"])], x, each(
        leak(0.25), lambda v: -v, leak(0.5), lambda v: -v)
    # An input that is not given, an output that is an input, one that is given twice, and one not asked for.
    yield "forms", [call("Forms", ["x", "", "most"], ["p", "q", "r", ""]), node("Add", ["p", "q"], ["s"]),
                    node("Sub", ["s", "r"], ["y"]), tensor("most", [], [0.5])], [
        function("Forms", ["a", "low", "high"], ["a", "b", "b", "c"], node("Clip", ["a", "low", "high"], ["b"]),
                 node("Neg", ["a"], ["c"]))], x, each(lambda v: v + min(v, 0.5) - min(v, 0.5))
    # Branches in a function that read its values, and calls in branches.
    yield "branches", [
        tensor("yes", [1], [True], "?"),
        node("If", ["yes"], ["y"], then_branch=graph("t", call("Choice", ["x"], ["p"]), node("Neg", ["p"], ["q"]), value(12, "q", [2, 3])),
             else_branch=graph("e", call("Choice", ["x"], ["p"]), value(12, "p", [2, 3])))], [
        function("Choice", ["a"], ["y"], constant("no", [1], [False], "?"), node("Neg", ["a"], ["q"]),
                 node("If", ["no"], ["y"], then_branch=graph("t", node("Exp", ["q"], ["p"]), value(12, "p", [2, 3])),
                      else_branch=graph("e", call("Leak", ["q"], ["p"]), value(12, "p", [2, 3])))), LEAK], x, each(
        lambda v: -v, leak(0.5), lambda v: -v)
    # A branch that is the call's.
    yield "given_branch", [
        call("Pick", ["x"], ["y"], body=graph("b", node("Neg", ["x"], ["p"]), value(12, "p", [2, 3])))], [
        function("Pick", ["a"], ["y"], constant("yes", [1], [True], "?"), node("Exp", ["a"], ["x"]),
                 node("If", ["yes"], ["y"], devices=refer("then_branch", "body", GRAPH),
                      else_branch=graph("e", node("Abs", ["x"], ["p"]), value(12, "p", [2, 3]))),
                 attributes=["body"])], x, each(lambda v: -v)
    yield "overloads", [call("Form", ["x"], ["p"]), call("Form", ["p"], ["y"], overload="twice")], [
        function("Form", ["a"], ["b"], node("Neg", ["a"], ["b"])),
        function("Form", ["a"], ["b"], node("Add", ["a", "a"], ["b"]), overload="twice")], x, each(lambda v: -2 * v)


def wrong(name):
    """A model that must be refused, or that is trained."""
    x, y = value(11, "x", ["n", 3]), value(12, "y", ["n", 3])
    one = [call("F", ["x"], ["y"], name="layer")]
    if name == "recursive":
        functions = [function("F", ["a"], ["b"], call("G", ["a"], ["b"])), function("G", ["a"], ["b"], call("F", ["a"], ["b"]))]
    elif name == "unknown-op":
        functions = [function("F", ["a"], ["b"], call("G", ["a"], ["b"], name="inner")),
                     function("G", ["a"], ["b"], node("NonZero", ["a"], ["b"], name="find"))]
    elif name == "attribute":
        one = [call("F", ["x"], ["y"], name="layer", axis=1)]
        functions = [function("F", ["a"], ["b"], node("Neg", ["a"], ["b"]))]
    elif name == "count":
        functions = [function("F", [], ["b"], constant("b", [1], [0.0]))]
    elif name == "nothing":
        functions = [function("F", ["a"], ["b"], node("Add", ["a", "c"], ["b"]))]
    elif name == "twice":
        functions = [function("F", ["a"], ["b"], node("Neg", ["a"], ["b"]))] * 2
    elif name == "opset":
        functions = [function("F", ["a"], ["b"], node("Softmax", ["a"], ["b"]), opset=12)]
    elif name == "many":
        functions = [function("F%s" % (i or ""), ["a"], ["b"], call("F%d" % (i + 1), ["a"], ["c"]), call("F%d" % (i + 1), ["c"], ["b"]))
                     for i in range(30)] + [function("F30", ["a"], ["b"], node("Neg", ["a"], ["b"]))]
    else:
        assert name == "trained"
        # One table for both calls, a weight for each, and an opset that changes nothing.
        one = [call("F", ["x", "w1"], ["h"], name="first"), call("F", ["h", "w2"], ["y"], name="second"),
               tensor("w1", [3, 3], [0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5]), tensor("w2", [3, 3], [1.0, 0, 0, 0, 1, 0, 0, 0, 1])]
        functions = [function("F", ["a", "w"], ["b"], constant("scale", [3], [1.0, 2.0, 4.0]), node("MatMul", ["a", "w"], ["m"]),
                              node("Mul", ["m", "scale"], ["b"]), opset=16)]
    return model(*one, x, y, domains=[("loc", 1)]) + b"".join(functions)


if __name__ == "__main__":
    if sys.argv[1] != "cases":
        write(sys.argv[2], wrong(sys.argv[1]))
    else:
        for name, nodes, functions, x, y in cases():
            case = os.path.join(sys.argv[2], name)
            os.makedirs(case + "/test_data_set_0", exist_ok=True)
            write(case + "/model.onnx", model(*nodes, value(11, "x", x.dims), value(12, "y", y.dims), domains=[("loc", 1)])
                  + b"".join(functions))
            write(case + "/test_data_set_0/input_0.pb", x.bytes("x"))
            write(case + "/test_data_set_0/output_0.pb", y.bytes("y"))
