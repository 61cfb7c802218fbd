"""Writes models whose weights are in odd places: weight_models.py NAME FILE."""
import struct
import sys

from models import graph, model, node, num, sub, tensor, value


def numbers(count, by=8):
    return [(7 * i % 11 - 5) / by for i in range(count)]


def floats(dims, values, name=""):
    return b"".join(num(1, d) for d in dims) + num(2, 1) + (sub(8, name) if name else b"") + sub(9, struct.pack("<%df" % len(values), *values))


def constant(name, message):
    return sub(1, sub(2, name) + sub(3, name) + sub(4, "Constant")
               + sub(5, sub(1, "value") + sub(5, message) + num(20, 4)))


def outside(dims, location):
    """Elements in another file."""
    return (b"".join(num(1, d) for d in dims) + num(2, 1) + num(14, 1)
            + sub(13, sub(1, "location") + sub(2, location)))


def sparse(name, dims, values, indices, rank=0):
    """`rank`: how many numbers an index has; 0: one, along all dims."""
    places = num(1, len(values)) + (num(1, rank) if rank else b"") + num(2, 7) + sub(9, struct.pack("<%dq" % len(indices), *indices))
    return sub(15, sub(1, floats([len(values)], values, name)) + sub(2, places) + b"".join(num(3, d) for d in dims))


X, Y = value(11, "x", ["n", 4]), value(12, "y", ["n", 3])


def branches(then, other, scale=8):
    """A condition that is known; both branches are a product, of `then` and of `other`."""
    def branch(weight, out, by):
        return graph(out, node("MatMul", ["x", weight], ["t"]), tensor(weight, [4, 3], numbers(12, by)), value(12, "t", ["n", 3]))
    return model(node("If", ["c"], ["h"], "choose", then_branch=branch(then, "a", 8), else_branch=branch(other, "b", scale)),
                 node("Add", ["h", "b"], ["y"]), tensor("c", [], [True], "?"), tensor("b", [3], [0.5, 0.25, 0.125]), X, Y)


def layers(*outputs):
    """Three recurrent layers of one bias that give their last state only."""
    nodes = [node("LSTM", ["x", "W%d" % i, "R%d" % i, "B"], ["", "h%d" % i], "l%d" % i, hidden_size=3) for i in (1, 2, 3)]
    return model(*nodes, node("Add", ["h1", "h2"], ["s"]), node("Add", ["s", "h3"], ["y"]),
                 *[tensor("%s%d" % (n, i), [1, 12, k], numbers(12 * k, 8 + i)) for i in (1, 2, 3) for n, k in (("W", 4), ("R", 3))],
                 tensor("B", [1, 24], [0.0] * 24), value(11, "x", [5, "n", 4]), value(12, "y", [1, "n", 3]))


def product(weight, *more):
    return model(weight, node("MatMul", ["x", "w"], ["h"], "fc"), *(more or [node("Identity", ["h"], ["y"])]), X, Y)


BIAS = [node("Add", ["h", "b"], ["y"]), tensor("b", [3], [0.5, 0.25, 0.125])]
MODELS = {
    "branches": lambda: branches("u", "v"),
    "branches-same": lambda: branches("u", "u", 16),
    "layers": layers,
    "constant": lambda: product(constant("w", floats([4, 3], numbers(12)))),
    "constant-bias": lambda: product(constant("w", floats([4, 3], numbers(12))), *BIAS),
    "constant-outside": lambda: product(constant("w", outside([4, 3], "w.bin")), *BIAS),
    "sparse": lambda: product(sparse("w", [4, 3], [1.0, 2.0], [1, 5]), *BIAS),
    "sparse-rows": lambda: product(sparse("w", [4, 3], [1.0, 2.0], [0, 1, 1, 2], 2), *BIAS),
    "sparse-far": lambda: product(sparse("w", [4, 3], [1.0, 2.0], [1, 12]), *BIAS),
    "sparse-odd": lambda: product(sparse("w", [4, 3], [1.0, 2.0], [1, 5, 7]), *BIAS),
    "sparse-large": lambda: product(sparse("w", [1 << 20, 1 << 20], [1.0], [1]), *BIAS),
    # The elements of the weights that models begin with.
    "w.bin": lambda: struct.pack("<12f", *numbers(12)),
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as out:
        out.write(MODELS[sys.argv[1]]())
