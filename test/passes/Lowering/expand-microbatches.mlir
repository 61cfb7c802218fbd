// Of eight microbatches five are shown, and the others' copies are those that
// dist-unroll-microbatches would have made, in the same order.
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-partition-pipeline{stages=2 shown-microbatches=5})" | FileCheck %s --check-prefix=FEW
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-partition-pipeline{stages=2 shown-microbatches=5},rt-expand-microbatches)" > %t.expanded
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-partition-pipeline{stages=2})" > %t.unrolled
// RUN: diff %t.expanded %t.unrolled
// RUN: FileCheck %s < %t.expanded
// Without a remark in locations of whose copies they were.
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-partition-pipeline{stages=2 shown-microbatches=5},rt-expand-microbatches)" --mlir-print-debuginfo | FileCheck %s --check-prefix=PLACES --implicit-check-not="fused<array<i64:"

// FEW-LABEL: func @train_step_stage0
// FEW-SAME: dist.shown_microbatches = 5
// FEW-COUNT-5: graph.tanh
// FEW-NOT: graph.tanh
// FEW-LABEL: func @train_step_stage1

// CHECK-LABEL: func @train_step_stage0
// CHECK-NOT: dist.shown_microbatches
// CHECK: %[[X0:.+]] = graph.slice %arg0 {{.*}}starts = array<i64: 0, 0>
// CHECK: dist.send {{.*}} tag 0 {dist.microbatch = 0
// CHECK: graph.slice %arg0 {{.*}}starts = array<i64: 2, 0>
// CHECK: dist.send {{.*}} tag 1 {dist.microbatch = 1
// 1f1b: one more than the stages that follow.
// CHECK: %[[R:.+]] = dist.recv {{.*}} tag 8 {dist.microbatch = 0
// CHECK: %[[M:.+]] = graph.mul %[[R]]
// CHECK: graph.dot_general %[[X0]], %[[M]]
// CHECK: %[[X4:.+]] = graph.slice %arg0 {{.*}}starts = array<i64: 8, 0>
// CHECK: %[[H4:.+]] = graph.dot_general %[[X4]], %arg1
// CHECK: %[[A4:.+]] = graph.tanh %[[H4]]
// CHECK: dist.send %[[A4]] {{.*}} tag 4 {dist.microbatch = 4
// CHECK: dist.recv {{.*}} tag 11 {dist.microbatch = 3
// CHECK: %[[S3:.+]] = graph.add
// CHECK: dist.send {{.*}} tag 5 {dist.microbatch = 5
// CHECK: %[[R4:.+]] = dist.recv {{.*}} tag 12 {dist.microbatch = 4
// CHECK: %[[M4:.+]] = graph.mul %[[R4]], %[[A4]]
// CHECK: %[[G4:.+]] = graph.dot_general %[[X4]], %[[M4]]
// CHECK: %[[S4:.+]] = graph.add %[[S3]], %[[G4]]
// CHECK: graph.slice %arg0 {{.*}}starts = array<i64: 12, 0>
// CHECK: dist.recv {{.*}} tag 15 {dist.microbatch = 7
// CHECK: %[[S:.+]] = graph.add
// CHECK: %[[W:.+]] = graph.sub %arg1, %[[S]]
// CHECK: return %[[W]]
// PLACES-LABEL: func @train_step_stage1

dist.mesh @mesh ["microbatch"=8]
graph.variable @w0 : tensor<32x8xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<32x8xf32>
graph.variable @w1 : tensor<8x8xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<8x8xf32>
func.func @train_step(
    %x: tensor<16x32xf32> {graph.role = "input", dist.sharding = #dist.sharding<@mesh, [{"microbatch"}, {}]>},
    %w0: tensor<32x8xf32> {graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w1: tensor<8x8xf32> {graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<f32> {graph.role = "output", dist.sharding = #dist.sharding<@mesh, []>},
        tensor<32x8xf32> {graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
        tensor<8x8xf32> {graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %h = graph.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
  %a = graph.tanh %h : tensor<16x8xf32>
  %d = graph.dot_general %a, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %l = graph.reduce sum, %d {dims = array<i64: 0, 1>} : (tensor<16x8xf32>) -> tensor<f32>
  %g1 = graph.dot_general %a, %d {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %da = graph.dot_general %d, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %dh = graph.mul %da, %a : tensor<16x8xf32>
  %g0 = graph.dot_general %x, %dh {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<16x32xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %w0n = graph.sub %w0, %g0 : tensor<32x8xf32>
  %w1n = graph.sub %w1, %g1 : tensor<8x8xf32>
  return %l, %w0n, %w1n : tensor<f32>, tensor<32x8xf32>, tensor<8x8xf32>
}
