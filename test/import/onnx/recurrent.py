"""Writes cases of RNN, GRU and LSTM with the results they must have, computed here in
plain loops by the equations of the ONNX operators: recurrent.py FOLDER. Needs no package."""
import itertools
import math
import sys

from cases import Array, make, some, write_cases
from models import node, tensor

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STANDARD = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
FUNCTIONS = {
    "Sigmoid": lambda x, a, b: 1 / (1 + math.exp(-x)), "Tanh": lambda x, a, b: math.tanh(x),
    "Relu": lambda x, a, b: max(x, 0.0), "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: x if x >= 0 else a * x, "ThresholdedRelu": lambda x, a, b: x if x > a else 0.0,
    "ScaledTanh": lambda x, a, b: a * math.tanh(b * x), "HardSigmoid": lambda x, a, b: min(max(a * x + b, 0.0), 1.0),
    "Elu": lambda x, a, b: x if x >= 0 else a * (math.exp(x) - 1), "Softsign": lambda x, a, b: x / (1 + abs(x)),
    "Softplus": lambda x, a, b: math.log1p(math.exp(x))}

# What has numbers, and those that it has by itself.
ALPHAS = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "Elu": 1.0, "HardSigmoid": 0.2, "Affine": None, "ScaledTanh": None}
BETAS = {"HardSigmoid": 0.5, "Affine": None, "ScaledTanh": None}


def direction_of(op, d, x, w, r, b, lengths, h0, c0, p, backwards, functions, clip, linear, coupled):
    """Of one direction: h[t][n][j] of each step, and the last states. `x[t, n, i]` by index."""
    steps, batch, size, hidden = x.dims[0], x.dims[1], x.dims[2], r.dims[2]
    bounded = lambda v: v if clip is None else min(max(v, -clip), clip)
    apply = lambda k, v: functions[k](bounded(v))
    bias = lambda g, j, half: b[d, (half * GATES[op] + g) * hidden + j] if b else 0.0
    given = lambda g, t, n, j: sum(x[t, n, i] * w[d, g * hidden + j, i] for i in range(size)) + bias(g, j, 0)
    stated = lambda g, h, j: sum(h[k] * r[d, g * hidden + j, k] for k in range(hidden)) + bias(g, j, 1)
    peep = lambda k, c, j: p[d, k * hidden + j] * c[j] if p else 0.0
    all_h = [[[0.0] * hidden for _ in range(batch)] for _ in range(steps)]
    last_h, last_c = [], []
    for n in range(batch):
        h = [h0[d, n, j] if h0 else 0.0 for j in range(hidden)]
        c = [c0[d, n, j] if c0 else 0.0 for j in range(hidden)]
        length = lengths[n] if lengths else steps
        for t in reversed(range(length)) if backwards else range(length):
            own = range(hidden)
            gate = lambda g, k, extra=lambda j: 0.0: [apply(k, given(g, t, n, j) + stated(g, h, j) + extra(j))
                                                      for j in own]
            if op == "RNN":
                h = gate(0, 0)
            elif op == "GRU":
                z, reset = gate(0, 0), gate(1, 0)
                kept = [reset[j] * h[j] for j in own]
                fresh = [apply(1, given(2, t, n, j) + (reset[j] * stated(2, h, j) if linear else stated(2, kept, j)))
                         for j in own]
                h = [(1 - z[j]) * fresh[j] + z[j] * h[j] for j in own]
            else:
                i = gate(0, 0, lambda j: peep(0, c, j))
                f = [1 - v for v in i] if coupled else gate(2, 0, lambda j: peep(2, c, j))
                fresh = gate(3, 1)
                now = [f[j] * c[j] + i[j] * fresh[j] for j in own]
                o = gate(1, 0, lambda j: peep(1, now, j))
                c, h = now, [o[j] * apply(2, now[j]) for j in own]
            all_h[t][n] = h
        last_h.append(h)
        last_c.append(c)
    return all_h, last_h, last_c


def recurrent(op, x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, direction="forward", activations=None,
              alphas=(), betas=(), clip=None, linear=0, coupled=0):
    """Y, Y_h and Y_c where the directions lie in front."""
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    alphas, betas = list(alphas), list(betas)
    functions = []
    for name in activations or STANDARD[op] * len(ways):
        a = (alphas.pop(0) if alphas else ALPHAS[name]) if name in ALPHAS else None
        beta = (betas.pop(0) if betas else BETAS[name]) if name in BETAS else None
        functions.append(lambda v, f=FUNCTIONS[name], a=a, b=beta: f(v, a, b))
    count = len(STANDARD[op])
    parts = [direction_of(op, d, x, w, r, b, lengths, h0, c0, p, way, functions[d * count:(d + 1) * count], clip,
                          linear, coupled) for d, way in enumerate(ways)]
    steps, batch, hidden = x.dims[0], x.dims[1], r.dims[2]
    return (make([steps, len(ways), batch, hidden], lambda t, d, n, j: parts[d][0][t][n][j], x.kind),
            make([len(ways), batch, hidden], lambda d, n, j: parts[d][1][n][j], x.kind),
            make([len(ways), batch, hidden], lambda d, n, j: parts[d][2][n][j], x.kind))


def turned(array, order):
    dims = [array.dims[d] for d in order]
    return make(dims, lambda *index: array[tuple(index[order.index(d)] for d in range(len(dims)))], array.kind)


def scaled(array, by):
    return Array(array.dims, [v * by for v in array.values], array.kind)


