"""Writes cases of Fourier transforms, sampling at computed places, and what undoes
windows, with the results they must have: sample_cases.py all|few FOLDER; or the model of
all of them that is trained, and those that are refused: sample_cases.py NAME FILE. Needs no package."""
import cmath
import itertools
import math
import sys

from cases import Array, make, some, write, write_cases
from models import model, node, tensor, value


def numbers(name, values, dims=None):
    return tensor(name, [len(values)] if dims is None else dims, values, "q")


def spectrum(x, points, inverse=False):
    """Of complex numbers, zeros where there are none."""
    sign = 1 if inverse else -1
    y = [sum(v * cmath.exp(sign * 2j * math.pi * i * k / points) for i, v in enumerate(x[:points])) for k in range(points)]
    return [v / points for v in y] if inverse else y


def parts(rows):
    """[rows, k, 2]"""
    return Array([len(rows), len(rows[0]), 2], [p for row in rows for v in row for p in (v.real, v.imag)])


def fourier():
    real, whole = some(2, 5, 1), some(2, 5, 2)
    row = lambda n: [real[n, i, 0] for i in range(5)]
    mixed = lambda n: [complex(whole[n, i, 0], whole[n, i, 1]) for i in range(5)]
    for name, points in (("same", 5), ("longer", 6), ("shorter", 4)):
        at = [numbers("points", [points], []), numbers("axis", [1], [])]
        yield "dft_real_" + name, 20, [node("DFT", ["x", "points", "axis"], ["y"], onesided=1), *at], {"x": real}, {
            "y": parts([spectrum(row(n), points)[:points // 2 + 1] for n in range(2)])}
        yield "dft_" + name, 17, [node("DFT", ["x", "points"], ["y"], axis=1), at[0]], {"x": whole}, {
            "y": parts([spectrum(mixed(n), points) for n in range(2)])}
        # The frequencies that are left out mirror those that are there; the first one's and the middle one's
        # imaginary parts count for nothing.
        half = [(mixed(n) + [0j] * 6)[:points // 2 + 1] for n in range(2)]
        for line in half:
            line[0] = complex(line[0].real)
            if points % 2 == 0:
                line[-1] = complex(line[-1].real)
        full = [line + [v.conjugate() for v in reversed(line[1:(points + 1) // 2])] for line in half]
        yield "irfft_" + name, 20, [node("DFT", ["x", "points", "axis"], ["y"], onesided=1, inverse=1), *at], {"x": whole}, {
            "y": make([2, points, 1], lambda n, k, _: spectrum(full[n], points, True)[k].real)}
    yield "dft_inverse", 20, [node("DFT", ["x"], ["y"], inverse=1)], {"x": whole}, {
        "y": parts([spectrum(mixed(n), 5, True) for n in range(2)])}
    deep = some(2, 3, 4, 2)
    column = lambda n, j: spectrum([complex(deep[n, i, j, 0], deep[n, i, j, 1]) for i in range(3)], 3)
    yield "dft_inner", 20, [node("DFT", ["x", "", "axis"], ["y"]), numbers("axis", [-3], [])], {"x": deep}, {
        "y": make([2, 3, 4, 2], lambda n, k, j, p: (column(n, j)[k].imag if p else column(n, j)[k].real))}
    signal, window = some(2, 9, 1), [0.25, 1.0, 0.5, 0.75]
    frame = lambda n, f: spectrum([signal[n, 2 * f + i, 0] * window[i] for i in range(4)], 4)
    yield "stft", 17, [node("STFT", ["x", "step", "window"], ["y"]), numbers("step", [2], []), tensor("window", [4], window)], {
        "x": signal}, {"y": make([2, 3, 3, 2], lambda n, f, k, p: frame(n, f)[k].imag if p else frame(n, f)[k].real)}


def reflect(x, low, high):
    if high == low:
        return 0.0
    span = high - low
    times, rest = divmod(abs(x - low), span)
    return low + (span - rest if times % 2 else rest)


def cubic(t):
    """Keys' kernel, a = -0.75."""
    t = abs(t)
    return (1.25 * t - 2.25) * t * t + 1 if t <= 1 else ((-0.75 * t + 3.75) * t - 6) * t + 3 if t < 2 else 0.0


def grids():
    x = some(2, 2, 3, 4)
    grid = Array([2, 2, 3, 2], [(i * 37 % 25 - 12) / 9 + 0.01 for i in range(24)])
    for mode, padding, aligned in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1)):
        def fit(at, size):
            if padding == "reflection":
                at = reflect(at, 0 if aligned else -0.5, size - 1 if aligned else size - 0.5)
            return min(max(at, 0), size - 1) if padding != "zeros" else at

        def taps(place, size):
            at = (place + 1) / 2 * (size - 1) if aligned else ((place + 1) * size - 1) / 2
            if mode != "cubic":
                at = fit(at, size)
            first = round(at) if mode == "nearest" else math.floor(at)
            reach = {"nearest": [0], "linear": [0, 1], "cubic": [-1, 0, 1, 2]}[mode]
            weigh = {"nearest": lambda t: 1, "linear": lambda t: 1 - abs(t), "cubic": cubic}[mode]
            return [(int(fit(first + r, size)), weigh(at - first - r)) for r in reach]

        def sample(n, c, i, j):
            return sum(x[n, c, h, w] * a * b for h, a in taps(grid[n, i, j, 1], 3) for w, b in taps(grid[n, i, j, 0], 4)
                       if 0 <= h < 3 and 0 <= w < 4)
        yield "grid_%s_%s_%d" % (mode, padding, aligned), 20, [
            node("GridSample", ["x", "grid"], ["y"], mode=mode, padding_mode=padding, align_corners=aligned)], {
            "x": x, "grid": grid}, {"y": make([2, 2, 2, 3], sample)}
    # Three dims; the first opset has other names.
    deep, at = some(1, 1, 2, 3, 2), Array([1, 1, 1, 2, 3], [0.5, -0.25, 0.0, -2.0, 0.75, 0.25])

    def linear(j):
        places = [((at[0, 0, 0, j, 2 - d] + 1) * size - 1) / 2 for d, size in enumerate((2, 3, 2))]
        return sum(deep[(0, 0, *i)] * math.prod(max(0, 1 - abs(p - k)) for p, k in zip(places, i))
                   for i in itertools.product(range(2), range(3), range(2)))
    yield "grid_deep", 20, [node("GridSample", ["x", "grid"], ["y"])], {"x": deep, "grid": at}, {
        "y": make([1, 1, 1, 1, 2], lambda n, c, a, b, j: linear(j))}
    yield "grid_old", 16, [node("GridSample", ["x", "grid"], ["y"], mode="nearest")], {
        "x": some(1, 1, 1, 4), "grid": Array([1, 1, 1, 2], [0.3, 0])}, {"y": Array([1, 1, 1, 1], [some(1, 1, 1, 4)[0, 0, 0, 2]])}
    theta = some(2, 2, 3)
    for aligned in (0, 1):
        place = (lambda i, size: 2 * i / (size - 1) - 1) if aligned else (lambda i, size: (2 * i + 1) / size - 1)
        yield "affine_%d" % aligned, 20, [node("AffineGrid", ["x", "size"], ["y"], align_corners=aligned), numbers("size", [2, 3, 2, 4])], {
            "x": theta}, {"y": make([2, 2, 4, 2], lambda n, i, j, d: theta[n, d, 0] * place(j, 4) + theta[n, d, 1] * place(i, 2)
                                    + theta[n, d, 2])}


def folds():
    # Windows of 2 x 3 taps, 2 apart in the second dim, at every 2nd place of the first, on 4 x 6 with pads.
    x = some(2, 12, 15)

    def col2im(n, c, i, j):
        return sum(x[n, (c * 2 + a) * 3 + b, (h * 5) + w] for a in range(2) for b in range(3) for h in range(3) for w in range(5)
                   if h * 2 + a - 1 == i and w + 2 * b - 2 == j)
    yield "col2im", 18, [node("Col2Im", ["x", "image", "block"], ["y"], strides=[2, 1], dilations=[1, 2], pads=[1, 2, 1, 1]),
                         numbers("image", [4, 6]), numbers("block", [2, 3])], {"x": x}, {"y": make([2, 2, 4, 6], col2im)}
    small = some(2, 2, 3)
    yield "col2im_line", 18, [node("Col2Im", ["x", "image", "block"], ["y"]), numbers("image", [4]), numbers("block", [2])], {
        "x": small}, {"y": make([2, 1, 4], lambda n, c, i: sum(small[n, a, i - a] for a in range(2) if 0 <= i - a < 3))}
    # Indices count from the first example's first channel on.
    pooled, at = some(2, 1, 1, 2), [5, 2, 8 + 0, 8 + 3]
    yield "unpool", 11, [node("MaxUnpool", ["x", "at"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], {
        "x": pooled, "at": Array([2, 1, 1, 2], at, "q")}, {
        "y": make([2, 1, 2, 4], lambda n, c, i, j: dict(zip(at, pooled.values)).get(n * 8 + i * 4 + j, 0))}


def trained():
    """Places by a layer, what is there as windows, these summed, and their spectrum."""
    weight = Array([9, 6], [((i * 37 % 23) - 11) / 64 for i in range(54)])
    return model(
        tensor("weight", [9, 6], weight.values), tensor("bias", [6], [1.0, 0, 0, 0, 1, 0]), numbers("flat", [0, -1]),
        numbers("matrix", [-1, 2, 3]), numbers("size", [1, 1, 4, 3]), numbers("columns", [-1, 4, 3]), numbers("image", [2, 4]),
        numbers("block", [2, 2]), numbers("line", [-1, 8, 1]), numbers("axis", [1], []),
        node("Reshape", ["x", "flat"], ["row"]), node("Gemm", ["row", "weight", "bias"], ["six"]), node("Reshape", ["six", "matrix"], ["theta"]),
        node("AffineGrid", ["theta", "size"], ["grid"]), node("GridSample", ["x", "grid"], ["seen"], padding_mode="border"),
        node("Reshape", ["seen", "columns"], ["windows"]), node("Col2Im", ["windows", "image", "block"], ["summed"]),
        node("Reshape", ["summed", "line"], ["signal"]), node("DFT", ["signal", "", "axis"], ["y"], onesided=1),
        value(11, "x", ["n", 1, 3, 3]), value(12, "y", ["n", 5, 2]), opset=20)


def refused(name):
    if name == "large":
        return model(node("DFT", ["x"], ["y"], name="wave"), value(11, "x", ["n", 8192, 2]), value(12, "y", ["n", 8192, 2]), opset=20)
    if name == "last-axis":
        return model(node("DFT", ["x", "", "axis"], ["y"], name="wave"), numbers("axis", [-1], []), value(11, "x", ["n", 8, 2]),
                     value(12, "y", ["n", 8, 2]), opset=20)
    if name == "windows":
        return model(node("Col2Im", ["x", "image", "block"], ["y"], name="sum"), numbers("image", [4]), numbers("block", [2]),
                     value(11, "x", ["n", 2, 4]), value(12, "y", ["n", 1, 4]), opset=18)
    if name == "grid":
        return model(node("GridSample", ["x", "grid"], ["y"], name="look"), value(11, "x", ["n", 1, 4, 4]),
                     value(11, "grid", ["n", 2, 2, 3]), value(12, "y", ["n", 1, 2, 2]), opset=20)
    assert name == "unpool"
    return model(node("MaxUnpool", ["x", "at", "shape"], ["y"], name="back", kernel_shape=[2], strides=[2]), numbers("shape", [1, 1, 5]),
                 value(11, "x", [1, 1, 2]), value(11, "at", [1, 1, 2], 7), value(12, "y", [1, 1, 5]))


if __name__ == "__main__":
    if sys.argv[1] in ("all", "few"):
        cases = itertools.chain(fourier(), grids(), folds())
        write_cases(sys.argv[2], itertools.islice(cases, 0, None, 4 if sys.argv[1] == "few" else 1))
    else:
        write(sys.argv[2], trained() if sys.argv[1] == "train" else refused(sys.argv[1]))
