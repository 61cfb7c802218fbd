// RUN: dist-opt %s --graph-add-loss='loss=none loss-output=cost partial=true' | FileCheck %s

// CHECK-LABEL: func @eval_step_partial
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x2xf32>
// CHECK: %[[PAIRS:.+]] = graph.reduce sum, %{{.+}} {dims = array<i64: 1>}
// CHECK: graph.mul %[[PAIRS]]
// CHECK: graph.select
// CHECK-LABEL: func @eval_step(
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss", graph.role = "loss"})
func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<4x2xf32> {graph.role = "output", graph.name = "y"}, tensor<4x2xf32> {graph.role = "output", graph.name = "cost"}) {
  %0 = graph.mul %x, %x : tensor<4x2xf32>
  return %x, %0 : tensor<4x2xf32>, tensor<4x2xf32>
}
