// RUN: dist-opt %s --graph-differentiate | FileCheck %s

graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @v : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @frozen : tensor<4xf32> = dense<1.0> : tensor<4xf32>

// w is used twice: the cotangents add up. v does not reach the loss: no
// gradient. The frozen variable's cotangent is not built.
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[X:[^:]+]]: tensor<4xf32> {graph.role = "input"}
// CHECK-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.role = "variable", graph.variable = @w}
// CHECK-SAME: %[[F:[^:]+]]: tensor<4xf32> {graph.role = "variable", graph.variable = @frozen}
// CHECK-SAME: tensor<f32> {graph.role = "loss"}
// CHECK-SAME: tensor<4xf32> {graph.name = "w", graph.role = "gradient", graph.variable = @w})
func.func @train_step(%x: tensor<4xf32> {graph.role = "input"},
    %w: tensor<4xf32> {graph.role = "variable", graph.variable = @w},
    %v: tensor<4xf32> {graph.role = "variable", graph.variable = @v},
    %f: tensor<4xf32> {graph.role = "variable", graph.variable = @frozen})
    -> (tensor<4xf32>, tensor<f32> {graph.role = "loss"}) {
  // CHECK: %[[FX:.+]] = graph.mul %[[F]], %[[X]]
  %0 = graph.mul %f, %x : tensor<4xf32>
  %1 = graph.mul %0, %w : tensor<4xf32>
  %2 = graph.add %1, %w : tensor<4xf32>
  %unused = graph.exp %v : tensor<4xf32>
  %loss = graph.reduce sum, %2 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  // CHECK: graph.exp
  // CHECK: %[[LOSS:.+]] = graph.reduce sum
  // CHECK: %[[ONE:.+]] = graph.broadcast
  // CHECK: %[[BY:.+]] = graph.mul %[[ONE]], %[[FX]]
  // CHECK-NOT: graph.mul
  // CHECK: %[[SUM:.+]] = graph.add %[[ONE]], %[[BY]]
  // CHECK: return %{{.+}}, %[[LOSS]], %[[SUM]]
  return %unused, %loss : tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: func @eval_step
// CHECK-SAME: -> (tensor<f32> {graph.role = "loss"})
func.func @eval_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  %loss = graph.reduce sum, %w {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