def case(name, op, batch=2, steps=3, size=2, hidden=2, opset=14, uses="", outputs=None, constant=(), kind="f",
         layout=0, lengths=None, **options):
    """`uses`: of B, h, c, P, which inputs there are; `constant`: which are initializers."""
    ways = 2 if options.get("direction") == "bidirectional" else 1
    gates = GATES[op] * hidden
    x = scaled(some(steps, batch, size, kind=kind), 0.7)
    w, r = scaled(some(ways, gates, size, kind=kind), 0.9), scaled(some(ways, gates, hidden, kind=kind), 0.8)
    there = {"x": x, "w": w, "r": r,
             "b": some(ways, 2 * gates, kind=kind) if "B" in uses else None,
             "l": Array([batch], lengths, "i") if lengths else None,
             "h": scaled(some(ways, batch, hidden, kind=kind), 0.6) if "h" in uses else None,
             "c": scaled(some(ways, batch, hidden, kind=kind), -0.5) if "c" in uses else None,
             "p": scaled(some(ways, 3 * hidden, kind=kind), 0.4) if "P" in uses else None}
    results = dict(zip(("y", "yh", "yc"), recurrent(op, x, w, r, there["b"], lengths, there["h"], there["c"],
                                                    there["p"], **options)))
    if layout:
        for n, order in (("x", [1, 0, 2]), ("h", [1, 0, 2]), ("c", [1, 0, 2])):
            there[n] = turned(there[n], order) if there[n] else None
        results = {n: turned(a, [2, 0, 1, 3] if n == "y" else [1, 0, 2]) for n, a in results.items()}
    wanted = outputs or (["y", "yh", "yc"] if op == "LSTM" else ["y", "yh"])
    names = {"activations": "activations", "alphas": "activation_alpha", "betas": "activation_beta", "clip": "clip",
             "direction": "direction", "linear": "linear_before_reset", "coupled": "input_forget"}
    attributes = {names[k]: v for k, v in options.items()}
    if layout:
        attributes["layout"] = layout
    order = "xwrblhcp" if op == "LSTM" else "xwrblh"
    inputs = [n if there[n] else "" for n in order]
    while not inputs[-1]:
        inputs.pop()
    every = ["y", "yh", "yc"][:3 if op == "LSTM" else 2]
    nodes = [node(op, inputs, [n if n in wanted else "" for n in every], "cell", hidden_size=hidden, **attributes)]
    nodes += [tensor(n, there[n].dims, there[n].values, there[n].kind) for n in constant]
    return name, opset, nodes, {n: a for n, a in there.items() if a and n not in constant}, {
        n: results[n] for n in every if n in wanted}


def cases():
    for op in GATES:
        low = op.lower()
        yield case(low, op)
        yield case(low + "_reverse", op, direction="reverse", uses="Bh", constant=("w", "r", "b"))
        yield case(low + "_bidirectional", op, direction="bidirectional", uses="B")
        yield case(low + "_batch_first", op, layout=1, batch=3, direction="bidirectional", uses="Bhc"[:3 if op == "LSTM" else 2])
        # An example of no steps keeps the state that it starts from.
        yield case(low + "_lengths", op, batch=4, direction="bidirectional", uses="Bh", lengths=[3, 1, 2, 0])
        yield case(low + "_lengths_known", op, direction="reverse", lengths=[2, 3], constant=("l",), opset=7)
        yield case(low + "_lengths_whole", op, lengths=[3, 3], constant=("l",), layout=1)
        yield case(low + "_clip", op, uses="Bh", clip=0.25)
        yield case(low + "_f64", op, uses="B", kind="d")
        yield case(low + "_last_only", op, uses="B", outputs=["yh"], steps=1)
        yield case(low + "_all_but_last", op, opset=22, outputs=["y"], size=3, hidden=4)
    yield case("gru_linear", "GRU", uses="Bh", linear=1)
    yield case("gru_linear_bare", "GRU", linear=1, direction="bidirectional")
    yield case("gru_activations", "GRU", activations=["HardSigmoid", "Softsign"], alphas=[0.3], betas=[0.4], uses="B")
    yield case("lstm_peepholes", "LSTM", uses="BhcP")
    yield case("lstm_peepholes_bare", "LSTM", uses="P", direction="bidirectional")
    yield case("lstm_coupled", "LSTM", uses="BcP", coupled=1)
    yield case("lstm_everything", "LSTM", uses="BhcP", direction="bidirectional", layout=1, lengths=[2, 3, 1], batch=3,
               clip=0.75, activations=["HardSigmoid", "ScaledTanh", "LeakyRelu", "Sigmoid", "Elu", "Affine"],
               alphas=[0.3, 1.5, 0.1, 0.5, 2.0], betas=[0.4, 0.7, -0.2])
    yield case("lstm_few_outputs", "LSTM", uses="B", outputs=["yc"])
    for name in ("Relu", "Softplus"):
        yield case("rnn_" + name.lower(), "RNN", activations=[name], uses="B")
    yield case("lstm_own_numbers", "LSTM", activations=["HardSigmoid", "LeakyRelu", "Elu"], uses="B")
    yield case("rnn_thresholded_relu", "RNN", activations=["ThresholdedRelu"], alphas=[0.2], uses="B")
    # Enough steps for their gradients' and pieces' paths.
    yield case("lstm_long", "LSTM", steps=12, uses="Bh", lengths=[7, 12])


if __name__ == "__main__":
    write_cases(sys.argv[1], cases())
