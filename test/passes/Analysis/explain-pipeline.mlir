// RUN: dist-opt %s --dist-split-stages=schedule=gpipe --test-explain -o /dev/null | FileCheck %s

// Each stage is an entry of its own; what is sent is a row, once.
// CHECK: devices: 2 (mesh stage=2)
// CHECK: @predict_stage0
// CHECK: stage 0 of 2, 2 microbatches by gpipe, at most 2 in flight; equal stages wait 33 % of the time
// CHECK: send
// CHECK-SAME: stage (2 ranks)
// CHECK: @predict_stage1
// CHECK: stage 1 of 2
// CHECK: no transfers
dist.mesh @mesh []
dist.mesh @microbatches ["microbatch"=2]
graph.variable @a : tensor<4xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<4xf32>
graph.variable @b : tensor<4xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<4xf32>
func.func @predict(%x: tensor<4xf32>, %y: tensor<4xf32>, %a: tensor<4xf32> {graph.variable = @a}, %b: tensor<4xf32> {graph.variable = @b})
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.mul %x, %a {dist.microbatch = 0 : i64} : tensor<4xf32>
  %1 = graph.mul %y, %a {dist.microbatch = 1 : i64} : tensor<4xf32>
  %2 = graph.mul %0, %b {dist.microbatch = 0 : i64} : tensor<4xf32>
  %3 = graph.mul %1, %b {dist.microbatch = 1 : i64} : tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}
