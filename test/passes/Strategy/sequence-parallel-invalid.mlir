// RUN: not dist-opt %s --dist-sequence-parallel 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not dist-opt %s --dist-create-mesh=axes=model:2 --dist-sequence-parallel=axis=rows 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not dist-opt %s --pass-pipeline="builtin.module(dist-create-mesh{axes=model:2},dist-tensor-split,dist-propagate-sharding{close=false},dist-sequence-parallel)" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %s --pass-pipeline="builtin.module(dist-create-mesh{axes=model:4},dist-tensor-split{rules=w1=1:model,w2=0:model,w3=1:model},dist-propagate-sharding{close=false},dist-sequence-parallel{strict-divisibility})" 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: sed s/2x6/2x3/g %s | not dist-opt - --pass-pipeline="builtin.module(dist-create-mesh{axes=model:8},dist-tensor-split{rules=w1=1:model,w2=0:model,w3=1:model},dist-propagate-sharding{close=false},dist-sequence-parallel)" 2>&1 | FileCheck %s --check-prefix=WASTE
// RUN: echo 'dist.mesh @mesh ["model"=2] func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = dist.all_reduce %x over @mesh ["model"] {reason = "sum", origin = "f"} : (tensor<4xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }' | not dist-opt - --dist-sequence-parallel 2>&1 | FileCheck %s --check-prefix=LOCAL

// LOCAL: dist-sequence-parallel: expected a module before dist-partition, but got a collective
// MESH: dist-sequence-parallel: expected a module with a mesh
// AXIS: 'dist.mesh' op has no axis 'rows', which dist-sequence-parallel asks for
// NONE: sequence-parallel: expected norms between contractions whose weights are split over 'model', but found none; leave it out, or split the weights of layers that a norm follows (--split-preset transformer)
// STRICT: sequence-parallel: dim 1 of 'graph.dot_general' has 6 elements, which 'model' cannot split into 4 equal parts; sizes that work are 4 and 8; and dim 0 of 'graph.dot_general' has 2 elements, which 'model' cannot split into 4 equal parts; the least that works is 4; choose such a size, or leave sequence-parallel out
// WASTE: sequence-parallel: dim 1 of 'graph.dot_general' has 3 elements, which 'model' cannot split into 8 equal parts, and half of them or more would be padding; the least that works is 8; and dim 0 of 'graph.dot_general' has 2 elements,
graph.variable @w1 : tensor<4x8xf32> trainable = dense<1.0> : tensor<4x8xf32>
graph.variable @w2 : tensor<8x4xf32> trainable = dense<1.0> : tensor<8x4xf32>
graph.variable @w3 : tensor<4x8xf32> trainable = dense<1.0> : tensor<4x8xf32>

// A norm follows the first pair, but the preset splits no weight behind it: only
// the rule for w3 does.
func.func @predict(%x: tensor<2x6x4xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
    %w1: tensor<4x8xf32> {graph.variable = @w1, graph.role = "variable"}, %w2: tensor<8x4xf32> {graph.variable = @w2, graph.role = "variable"},
    %w3: tensor<4x8xf32> {graph.variable = @w3, graph.role = "variable"})
    -> (tensor<2x6x8xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
  %1 = graph.dot_general %0, %w2 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x8xf32>, tensor<8x4xf32>) -> tensor<2x6x4xf32>
  %2 = graph.softmax %1 {axis = 2 : i64} : tensor<2x6x4xf32>
  %3 = graph.dot_general %2, %w3 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x6x4xf32>, tensor<4x8xf32>) -> tensor<2x6x8xf32>
  return %3 : tensor<2x6x8xf32>
}
