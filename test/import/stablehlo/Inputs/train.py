"""Trains a small model by plain arithmetic: train.py FOLDER writes FOLDER/model.mlir, its data and its losses. Needs no package."""
import json
import math
import os
import struct
import sys

ROWS, BATCH, RATE = 8, 4, 0.5
x = [[((7 * i + 5 * j) % 9 - 4) / 4 for j in range(3)] for i in range(ROWS)]
x[1] = [0.0] * 3  # Before a rectifier, without a bias yet: its derivative is 0 there.
labels = [i % 3 for i in range(ROWS)]
w = [[((5 * i + 3 * j) % 7 - 3) / 4 for j in range(4)] for i in range(3)]
b = [0.0] * 4
v = [[((3 * i + 4 * j) % 5 - 2) / 2 for j in range(3)] for i in range(4)]


def write(path, kind, shape, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack(f"<{len(values)}{'f' if kind == '<f4' else 'q'}", *values))


def step(rows, classes):
    """The mean loss, after which the weights have moved."""
    loss, dw, db, dv = 0.0, [[0.0] * 4 for _ in w], [0.0] * 4, [[0.0] * 3 for _ in v]
    for row, label in zip(rows, classes):
        before = [sum(row[i] * w[i][j] for i in range(3)) + b[j] for j in range(4)]
        hidden = [max(h, 0.0) for h in before]
        logits = [sum(hidden[j] * v[j][k] for j in range(4)) for k in range(3)]
        total = sum(math.exp(z) for z in logits)
        loss -= math.log(math.exp(logits[label]) / total) / BATCH
        slope = [(math.exp(z) / total - (k == label)) / BATCH for k, z in enumerate(logits)]
        for j in range(4):
            back = sum(slope[k] * v[j][k] for k in range(3)) if before[j] > 0 else 0.0
            db[j] += back
            for i in range(3):
                dw[i][j] += back * row[i]
            for k in range(3):
                dv[j][k] += slope[k] * hidden[j]
    for j in range(4):
        b[j] -= RATE * db[j]
        for i in range(3):
            w[i][j] -= RATE * dw[i][j]
        for k in range(3):
            v[j][k] -= RATE * dv[j][k]
    return loss


def variable(name, shape, values, trained=True):
    kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
    text = f"{{graph.initial = dense<{values}> : {kind}, graph.role = \"variable\", graph.variable = @{name}"
    return kind, text + (", graph.trainable}" if trained else "}")


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    write(folder + "/x.npy", "<f4", (ROWS, 3), sum(x, []))
    write(folder + "/label.npy", "<i8", (ROWS,), labels)
    parameters = [variable("hidden.kernel", (3, 4), w), variable("hidden.bias", (4,), b),
                  variable("head.kernel", (4, 3), v), variable("head.shift", (3,), [0.0] * 3, trained=False)]
    types = ", ".join([kind for kind, _ in parameters] + ["tensor<4x3xf32>"])
    attributes = ", ".join([text for _, text in parameters] + ['{graph.name = "x"}'])
    product = ("<{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
               "rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>]}>")
    with open(folder + "/model.mlir", "w") as file:
        file.write(f'''"builtin.module"() <{{sym_name = "jit_f"}}> ({{
  "func.func"() <{{arg_attrs = [{attributes}], function_type = ({types}) -> tensor<4x3xf32>, res_attrs = [{{jax.result_info = "logits"}}], sym_name = "main"}}> ({{
  ^bb0(%w: tensor<3x4xf32>, %b: tensor<4xf32>, %v: tensor<4x3xf32>, %s: tensor<3xf32>, %x: tensor<4x3xf32>):
    %0 = "stablehlo.dot_general"(%x, %w) {product} : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.broadcast_in_dim"(%b) <{{broadcast_dimensions = array<i64: 1>}}> : (tensor<4xf32>) -> tensor<4x4xf32>
    %2 = "stablehlo.add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "stablehlo.constant"() <{{value = dense<0.0> : tensor<f32>}}> : () -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{{broadcast_dimensions = array<i64>}}> : (tensor<f32>) -> tensor<4x4xf32>
    %5 = "stablehlo.maximum"(%2, %4) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %6 = "stablehlo.dot_general"(%5, %v) {product} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %7 = "stablehlo.broadcast_in_dim"(%s) <{{broadcast_dimensions = array<i64: 1>}}> : (tensor<3xf32>) -> tensor<4x3xf32>
    %8 = "stablehlo.add"(%6, %7) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    "func.return"(%8) : (tensor<4x3xf32>) -> ()
  }}) : () -> ()
}}) : () -> ()
''')
    with open(folder + "/expected.jsonl", "w") as file:
        for number in range(6):
            at = number * BATCH % ROWS
            loss = step(x[at:at + BATCH], labels[at:at + BATCH])
            file.write(json.dumps({"kind": "step", "step": number + 1, "loss": loss}) + "\n")
