// RUN: dist-opt %s -split-input-file --graph-training-mode='partial=true weights=1,1' | FileCheck %s

// Noise on pieces of examples, two of each: drawn by the example's number, which
// copies before it do not change; in evaluation, too, which takes no step.
// CHECK-LABEL: func.func @predict
// CHECK: graph.random_uniform %{{.+}} {seed = 1 : i64} : (tensor<i64>) -> tensor<8x3xf32>
// CHECK-LABEL: func.func @eval_step_partial
// CHECK-SAME: role = "mask"
// CHECK-NOT: graph.assign
// CHECK: graph.random_uniform %{{.+}} rows %{{.+}} {dim = 0 : i64, seed = 1 : i64} : (tensor<i64>, tensor<8xi64>) -> tensor<8x3xf32>
// CHECK-LABEL: func.func @eval_step
// CHECK-LABEL: func.func @train_step_partial
// CHECK: graph.assign @"random/step"
// CHECK: %[[BEFORE:.+]] = graph.gather
// CHECK: %[[EXAMPLE:.+]] = graph.sub %{{.+}}, %[[BEFORE]]
// CHECK: %[[FIRST:.+]] = graph.mul %[[EXAMPLE]]
// CHECK: %[[ROWS:.+]] = graph.add %[[FIRST]]
// CHECK: graph.random_uniform %{{.+}} rows %[[ROWS]] {dim = 0 : i64, seed = 1 : i64} : (tensor<i64>, tensor<8xi64>) -> tensor<8x3xf32>
// CHECK: return
graph.variable @"random/step" : tensor<i64> {group = "counter", aggregation = 3 : i32} = dense<0> : tensor<i64>
func.func @predict(%x: tensor<4x6xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x6xf32> {graph.role = "output"}) {
  %step = graph.read @"random/step" : tensor<i64>
  %0 = graph.reshape %x : (tensor<4x6xf32>) -> tensor<8x3xf32>
  %1 = graph.random_uniform %step {seed = 1 : i64} : (tensor<i64>) -> tensor<8x3xf32>
  %2 = graph.neg %1 : tensor<8x3xf32>
  %3 = graph.add %0, %2 : tensor<8x3xf32>
  %4 = graph.reshape %3 : (tensor<8x3xf32>) -> tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// -----

// Noise on weights has no examples, though its first dim is as large as the
// batch; nor have a dropout's ones for them.
// CHECK-LABEL: func.func @train_step_partial
// CHECK: graph.random_uniform %{{.+}} {seed = 2 : i64} : (tensor<i64>) -> tensor<4x4xf32>
// CHECK: graph.random_uniform %{{[^ ]+}} {seed = {{.+}}} : (tensor<i64>) -> tensor<4x4xf32>
// CHECK: return
graph.variable @"random/step" : tensor<i64> {group = "counter", aggregation = 3 : i32} = dense<0> : tensor<i64>
graph.variable @w : tensor<4x4xf32> trainable = dense<1.0> : tensor<4x4xf32>
func.func @predict(%x: tensor<4x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x4xf32> {graph.role = "output"}) {
  %step = graph.read @"random/step" : tensor<i64>
  %w = graph.read @w : tensor<4x4xf32>
  %0 = graph.random_uniform %step {seed = 2 : i64} : (tensor<i64>) -> tensor<4x4xf32>
  %ones = graph.constant dense<1.0> : tensor<4x4xf32>
  %1 = graph.dropout %ones {rate = 0.5 : f64} : tensor<4x4xf32>
  %2 = graph.add %w, %0 : tensor<4x4xf32>
  %3 = graph.mul %2, %1 : tensor<4x4xf32>
  %4 = graph.dot_general %x, %3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// Ones that examples are multiplied by drop by the example.
// CHECK-LABEL: func.func @train_step_partial
// CHECK: graph.random_uniform %{{.+}} rows %{{.+}} {dim = 0 : i64, seed = {{.+}}} : (tensor<i64>, tensor<4xi64>) -> tensor<4x6xf32>
// CHECK: return
func.func @predict(%x: tensor<4x6xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x6xf32> {graph.role = "output"}) {
  %ones = graph.constant dense<1.0> : tensor<4x6xf32>
  %0 = graph.dropout %ones {rate = 0.5 : f64} : tensor<4x6xf32>
  %1 = graph.mul %x, %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
