// Copies of microbatches are made last: what takes the program apart works on one
// op for all of them, and without `unroll` so it stays.
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-partition-pipeline{stages=2 unroll=false})" | FileCheck %s --check-prefix=ROLLED
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-partition-pipeline{stages=2})" | FileCheck %s --check-prefix=COPIES
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-partition-pipeline{stages=2 unroll=false},dist-unroll-microbatches)" | FileCheck %s --check-prefix=COPIES

// ROLLED-LABEL: func @train_step_stage0
// ROLLED: dist.all_slice %{{.+}} over @microbatches ["microbatch"]
// ROLLED-COUNT-1: graph.tanh
// ROLLED-NOT: graph.tanh
// Gradients are one transfer between ranks, once their microbatches are summed.
// ROLLED: %[[S:.+]] = dist.all_reduce %{{.+}} over @microbatches ["microbatch"]
// ROLLED: dist.all_reduce %[[S]] over @mesh ["data"]
// ROLLED-NOT: dist.all_reduce
// ROLLED-LABEL: func @train_step_stage1

// COPIES-LABEL: func @train_step_stage0
// COPIES-NOT: @microbatches ["microbatch"]
// COPIES: graph.tanh %{{.+}} {dist.microbatch = 0 : i64,
// COPIES: graph.tanh %{{.+}} {dist.microbatch = 1 : i64,
// COPIES-NOT: graph.tanh
// COPIES: %[[S:.+]] = graph.add
// COPIES: dist.all_reduce %[[S]] over @mesh ["data"]
// COPIES-NOT: dist.all_reduce
// COPIES-LABEL: func @train_step_stage1

dist.mesh @mesh ["data"=2, "microbatch"=2]
graph.variable @w0 : tensor<6x8xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<6x8xf32>
graph.variable @w1 : tensor<8x8xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<8x8xf32>
func.func @train_step(
    %x: tensor<8x6xf32> {graph.role = "input", dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}, {}]>},
    %w0: tensor<6x8xf32> {graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w1: tensor<8x8xf32> {graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x8xf32> {graph.role = "output", dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}, {}]>},
        tensor<6x8xf32> {graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
        tensor<8x8xf32> {graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %h = graph.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  %a = graph.tanh %h : tensor<8x8xf32>
  %d = graph.dot_general %a, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %g1 = graph.dot_general %a, %d {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %da = graph.dot_general %d, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %g0 = graph.dot_general %x, %da {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %w0n = graph.sub %w0, %g0 : tensor<6x8xf32>
  %w1n = graph.sub %w1, %g1 : tensor<8x8xf32>
  return %d, %w0n, %w1n : tensor<8x8xf32>, tensor<6x8xf32>, tensor<8x8xf32>
}
