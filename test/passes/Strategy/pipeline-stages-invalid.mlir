// RUN: dist-opt %s --split-input-file --dist-pipeline-stages="stages=2 chunks=2" -verify-diagnostics
// RUN: not dist-opt %s --split-input-file --dist-pipeline-stages=stages=0 2>&1 >/dev/null | FileCheck %s --check-prefix=ZERO
// ZERO: expected at least one stage and one chunk, but got 0 and 1
// RUN: not dist-opt %s --split-input-file --dist-pipeline-stages="stages=9223372036854775807 chunks=4294967296" 2>&1 >/dev/null | FileCheck %s --check-prefix=MANY
// MANY: a pipeline of 9223372036854775807 chunks needs as many ops with parameters

graph.variable @a : tensor<16x16xf32> trainable = dense<0.1> : tensor<16x16xf32>
// expected-error @+1 {{a pipeline of 4 chunks needs as many ops with parameters (a layer's weight and its bias are of two), but the model has 1; use fewer}}
func.func @predict(%x: tensor<4x16xf32>, %a: tensor<16x16xf32> {graph.variable = @a}) -> (tensor<4x16xf32> {graph.role = "output"}) {
  %0 = graph.dot_general %x, %a {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Nothing to cut at all.
// expected-error @+1 {{a pipeline of 4 chunks needs as many ops with parameters (a layer's weight and its bias are of two), but the model has 0; use fewer}}
func.func @predict(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {graph.role = "output"}) {
  %0 = graph.exp %x : tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}
