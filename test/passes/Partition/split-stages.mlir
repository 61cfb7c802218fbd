// RUN: dist-opt %s --dist-split-stages=schedule=gpipe | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: dist-opt %s --dist-split-stages | FileCheck %s --check-prefixes=CHECK,ONE

// Two microbatches over two stages: the backward value of the first comes back
// after both have gone (gpipe), or before the second's is made on the last stage
// (1f1b). The variable's sum of gradients stays where the variable is.
// CHECK: dist.mesh @mesh ["stage"=2]
dist.mesh @mesh []
dist.mesh @microbatches ["microbatch"=2]
graph.variable @a : tensor<4xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<4xf32>
graph.variable @b : tensor<4xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<4xf32>
graph.variable @n : tensor<f32> {group = "counter"} = dense<0.0> : tensor<f32>

// CHECK-LABEL: func @train_step_stage0
// CHECK-SAME: %[[X0:[a-z0-9]+]]: tensor<4xf32> {dist.entry_index = 0 : i64}
// CHECK-SAME: %[[X1:[a-z0-9]+]]: tensor<4xf32> {dist.entry_index = 1 : i64}
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4xf32> {dist.entry_index = 2 : i64, graph.variable = @a}
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<f32> {dist.entry_index = 4 : i64, graph.variable = @n}
// CHECK-SAME: -> (tensor<4xf32> {dist.entry_index = 1 : i64, graph.variable = @a}, tensor<f32> {dist.entry_index = 3
// CHECK-SAME: attributes {dist.entry = "train_step", dist.stage = 0 : i64, pipeline = {bubble =
// GPIPE-SAME: 0.33{{.*}}in_flight = array<i64: 2, 2>
// ONE-SAME: 0.33{{.*}}in_flight = array<i64: 2, 1>
// CHECK: %[[F0:.+]] = graph.mul %[[X0]], %[[A]]
// CHECK: dist.send %[[F0]] over @mesh ["stage"] to 1 tag [[T0:[0-9]+]] {{.*}}reason = "stage 1 of the pipeline reads mul '
// CHECK: %[[F1:.+]] = graph.mul %[[X1]], %[[A]]
// CHECK: dist.send %[[F1]] over @mesh ["stage"] to 1 tag [[T1:[0-9]+]]
// CHECK: %[[D0:.+]] = dist.recv over @mesh ["stage"] from 1 tag [[T2:[0-9]+]]
// CHECK: %[[G0:.+]] = graph.mul %[[D0]], %[[X0]]
// CHECK: %[[D1:.+]] = dist.recv over @mesh ["stage"] from 1 tag [[T3:[0-9]+]]
// CHECK: %[[G1:.+]] = graph.mul %[[D1]], %[[X1]]
// CHECK: %[[G:.+]] = graph.add %[[G0]], %[[G1]]
// CHECK: %[[A2:.+]] = graph.sub %[[A]], %[[G]]
// CHECK: %[[N2:.+]] = graph.add %[[N]]
// CHECK: %[[A3:.+]] = graph.mul %[[A2]]
// CHECK: return %[[A3]], %[[N2]]

// CHECK-LABEL: func @train_step_stage1
// CHECK: dist.recv over @mesh ["stage"] from 0 tag [[T0]]
// GPIPE: dist.recv over @mesh ["stage"] from 0 tag [[T1]]
// CHECK: dist.send {{.*}} to 0 tag [[T2]]
// ONE: dist.recv over @mesh ["stage"] from 0 tag [[T1]]
// CHECK: dist.send {{.*}} to 0 tag [[T3]]
func.func @train_step(%x0: tensor<4xf32>, %x1: tensor<4xf32>, %a: tensor<4xf32> {graph.variable = @a},
    %b: tensor<4xf32> {graph.variable = @b}, %n: tensor<f32> {graph.variable = @n})
    -> (tensor<4xf32> {graph.role = "loss"}, tensor<4xf32> {graph.variable = @a}, tensor<4xf32> {graph.variable = @b}, tensor<f32> {graph.variable = @n}) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %next = graph.add %n, %one : tensor<f32>
  %w = graph.broadcast %next {dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
  %f0 = graph.mul %x0, %a {dist.microbatch = 0 : i64} : tensor<4xf32>
  %l0 = graph.mul %f0, %b {dist.microbatch = 0 : i64} : tensor<4xf32>
  %d0 = graph.sub %b, %f0 {dist.microbatch = 0 : i64} : tensor<4xf32>
  %g0 = graph.mul %d0, %x0 {dist.microbatch = 0 : i64} : tensor<4xf32>
  %f1 = graph.mul %x1, %a {dist.microbatch = 1 : i64} : tensor<4xf32>
  %l1 = graph.mul %f1, %b {dist.microbatch = 1 : i64} : tensor<4xf32>
  %d1 = graph.sub %b, %f1 {dist.microbatch = 1 : i64} : tensor<4xf32>
  %g1 = graph.mul %d1, %x1 {dist.microbatch = 1 : i64} : tensor<4xf32>
  %loss = graph.add %l0, %l1 : tensor<4xf32>
  %g = graph.add %g0, %g1 : tensor<4xf32>
  %a2 = graph.sub %a, %g : tensor<4xf32>
  %s = graph.add %d0, %d1 : tensor<4xf32>
  %b2 = graph.sub %b, %s : tensor<4xf32>
  %b3 = graph.mul %b2, %w : tensor<4xf32>
  %a3 = graph.mul %a2, %w : tensor<4xf32>
  return %loss, %a3, %b3, %next : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
}
