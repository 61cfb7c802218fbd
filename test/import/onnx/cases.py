"""Writes small ONNX cases with the results they must have: cases.py FOLDER. Each is
a folder of model.onnx and test_data_set_0 with input_i.pb and output_i.pb. Needs
no package: what is expected is computed here, in plain loops."""
import itertools
import math
import os
import struct
import sys

from models import graph, model, node, num, sub, tensor, value

TYPES = {"f": 1, "i": 6, "q": 7, "?": 9, "e": 10, "d": 11}


class Array:
    """Numbers in row-major order; `kind` as in struct."""

    def __init__(self, dims, values, kind="f"):
        self.dims, self.values, self.kind = list(dims), list(values), kind
        assert len(self.values) == math.prod(self.dims)

    def __getitem__(self, index):
        at = 0
        for i, size in zip(index, self.dims):
            at = at * size + i
        return self.values[at]

    def bytes(self, name):
        raw = struct.pack("<%d%s" % (len(self.values), self.kind), *self.values)
        return b"".join(num(1, d) for d in self.dims) + num(2, TYPES[self.kind]) + sub(8, name) + sub(9, raw)


def make(dims, element, kind="f"):
    """element(i, j, ...) at every index."""
    return Array(dims, [element(*i) for i in itertools.product(*map(range, dims))], kind)


def some(*dims, kind="f"):
    """Numbers of no pattern, exact in every type."""
    count = math.prod(dims)
    numbers = [(i * 37 % 23 - 11) / (1 if kind in "iq" else 8) for i in range(count)]
    return Array(dims, map(int, numbers) if kind in "iq" else numbers, kind)


def softmax(row):
    top = max(row)
    if top == -math.inf:
        return [0.0] * len(row)
    terms = [math.exp(x - top) for x in row]
    return [t / sum(terms) for t in terms]


