// RUN: dist-opt %s --dist-split-stages | FileCheck %s --check-prefix=SPLIT
// RUN: dist-opt %s --dist-split-stages=schedule=gpipe --dist-unroll-microbatches | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: dist-opt %s --dist-split-stages --dist-unroll-microbatches | FileCheck %s --check-prefixes=CHECK,ONE

// Each stage's function has one op for all microbatches, and says what is
// backward work.
// SPLIT-LABEL: func @train_step_stage0
// SPLIT-SAME: pipeline = {bubble =
// SPLIT: %[[F:.+]] = graph.mul %{{.+}}, %{{.+}} {dist.microbatch} : tensor<2xf32>
// SPLIT-NEXT: dist.send %[[F]] over @mesh ["stage"] to 1 tag 0 {dist.microbatch, {{.*}}reason = "stage 1 of the pipeline reads mul '
// SPLIT-NOT: graph.mul
// SPLIT: dist.recv over @mesh ["stage"] from 1 tag 1 {dist.microbatch,
// SPLIT-NEXT: graph.mul %{{.+}} {dist.backward, dist.microbatch} : tensor<2xf32>
// SPLIT-LABEL: func @train_step_stage1
// SPLIT: dist.recv over @mesh ["stage"] from 0 tag 0 {dist.microbatch,
// SPLIT-NEXT: graph.mul %{{.+}} {dist.microbatch} : tensor<2xf32>
// SPLIT: %[[D:.+]] = graph.sub %{{.+}} {dist.backward, dist.microbatch} : tensor<2xf32>
// SPLIT: dist.send %[[D]] over @mesh ["stage"] to 0 tag 1

// Two microbatches over two stages: the backward value of the first comes back
// after both have gone (gpipe), or before the second's is made on the last stage
// (1f1b). The variable's sum of gradients stays where the variable is. Messages
// of different microbatches have different tags.
// CHECK: dist.mesh @mesh ["stage"=2]
dist.mesh @mesh []
dist.mesh @microbatches ["microbatch"=2]
graph.variable @a : tensor<2xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<2xf32>
graph.variable @b : tensor<2xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<2xf32>
graph.variable @n : tensor<f32> {group = "counter"} = dense<0.0> : tensor<f32>

// CHECK-LABEL: func @train_step_stage0
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32> {dist.entry_index = 0 : i64}
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2xf32> {dist.entry_index = 1 : i64, graph.variable = @a}
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<f32> {dist.entry_index = 3 : i64, graph.variable = @n}
// CHECK-SAME: -> (tensor<2xf32> {dist.entry_index = 1 : i64, graph.variable = @a}, tensor<f32> {dist.entry_index = 3
// CHECK-SAME: attributes {dist.entry = "train_step", dist.stage = 0 : i64, pipeline = {bubble =
// GPIPE-SAME: 0.33{{.*}}in_flight = array<i64: 2, 2>
// ONE-SAME: 0.33{{.*}}in_flight = array<i64: 2, 1>
// CHECK: %[[X0:.+]] = graph.slice %[[X]] {dist.microbatch = 0
// CHECK: %[[F0:.+]] = graph.mul %[[X0]], %[[A]] {dist.microbatch = 0 : i64} :
// CHECK: dist.send %[[F0]] over @mesh ["stage"] to 1 tag [[T0:[0-9]+]] {
// CHECK: %[[X1:.+]] = graph.slice %[[X]] {dist.microbatch = 1
// CHECK: %[[F1:.+]] = graph.mul %[[X1]], %[[A]]
// CHECK: dist.send %[[F1]] over @mesh ["stage"] to 1 tag [[T1:[0-9]+]] {
// CHECK: %[[D0:.+]] = dist.recv over @mesh ["stage"] from 1 tag [[T2:[0-9]+]] {
// CHECK: %[[G0:.+]] = graph.mul %[[D0]], %[[X0]]
// CHECK: %[[D1:.+]] = dist.recv over @mesh ["stage"] from 1 tag [[T3:[0-9]+]] {
// CHECK: %[[G1:.+]] = graph.mul %[[D1]], %[[X1]]
// CHECK: %[[G:.+]] = graph.add %[[G0]], %[[G1]]
// CHECK: %[[A2:.+]] = graph.sub %[[A]], %[[G]]
// CHECK: %[[N2:.+]] = graph.add %[[N]]
// CHECK: %[[A3:.+]] = graph.mul %[[A2]]
// CHECK: return %[[A3]], %[[N2]]

// CHECK-LABEL: func @train_step_stage1
// CHECK: dist.recv over @mesh ["stage"] from 0 tag [[T0]] {
// GPIPE: dist.recv over @mesh ["stage"] from 0 tag [[T1]] {
// CHECK: dist.send {{.*}} to 0 tag [[T2]] {
// ONE: dist.recv over @mesh ["stage"] from 0 tag [[T1]] {
// CHECK: dist.send {{.*}} to 0 tag [[T3]] {
func.func @train_step(%x: tensor<4xf32>, %a: tensor<2xf32> {graph.variable = @a},
    %b: tensor<2xf32> {graph.variable = @b}, %n: tensor<f32> {graph.variable = @n})
    -> (tensor<2xf32> {graph.role = "loss"}, tensor<2xf32> {graph.variable = @a}, tensor<2xf32> {graph.variable = @b}, tensor<f32> {graph.variable = @n}) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %next = graph.add %n, %one : tensor<f32>
  %w = graph.broadcast %next {dims = array<i64>} : (tensor<f32>) -> tensor<2xf32>
  %m = dist.all_slice %x over @microbatches ["microbatch"] {dims = array<i64: 0>, dist.microbatch, reason = "a test", origin = "x"} : (tensor<4xf32>) -> tensor<2xf32>
  %f = graph.mul %m, %a {dist.microbatch} : tensor<2xf32>
  %l = graph.mul %f, %b {dist.microbatch} : tensor<2xf32>
  %d = graph.sub %b, %f {dist.microbatch} : tensor<2xf32>
  %ga = graph.mul %d, %m {dist.microbatch} : tensor<2xf32>
  %loss = dist.all_reduce %l over @microbatches ["microbatch"] {reason = "a test", origin = "loss"} : (tensor<2xf32>) -> tensor<2xf32>
  %g = dist.all_reduce %ga over @microbatches ["microbatch"] {reason = "a test", origin = "a"} : (tensor<2xf32>) -> tensor<2xf32>
  %a2 = graph.sub %a, %g : tensor<2xf32>
  %s = dist.all_reduce %d over @microbatches ["microbatch"] {reason = "a test", origin = "b"} : (tensor<2xf32>) -> tensor<2xf32>
  %b2 = graph.sub %b, %s : tensor<2xf32>
  %b3 = graph.mul %b2, %w : tensor<2xf32>
  %a3 = graph.mul %a2, %w : tensor<2xf32>
  return %loss, %a3, %b3, %next : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>
}
