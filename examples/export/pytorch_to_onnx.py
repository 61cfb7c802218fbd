#!/usr/bin/env python3
"""Writes a PyTorch module as an ONNX file that can be trained.

    from pytorch_to_onnx import export
    export(module, (example_input,), "model.onnx")

or, for a class that can be made without arguments:

    pytorch_to_onnx.py FILE.py:CLASS MODEL.onnx DIM,DIM,... [STATE.pt]

torch.onnx.export writes models for inference unless told otherwise, makes one
initializer of all that are equal (every zero bias of a new model), and transposes
and renames weights. Here batch norm and dropout stay nodes, which dist-run trains
as such, and each parameter is an initializer of its own under its name. Buffers and
parameters that need no gradient are constants. A path that each example drops
(DropPath, StochasticDepth) is Dropout of a one an example. Where gradients stop
(`detach()`, `no_grad()`) is noted on an Identity node, which dist-run reads.
DIM,DIM,... is an example input's shape; its first dim is the batch. Needs torch
and onnx; with onnxruntime the file is compared with the module.
"""
import contextlib
import importlib.util
import io
import sys
import warnings

import numpy as np
import onnx
import torch

from weights import Stamps, compare, keep_constant


def export(module, inputs, path, opset=17, input_names=None, output_names=None, dynamic_axes=None):
    """Writes `module`, with the parameters that it has now.

    `inputs` are example tensors whose dim 0 is the batch, unless `dynamic_axes`
    (as torch.onnx.export takes it) says otherwise.
    """
    input_names = input_names or [f"x{i}" if len(inputs) > 1 else "x" for i in range(len(inputs))]
    dynamic_axes = dynamic_axes or {name: {0: "batch"} for name in input_names}
    training = module.training
    module.eval()
    with torch.no_grad():
        wanted, again = [[y.numpy() for y in (ys if isinstance(ys, (tuple, list)) else [ys])] for ys in (module(*inputs), module(*inputs))]
    draws = not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(wanted, again))
    output_names = output_names or [f"y{i}" if len(wanted) > 1 else "y" for i in range(len(wanted))]
    if "batch" in {axis for axes in dynamic_axes.values() for axis in axes.values()}:
        dynamic_axes = {**{name: {0: "batch"} for name in output_names}, **dynamic_axes}
    stamps, own = Stamps(), {}
    # Dropout disappears from a module that is evaluated; batch norm's moving
    # statistics change in one that is trained.
    module.train()
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.eval()
    try:
        statistics = {id(value) for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)
                      for value in part.buffers()}
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            if value.dtype == torch.float32 and (value.requires_grad or id(value) in statistics):
                own[name] = value.detach().clone()
                value.data.copy_(torch.from_numpy(stamps.stamp(name, own[name].numpy())))
        file = io.BytesIO()
        with warnings.catch_warnings(), paths_by_dropout(module), layers_by_parts(module), stops_as_nodes(opset):
            warnings.simplefilter("ignore")
            # The exporter by tracing: the other one has no mode for training.
            torch.onnx.export(module, tuple(inputs), file, dynamo=False, training=torch.onnx.TrainingMode.PRESERVE,
                              do_constant_folding=False, opset_version=opset, input_names=input_names,
                              output_names=output_names, dynamic_axes=dynamic_axes)
    finally:
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            if name in own:
                value.data.copy_(own[name])
        module.train(training)
    proto = onnx.load_from_string(file.getvalue())
    lost = stamps.restore(proto)
    if lost:
        print(f"not in the file, since the outputs do not depend on them: {', '.join(lost)}")
    let_dropout_follow(proto)
    note_stops(proto)
    if not draws:
        refuse_draws(proto)
    keep_constant(proto, stamps.made)
    frozen = [name for name, value in module.named_parameters() if not value.requires_grad]
    if frozen:
        print(f"constants in the file, since they need no gradient: {', '.join(frozen)}")
    padded = [f"{name}.weight" for name, part in module.named_modules() if getattr(part, "padding_idx", None) is not None]
    if padded:
        print(f"warning: the row at padding_idx is trained as any other, for which ONNX has no word: {', '.join(padded)}")
    proto.producer_name = "pytorch_to_onnx"
    onnx.checker.check_model(proto, full_check=True)
    if draws:
        print("the module draws random numbers in prediction, too: the file was not compared with it")
    else:
        compare(proto, [x.numpy() for x in inputs], wanted)
    onnx.save(proto, path)
    print(f"{path}: {len(proto.graph.initializer)} initializers, {len(proto.graph.node)} nodes")


