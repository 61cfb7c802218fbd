// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-tensor-split,dist-propagate-sharding{close=false},dist-sequence-parallel,dist-partition-pipeline)" | FileCheck %s

// Two ranks divide neither five tokens nor a batch of three: sixth tokens are fewer
// than a fourth example would have.
dist.mesh @mesh ["model"=2]
graph.variable @w1 : tensor<4x8xf32> trainable = dense<1.0> : tensor<4x8xf32>
graph.variable @w2 : tensor<8x4xf32> trainable = dense<1.0> : tensor<8x4xf32>
graph.variable @w3 : tensor<4x8xf32> trainable = dense<1.0> : tensor<4x8xf32>
graph.variable @w4 : tensor<8x4xf32> trainable = dense<1.0> : tensor<8x4xf32>
graph.variable @scale : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @bias : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: func.func @predict
// CHECK-NOT: dist.all_reduce
// CHECK: graph.pad {{.*}}high = array<i64: 0, 1, 0>
// CHECK: dist.reduce_scatter {{.*}}dims = array<i64: 1>
// CHECK: graph.layer_norm {{.*}} : (tensor<3x3x4xf32>
// CHECK: dist.all_gather {{.*}}dims = array<i64: 1>
// CHECK: graph.slice {{.*}}tensor<3x5x4xf32>
// CHECK: dist.reduce_scatter {{.*}}dims = array<i64: 1>
// CHECK-NOT: dist.all_reduce
// CHECK: return
func.func @predict(%x: tensor<3x5x4xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
    %w1: tensor<4x8xf32> {graph.variable = @w1, graph.role = "variable"}, %w2: tensor<8x4xf32> {graph.variable = @w2, graph.role = "variable"},
    %w3: tensor<4x8xf32> {graph.variable = @w3, graph.role = "variable"}, %w4: tensor<8x4xf32> {graph.variable = @w4, graph.role = "variable"},
    %scale: tensor<4xf32> {graph.variable = @scale, graph.role = "variable"}, %bias: tensor<4xf32> {graph.variable = @bias, graph.role = "variable"})
    -> (tensor<3x5x4xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<3x5x4xf32>, tensor<4x8xf32>) -> tensor<3x5x8xf32>
  %1 = graph.tanh %0 : tensor<3x5x8xf32>
  %2 = graph.dot_general %1, %w2 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<3x5x8xf32>, tensor<8x4xf32>) -> tensor<3x5x4xf32>
  %3 = graph.add %x, %2 : tensor<3x5x4xf32>
  %4, %mean, %inv = graph.layer_norm %3, %scale, %bias {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<3x5x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x5x4xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  %5 = graph.dot_general %4, %w3 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<3x5x4xf32>, tensor<4x8xf32>) -> tensor<3x5x8xf32>
  %6 = graph.tanh %5 : tensor<3x5x8xf32>
  %7 = graph.dot_general %6, %w4 {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<3x5x8xf32>, tensor<8x4xf32>) -> tensor<3x5x4xf32>
  %8 = graph.add %3, %7 : tensor<3x5x4xf32>
  return %8 : tensor<3x5x4xf32>
}
