// An input that no op reads is still one of the model's: the first stage takes
// it, and no other.
// RUN: dist-opt %s --dist-split-stages | FileCheck %s
dist.mesh @mesh []
graph.variable @a : tensor<4xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<4xf32>
graph.variable @b : tensor<4xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<4xf32>

// CHECK-LABEL: func @predict_stage0
// CHECK-SAME: graph.name = "x"
// CHECK-SAME: dist.entry_index = 1 : i64, graph.name = "unused"
// CHECK-SAME: graph.variable = @a
// CHECK-LABEL: func @predict_stage1
// CHECK-NOT: graph.name = "unused"
// CHECK: return
func.func @predict(%x: tensor<4xf32> {graph.role = "input", graph.name = "x"},
    %u: tensor<2xf32> {graph.role = "input", graph.name = "unused"},
    %a: tensor<4xf32> {graph.variable = @a}, %b: tensor<4xf32> {graph.variable = @b})
    -> (tensor<4xf32> {graph.role = "output"}) {
  %0 = graph.mul %x, %a : tensor<4xf32>
  %1 = graph.mul %0, %b : tensor<4xf32>
  return %1 : tensor<4xf32>
}