@contextlib.contextmanager
def paths_by_dropout(module):
    """What these modules draw would be drawn in prediction, too: a file has no word for what only training does but Dropout."""
    changed = []

    def make_forward(part, rate, by_example):
        def forward(x):
            ones = torch.ones((x.shape[0] if by_example else 1, *[1] * (x.ndim - 1)), dtype=x.dtype)
            return x * torch.nn.functional.dropout(ones, rate, part.training)
        return forward

    for part in module.modules():
        kind = type(part).__name__
        rate = getattr(part, "p" if kind == "StochasticDepth" else "drop_prob", None)
        if (kind.endswith("DropPath") or kind == "StochasticDepth") and rate and getattr(part, "scale_by_keep", True):
            part.forward = make_forward(part, float(rate), getattr(part, "mode", "row") == "row")
            changed.append(part)
    try:
        yield
    finally:
        for part in changed:
            del part.forward


@contextlib.contextmanager
def layers_by_parts(module):
    """Layers that the exporter refuses, or writes as a loop over the examples, by what they are made of."""
    changed = []

    def make_bag(part):
        def forward(x, offsets=None, per_sample_weights=None):
            if x.ndim != 2 or offsets is not None:
                raise SystemExit("error: EmbeddingBag with offsets has bags of any length, which no file has; give it one row of indices an example")
            rows = torch.nn.functional.embedding(x, part.weight)
            if per_sample_weights is not None:
                rows = rows * per_sample_weights.unsqueeze(-1)
            return rows.amax(1) if part.mode == "max" else getattr(rows, part.mode)(1)
        return forward

    def make_bilinear(part):
        def forward(x, y):
            z = torch.einsum("...i,oij,...j->...o", x, part.weight, y)
            return z if part.bias is None else z + part.bias
        return forward

    for part in module.modules():
        if isinstance(part, torch.nn.EmbeddingBag) and part.padding_idx is None and part.max_norm is None:
            part.forward = make_bag(part)
        elif isinstance(part, torch.nn.Bilinear):
            part.forward = make_bilinear(part)
        else:
            continue
        changed.append(part)
    try:
        yield
    finally:
        for part in changed:
            del part.forward


@contextlib.contextmanager
def stops_as_nodes(opset):
    """Else `detach()` leaves nothing in the file, nor does `no_grad()`, of which each result is detached here."""
    class Detached(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            stops = not torch.is_grad_enabled() and isinstance(result, torch.Tensor) and result.is_floating_point()
            return result.detach() if stops and not isinstance(result, torch.nn.Parameter) else result

    torch.onnx.register_custom_op_symbolic("aten::detach", lambda g, x: g.op("dist::StopGradient", x).setType(x.type()), opset)
    try:
        with torch.enable_grad(), Detached():
            yield
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::detach", opset)


def note_stops(proto):
    """Whoever else runs the file sees Identity."""
    for node in proto.graph.node:
        if node.domain == "dist":
            node.op_type, node.domain = "Identity", ""
            node.metadata_props.add(key="dist.stop_gradient", value="true")
    for opset in [opset for opset in proto.opset_import if opset.domain == "dist"]:
        proto.opset_import.remove(opset)


def refuse_draws(proto):
    draws = [node.name for node in proto.graph.node
             if node.op_type in ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")]
    if draws:
        raise SystemExit(f"error: the module draws random numbers in training by its own code (node '{draws[0]}'), which the file would "
                         "do in prediction, too; let it use torch.nn.Dropout, or set the rate to 0")


def let_dropout_follow(proto):
    """Whoever runs the file says whether it trains: the node does not insist on it."""
    for node in proto.graph.node:
        if node.op_type == "Dropout":
            del node.input[2:]
    used = {name for node in proto.graph.node for name in node.input} | {y.name for y in proto.graph.output}
    for node in [n for n in proto.graph.node if n.op_type == "Constant" and n.output[0] not in used]:
        proto.graph.node.remove(node)


def main():
    if len(sys.argv) not in (4, 5) or ":" not in sys.argv[1]:
        sys.exit(__doc__)
    file, name = sys.argv[1].rsplit(":", 1)
    spec = importlib.util.spec_from_file_location("model", file)
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    module = getattr(code, name)()
    if len(sys.argv) == 5:
        module.load_state_dict(torch.load(sys.argv[4], weights_only=True))
    shape = [int(dim) for dim in sys.argv[3].split(",")]
    example = np.random.default_rng(0).uniform(0, 1, shape).astype(np.float32)
    export(module, (torch.from_numpy(example),), sys.argv[2])


if __name__ == "__main__":
    main()
