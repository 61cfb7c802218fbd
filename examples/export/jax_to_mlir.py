#!/usr/bin/env python3
"""Writes a function of JAX as a model file that can be trained: from jax_to_mlir import export

    export(lambda params, x: model.apply({"params": params}, x), params, {"x": example}, "model.mlir")

The file is StableHLO in MLIR's generic form. The leaves of the first argument are
its variables, named by their paths and trained; what the function has besides
(moving statistics, tables) is constant. Inputs have the shapes of their examples,
the batch first. Needs jax.

StableHLO has no word for what only a derivative sees: `stop_gradient` is written as
a call of `dist.stop_gradient`, which the importer knows; a `custom_jvp` or
`custom_vjp` goes by the derivative of what it computes, and of two equal numbers
`jnp.maximum` takes one. Apply modules as in prediction
(deterministic, without dropout, by moving statistics).
"""
import contextlib

import jax
import numpy as np
from jax._src import ad_util
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jax._src.lib.mlir.dialects import hlo


def path_name(path):
    """`encoder.layers.0.kernel`."""
    parts = []
    for key in path:
        for field in ("key", "name", "idx"):
            if hasattr(key, field):
                parts.append(str(getattr(key, field)))
                break
        else:
            parts.append(str(key))
    return ".".join(parts) or "parameters"


@contextlib.contextmanager
def stops_as_calls():
    """Else `stop_gradient` leaves nothing in the module."""
    def lower(context, operand):
        return hlo.CustomCallOp([operand.type], [operand], call_target_name="dist.stop_gradient").results

    rule = mlir._lowerings[ad_util.stop_gradient_p]
    mlir.register_lowering(ad_util.stop_gradient_p, lower)
    try:
        yield
    finally:
        mlir._lowerings[ad_util.stop_gradient_p] = rule


def export(function, parameters, inputs, path, outputs=None):
    """`function` takes `parameters` and then the inputs, in their order; `outputs` are
    the names of its results."""
    leaves = jax.tree_util.tree_flatten_with_path(parameters)[0]
    arguments = [np.asarray(value) for value in inputs.values()]
    with stops_as_calls():
        lowered = jax.jit(function, keep_unused=True).lower(parameters, *arguments)
    module = lowered.compiler_ir("stablehlo")
    with module.context as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        text, unit = ir.StringAttr.get, ir.UnitAttr.get()
        batch = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        if len(types.inputs) != len(leaves) + len(inputs):
            raise ValueError(f"the function takes {len(types.inputs)} arrays, of which {len(leaves)} are parameters "
                             f"and {len(inputs)} inputs: give the inputs as a dict of arrays")
        attributes = []
        for (where, leaf), type_ in zip(leaves, types.inputs):
            value = np.ascontiguousarray(leaf).reshape(np.shape(leaf))
            value = ir.DenseElementsAttr.get(value, type=ir.RankedTensorType(type_).element_type, shape=value.shape)
            entry = {"graph.role": text("variable"), "graph.initial": value,
                     "graph.variable": ir.FlatSymbolRefAttr.get(path_name(where))}
            if jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating):
                entry["graph.trainable"] = unit
            attributes.append(ir.DictAttr.get(entry))
        for name, value in zip(inputs, arguments):
            entry = {"graph.role": text("input"), "graph.name": text(name)}
            if value.ndim:
                entry["graph.batch_dim"] = batch
            attributes.append(ir.DictAttr.get(entry))
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
        rows = next((value.shape[0] for value in arguments if value.ndim), None)
        results = []
        for number, type_ in enumerate(types.results):
            shape = ir.RankedTensorType(type_).shape
            several = len(types.results) > 1
            name = outputs[number] if outputs else f"output{number}" if several else "output"
            entry = {"graph.name": text(name)}
            if shape and shape[0] == rows:
                entry["graph.batch_dim"] = batch
            results.append(ir.DictAttr.get(entry))
        main.attributes["res_attrs"] = ir.ArrayAttr.get(results)
        with open(path, "w") as file:
            file.write(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True,
                                                large_elements_limit=None))