def attention(q, k, v, allowed):
    """[batch, heads, length, size]; `allowed(query, key)`."""
    size, keys = q.dims[3], k.dims[2]
    group = q.dims[1] // k.dims[1]

    def weights(b, h, i):
        return softmax([sum(q[b, h, i, d] * k[b, h // group, j, d] for d in range(size)) / math.sqrt(size)
                        if allowed(i, j) else -math.inf for j in range(keys)])
    rows = {at: weights(*at) for at in itertools.product(*map(range, q.dims[:3]))}
    return make(q.dims[:3] + v.dims[3:],
                lambda b, h, i, d: sum(rows[b, h, i][j] * v[b, h // group, j, d] for j in range(keys)), v.kind)


def cubic(x, a=-0.75):
    x = abs(x)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


def resized():
    """Resize by its definition: a place in the source, and a kernel around it."""
    image, places = some(1, 1, 4, 5), {
        "half_pixel": lambda o, s, i, n: (o + 0.5) / s - 0.5, "asymmetric": lambda o, s, i, n: o / s,
        "align_corners": lambda o, s, i, n: o * (i - 1) / (n - 1) if n > 1 else 0.0}
    kernels = {"linear": lambda x: max(0.0, 1 - abs(x)), "cubic": cubic}
    roundings = {"floor": math.floor, "ceil": math.ceil, "round_prefer_floor": lambda x: math.ceil(x - 0.5),
                 "round_prefer_ceil": lambda x: math.floor(x + 0.5)}

    def case(mode, coordinates, h, w, nearest="round_prefer_floor"):
        def taps(o, size, result):
            at = places[coordinates](o, result / size, size, result)
            if mode == "nearest":
                return [(min(max(roundings[nearest](at), 0), size - 1), 1.0)]
            return [(min(max(t, 0), size - 1), kernels[mode](at - t))
                    for t in range(math.floor(at) - 2, math.floor(at) + 4)]
        extra = {"nearest_mode": nearest} if mode == "nearest" else {}
        return "resize_%s_%s_%s_%d" % (mode, coordinates, nearest, h), 13, [
            node("Resize", ["image", "", "", "sizes"], ["z"], mode=mode,
                 coordinate_transformation_mode=coordinates, **extra)], {
            "image": image, "sizes": Array([4], [1, 1, h, w], "q")}, {
            "z": make([1, 1, h, w], lambda n, c, y, x: sum(
                image[n, c, i, j] * a * b for i, a in taps(y, 4, h) for j, b in taps(x, 5, w)))}
    for nearest in roundings:
        yield case("nearest", "half_pixel", 7, 3, nearest)
    yield case("nearest", "asymmetric", 8, 10, "floor")
    for mode in kernels:
        for coordinates in places:
            yield case(mode, coordinates, 6, 9)
    yield case("linear", "half_pixel", 2, 2)
    # What f32 gives: in f64, 3 / 0.6, 8 / 1.6 and 10 * 1.3 are just below a whole number. As ONNX Runtime 1.32.
    row = Array([1, 1, 1, 10], list(range(10)))
    for scale, chosen in ((0.6, [0, 1, 3, 5, 6, 8]), (1.3, [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9]),
                          (1.6, [0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8, 8, 9])):
        wanted = {"z": Array([1, 1, 1, len(chosen)], chosen)}
        scales = tensor("scales", [4], [1.0, 1.0, 1.0, scale])
        yield "resize_scale_%g" % scale, 13, [
            node("Resize", ["row", "", "scales"], ["z"], mode="nearest", coordinate_transformation_mode="asymmetric",
                 nearest_mode="floor"), scales], {"row": row}, wanted
        if scale > 1:
            yield "upsample_%g" % scale, 9, [node("Upsample", ["row", "scales"], ["z"], mode="nearest"), scales], {
                "row": row}, wanted


def narrow():
    """Of 16-bit floats: neither a count of 90000 nor a sum or a square of such numbers is one, but what is
    made of them is."""
    many, large = Array([1, 1, 300, 300], [1.0] * 90000, "e"), Array([1, 1, 2, 2], [300.0] * 4, "e")
    for name, x, wanted, written in (
            ("GlobalAveragePool", many, 1.0, {}), ("ReduceMean", many, 1.0, {"axes": [2, 3]}),
            ("ReduceL2", large, 600.0, {"axes": [2, 3]}), ("ReduceLogSum", many, math.log(90000), {"axes": [2, 3]}),
            ("GlobalLpPool", large, 600.0, {})):
        yield "narrow_" + name, 13, [node(name, ["x"], ["z"], **written)], {"x": x}, {
            "z": Array([1, 1, 1, 1], [wanted], "e")}
    yield "narrow_LpNormalization", 13, [node("LpNormalization", ["x"], ["z"])], {"x": large}, {
        "z": Array([1, 1, 2, 2], [0.5 ** 0.5] * 4, "e")}


def old_opsets(x):
    """Until opset 6 a second operand had its place by `axis`; shapes were attributes."""
    column = some(2)
    yield "add_old", 6, [node("Add", ["x", "c"], ["z"], broadcast=1, axis=0)], {"x": x, "c": column}, {
        "z": make([2, 3], lambda i, j: x[i, j] + column[i,])}
    yield "reshape_old", 4, [node("Reshape", ["x"], ["z"], shape=[3, -1])], {"x": x}, {
        "z": Array([3, 2], x.values)}
    yield "erfc", 13, [node("Erfc", ["x"], ["z"], domain="com.microsoft")], {"x": x}, {
        "z": make([2, 3], lambda i, j: 1 - math.erf(x[i, j]))}
    image, scale = some(2, 4, 3), some(4)
    def normal(n, c, i):
        part = [image[n, 2 * (c // 2) + d, k] for d in (0, 1) for k in range(3)]
        mean = sum(part) / 6
        return (image[n, c, i] - mean) / math.sqrt(sum((v - mean) ** 2 for v in part) / 6 + 1e-5) * scale[c,] + scale[c,]
    yield "group_norm_per_channel", 18, [
        node("GroupNormalization", ["image", "s", "s2"], ["z"], num_groups=2)], {
        "image": image, "s": scale, "s2": scale}, {"z": make([2, 4, 3], normal)}
    for known in (0, 1):
        branches = {"then_branch": graph("t", node("Neg", ["x"], ["then"]), value(12, "then", [2, 3])),
                    "else_branch": graph("e", node("Loop", ["x"], ["else"]), value(12, "else", [2, 3]))}
        if known:
            branches["then_branch"], branches["else_branch"] = branches["else_branch"], branches["then_branch"]
        yield "if_folded_%d" % known, 13, [
            node("Size", ["x"], ["n"]), node("Equal", ["n", "six"], ["is"]),
            node("Not", ["is"], ["other"]) if known else node("Identity", ["is"], ["other"]),
            node("If", ["other"], ["z"], **branches), tensor("six", [], [6], "q")], {"x": x}, {
            "z": make([2, 3], lambda i, j: -x[i, j])}


def cases():
    """Name, opset, nodes, inputs, outputs."""
    x, y = some(2, 3), some(3, 4)
    yield "matmul", 13, [node("MatMul", ["x", "y"], ["z"])], {"x": x, "y": y}, {
        "z": make([2, 4], lambda i, j: sum(x[i, d] * y[d, j] for d in range(3)))}
    for kind in "feidq":
        a, b = some(2, 3, kind=kind), some(3, kind=kind)
        yield "add_" + kind, 13, [node("Add", ["a", "b"], ["z"])], {"a": a, "b": b}, {
            "z": make([2, 3], lambda i, j: a[i, j] + b[j,], kind)}
    yield "where", 16, [node("Where", ["p", "x", "x2"], ["z"])], {
        "p": make([3], lambda j: j == 1, "?"), "x": x, "x2": some(2, 1)}, {
        "z": make([2, 3], lambda i, j: x[i, j] if j == 1 else some(2, 1)[i, 0])}
    for kind, empty in (("Sum", 0.0), ("Prod", 1.0), ("Max", -math.inf), ("L2", 0.0)):
        yield "reduce_nothing_" + kind.lower(), 13 if kind == "Sum" else 18, [
            node("Reduce" + kind, ["n", "axes"], ["z"])], {
            "n": Array([2, 0, 3], []), "axes": Array([1], [1], "q")}, {"z": Array([2, 1, 3], [empty] * 6)}
    # Negative pads leave out; what is repeated are the elements that stay.
    for mode, low, high, wanted in (("reflect", -4, 2, [5, 6, 5, 4]), ("edge", 2, -4, [1, 1, 1, 2]),
                                    ("wrap", 3, -2, [2, 3, 4, 1, 2, 3, 4]), ("wrap", -3, 2, [4, 5, 6, 4, 5])):
        yield f"pad_{mode}_{low}_{high}", 19, [
            node("Pad", ["x", "pads"], ["z"], mode=mode), tensor("pads", [4], [0, low, 0, high], "q")], {
            "x": make([1, 6], lambda i, j: j + 1)}, {"z": Array([1, len(wanted)], wanted)}
    # Close to 0 these keep all their digits.
    for kind, small in (("f", 9), ("d", 18)):
        x3 = Array([1, 3], [-(10.0 ** -small), -0.25, -40.0], kind)
        yield "expm1_" + kind, 17, [node("Elu", ["x"], ["e"]), node("Div", ["e", "x"], ["z"])], {"x": x3}, {
            "z": make([1, 3], lambda i, j: math.expm1(x3[0, j]) / x3[0, j], kind)}
        yield "log1p_" + kind, 17, [
            node("Softplus", ["x"], ["s"]), node("Exp", ["x"], ["e"]), node("Div", ["s", "e"], ["z"])], {"x": x3}, {
            "z": make([1, 3], lambda i, j: math.log1p(math.exp(x3[0, j])) / math.exp(x3[0, j]), kind)}
    # No input, none but a number, none with elements: nothing is a batch.
    yield "no_input", 13, [node("Neg", ["w"], ["z"]), tensor("w", [2], [1.0, -2.0])], {}, {"z": Array([2], [-1.0, 2.0])}
    yield "number", 13, [node("Neg", ["x"], ["z"])], {"x": Array([], [3.0])}, {"z": Array([], [-3.0])}
    yield "nothing", 13, [node("Neg", ["n"], ["z"])], {"n": Array([0, 3], [])}, {"z": Array([0, 3], [])}
    yield "shape", 15, [node("Shape", ["x"], ["z"])], {"x": x}, {"z": Array([2], [2, 3], "q")}
    yield "concat_nothing", 13, [node("Concat", ["n", "x"], ["z"], axis=1)], {"n": Array([2, 0], []), "x": x}, {"z": x}
    yield "gather", 13, [node("Gather", ["x", "at"], ["z"], axis=1)], {"x": x, "at": Array([2], [2, -3], "q")}, {
        "z": make([2, 2], lambda i, j: x[i, [2, 0][j]])}
    image, weight = some(1, 2, 4, 4), some(2, 1, 2, 2)
    yield "conv_grouped", 11, [node("Conv", ["image", "weight"], ["z"], group=2, strides=[2, 2])], {
        "image": image, "weight": weight}, {"z": make([1, 2, 2, 2], lambda n, c, i, j: sum(
            image[n, c, 2 * i + a, 2 * j + b] * weight[c, 0, a, b] for a in (0, 1) for b in (0, 1)))}
    yield "max_pool", 12, [node("MaxPool", ["image"], ["z"], kernel_shape=[2, 2], strides=[2, 2])], {"image": image}, {
        "z": make([1, 2, 2, 2], lambda n, c, i, j: max(
            image[n, c, 2 * i + a, 2 * j + b] for a in (0, 1) for b in (0, 1)))}

    yield from resized()
    yield from narrow()
    yield from old_opsets(x)

    q, k, v = some(1, 4, 3, 4), some(1, 2, 5, 4), some(1, 2, 5, 2)
    yield "attention_causal_grouped", 24, [node("Attention", ["q", "k", "v"], ["z"], is_causal=1)], {
        "q": q, "k": k, "v": v}, {"z": attention(q, k, v, lambda i, j: j <= i)}
    # The last query sees nothing, and gives zeros.
    mask = make([3, 5], lambda i, j: i < 2 and j != 3, "?")
    yield "attention_masked", 24, [node("Attention", ["q", "k", "v", "mask"], ["z"])], {
        "q": q, "k": k, "v": v, "mask": mask}, {"z": attention(q, k, v, lambda i, j: mask[i, j])}
    # The past comes first, and queries stand behind it.
    past, pastV = some(1, 2, 2, 4), some(1, 2, 2, 2)
    allK = make([1, 2, 7, 4], lambda b, h, j, d: past[b, h, j, d] if j < 2 else k[b, h, j - 2, d])
    allV = make([1, 2, 7, 2], lambda b, h, j, d: pastV[b, h, j, d] if j < 2 else v[b, h, j - 2, d])
    yield "attention_past", 24, [
        node("Attention", ["q", "k", "v", "", "past", "pastV"], ["z", "allK", "allV"], is_causal=1)], {
        "q": q, "k": k, "v": v, "past": past, "pastV": pastV}, {
        "z": attention(q, allK, allV, lambda i, j: j <= i + 2), "allK": allK, "allV": allV}
    yield "attention_window", 25, [node("Attention", ["q", "k", "v"], ["z"], left_window_size=1, right_window_size=0)], {
        "q": q, "k": k, "v": v}, {"z": attention(q, k, v, lambda i, j: i - 1 <= j <= i)}

    turn = some(1, 3, 8)
    cosine, sine = make([4, 2], lambda p, d: math.cos(p + d)), make([4, 2], lambda p, d: math.sin(p + d))
    at = [2, 0, 3]

    def turned(interleaved):
        def element(b, s, d):
            head, d = divmod(d, 4)
            pair, second = divmod(d, 2) if interleaved else (d % 2, d // 2)
            place = lambda half: turn[b, s, head * 4 + (2 * pair + half if interleaved else 2 * half + pair)]
            c, n = cosine[at[s], pair], sine[at[s], pair]
            return n * place(0) + c * place(1) if second else c * place(0) - n * place(1)
        return make([1, 3, 8], element)
    for interleaved in (0, 1):
        yield "rotary_embedding_%d" % interleaved, 23, [
            node("RotaryEmbedding", ["turn", "cosine", "sine", "at"], ["z"], interleaved=interleaved, num_heads=2)], {
            "turn": turn, "cosine": cosine, "sine": sine, "at": Array([1, 3], at, "q")}, {"z": turned(interleaved)}

    steps = some(3, 4, 2)
    for name, axes, lengths in (("some", (0, 1), [4, 0, 3]), ("whole", (0, 1), [4, 4, 4]), ("steps_first", (1, 0), [1, 3, 2, 3])):
        given = Array([len(lengths)], lengths, "q")
        back = lambda t, length: length - 1 - t if t < length else t
        reversed_ = make([3, 4, 2], lambda i, j, k: steps[(i, back(j, lengths[i]), k) if axes == (0, 1) else (back(i, lengths[j]), j, k)])
        for known in (False, True):
            yield "reverse_sequence_%s_%s" % (name, "known" if known else "given"), 10, [
                node("ReverseSequence", ["steps", "lengths"], ["z"], batch_axis=axes[0], time_axis=axes[1]),
                *([tensor("lengths", given.dims, lengths, "q")] if known else [])], {
                "steps": steps, **({} if known else {"lengths": given})}, {"z": reversed_}

    a, b, square = some(2, 3, 4), some(2, 4, 5), some(2, 3, 3)
    yield "einsum_batched", 12, [node("Einsum", ["a", "b"], ["z"], equation="bij, bjk -> kbi")], {"a": a, "b": b}, {
        "z": make([5, 2, 3], lambda k, n, i: sum(a[n, i, j] * b[n, j, k] for j in range(4)))}
    yield "einsum_diagonal", 12, [node("Einsum", ["square"], ["z"], equation="...ii->...i")], {"square": square}, {
        "z": make([2, 3], lambda n, i: square[n, i, i])}
    yield "einsum_three", 12, [node("Einsum", ["x", "y", "w"], ["z"], equation="ij,jk,k")], {
        "x": x, "y": y, "w": some(4)}, {"z": make([2], lambda i: sum(
            x[i, j] * y[j, k] * some(4)[k,] for j in range(3) for k in range(4)))}
    # A dim of size 1 repeats.
    yield "einsum_repeated", 12, [node("Einsum", ["one", "b"], ["z"], equation="bij,bjk->bik")], {
        "one": some(1, 3, 4), "b": b}, {
        "z": make([2, 3, 5], lambda n, i, k: sum(some(1, 3, 4)[0, i, j] * b[n, j, k] for j in range(4)))}


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def write_cases(folder, cases):
    """A folder for each of `cases`: name, opset, nodes, inputs, outputs."""
    for name, opset, nodes, inputs, outputs in cases:
        case = os.path.join(folder, name)
        data = os.path.join(case, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        values = [value(field, n, a.dims, TYPES[a.kind])
                  for field, arrays in ((11, inputs), (12, outputs)) for n, a in arrays.items()]
        write(case + "/model.onnx", model(*nodes, *values, opset=opset))
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for i, (n, array) in enumerate(arrays.items()):
                write(f"{data}/{kind}_{i}.pb", array.bytes(n))


if __name__ == "__main__":
    write_cases(sys.argv[1], cases())
