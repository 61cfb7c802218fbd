//===- ServerPasses.td - Programs of workers and parameter servers -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef PASSES_PARTITION_SERVERPASSES_TD
#define PASSES_PARTITION_SERVERPASSES_TD
include "mlir/Pass/PassBase.td"

def PullRowsPass : Pass<"dist-pull-rows", "::mlir::ModuleOp"> {
  let summary = "Steps of workers compute with the rows of a table that they look up";
  let description = [{
    After dist-place-server-variables, on the workers' program. Where @gradients
    reads a table that servers hold by `graph.gather` of its rows alone, whose
    indices are an input's integers, it gets these rows in place of the table,
    and gives the gradient of them: of the others it is zero. Its ops on that
    gradient must be row by row, of rows of zeros make the same or sum them up.
    The table's `dist.pulled_rows` names the inputs, and two new variables that
    are set before each step: `NAME/rows`, as many as there are indices, and
    `NAME/places`, which of them a row of the table is. Tables of which a batch
    may look up nearly all rows are left as they are; `dist.why` says so, or
    which op computes with all rows.

    Before:
    ```mlir
    graph.variable @w : tensor<1000x4xf32> trainable {dist.server_parts = [...]} = ...
    func.func @gradients(%ids: tensor<8xi64> {graph.name = "ids", ...}, %w: tensor<1000x4xf32>) -> tensor<1000x4xf32> {
      %0 = graph.gather %w, %ids {axis = 0 : i64} : (tensor<1000x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
      ...
      %9 = graph.scatter_add %zeros, %ids, %8 {axis = 0 : i64} : (tensor<1000x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<1000x4xf32>
    ```
    After:
    ```mlir
    graph.variable @w : tensor<1000x4xf32> trainable {dist.pulled_rows =
        {inputs = ["ids"], places = @"w/places", rows = @"w/rows"}, ...} = ...
    func.func @gradients(%ids: tensor<8xi64> {graph.name = "ids", ...}, %rows: tensor<8x4xf32>, %places: tensor<1000xi32>) -> tensor<8x4xf32> {
      %at = graph.gather %places, %ids {axis = 0 : i64} : (tensor<1000xi32>, tensor<8xi64>) -> tensor<8xi32>
      %0 = graph.gather %rows, %at {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
      ...
      %9 = graph.scatter_add %zeros, %at, %8 {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8xi32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect"];
}
def SplitServersPass : Pass<"dist-split-servers", "::mlir::ModuleOp"> {
  let summary = "One program of workers and servers: the workers', or a server's";
  let description = [{
    After dist-place-server-variables. Without `server` the workers' program is
    left: all but @apply, and what only @apply keeps (slots, the step counter).
    With it, that server's: @apply alone, with the parts of variables that the
    server holds, in the variables' order, and their slots. Of a variable that
    is cut, a part is a variable `NAME/part_I` of its rows, and its update is
    that of the whole on these. What all updates compute from (the step counter,
    the learning rate) each server keeps for itself. It is an error if the
    update of one variable reads another.

    Before:
    ```mlir
    graph.variable @w : tensor<4xf32> trainable {dist.server_parts = [
        {begin = 0 : i64, server = 0 : i64, size = 2 : i64},
        {begin = 2 : i64, server = 1 : i64, size = 2 : i64} ]} = ...
    func.func @apply(%g: tensor<4xf32> {graph.role = "gradient", ...}, %w: tensor<4xf32>) -> tensor<4xf32> {
      %0 = graph.sub %w, %g : tensor<4xf32>
    ```
    After, with `server=1`:
    ```mlir
    graph.variable @"w/part_1" : tensor<2xf32> trainable = ...
    func.func @apply(%g: tensor<2xf32> {graph.role = "gradient", ...}, %w: tensor<2xf32>) -> tensor<2xf32> {
      %0 = graph.sub %w, %g : tensor<2xf32>
    ```
  }];
  let options = [
    Option<"server", "server", "int64_t", "-1", "Whose program is left; -1: the workers'">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::dist::graph::GraphDialect"];
}
#endif
