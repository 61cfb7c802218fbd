// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce),dist-split-portions{weights=3,1},func.func(dist-pad-indivisible),dist-partition)" -split-input-file | FileCheck %s

// A program a position: examples by weight, the variable whole, and one sum of
// gradients at which both meet.
// CHECK-LABEL: func.func @step_portion0(
// CHECK-SAME: tensor<6x4xf32> {dist.entry_index = 0 : i64, dist.global_type = tensor<8x4xf32>
// CHECK-SAME: tensor<4x2xf32>
// CHECK-SAME: attributes {dist.entry = "step", dist.portion = {axis = "data", position = 0 : i64, weights = array<i64: 3, 1>}}
// CHECK: graph.dot_general {{.*}} : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
// CHECK: %[[G:.+]] = graph.dot_general {{.*}} : (tensor<6x4xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
// CHECK: dist.all_reduce %[[G]] over @mesh ["data"] {{{.*}}op_id = 0 : i64
// CHECK-LABEL: func.func @step_portion1(
// CHECK-SAME: tensor<2x4xf32> {dist.entry_index = 0 : i64, dist.global_type = tensor<8x4xf32>
// CHECK-SAME: position = 1 : i64
// CHECK: graph.dot_general {{.*}} : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
// CHECK: %[[G:.+]] = graph.dot_general {{.*}} : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
// CHECK: dist.all_reduce %[[G]] over @mesh ["data"] {{{.*}}op_id = 0 : i64
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<4x2xf32> trainable {sharding = #dist.sharding<@mesh, [{}, {}]>} = dense<1.0> : tensor<4x2xf32>
func.func @step(
    %x: tensor<8x4xf32> {graph.batch_dim = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4x2xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x2xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %h = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g = graph.dot_general %x, %h {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %g : tensor<4x2xf32>
}

// -----
// Where a position's examples start is a constant: what all have whole is cut
// there. (Dropout's counters are such values.)
// CHECK-LABEL: func.func @places_portion0(
// CHECK: %[[I:.+]] = graph.iota {{.*}} : tensor<8xf32>
// CHECK: graph.slice %[[I]] {{{.*}}limits = array<i64: 6>, starts = array<i64: 0>{{.*}} -> tensor<6xf32>
// CHECK-LABEL: func.func @places_portion1(
// CHECK: %[[I:.+]] = graph.iota {{.*}} : tensor<8xf32>
// CHECK: graph.slice %[[I]] {{{.*}}limits = array<i64: 8>, starts = array<i64: 6>{{.*}} -> tensor<2xf32>
dist.mesh @mesh ["data"=2]
func.func @places(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %i = graph.iota {dim = 0 : i64} : tensor<8xf32>
  %0 = graph.add %x, %i : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
// What else the axis splits has equal parts: a variable's shards, padded where
// they do not divide, while the examples are not.
// CHECK-LABEL: func.func @shards_portion0(
// CHECK-SAME: tensor<3xf32> {dist.entry_index = 0 : i64, dist.global_type = tensor<4xf32>
// CHECK-SAME: tensor<3xf32> {dist.entry_index = 1 : i64, dist.global_type = tensor<5xf32>
// CHECK-LABEL: func.func @shards_portion1(
// CHECK-SAME: tensor<1xf32> {dist.entry_index = 0 : i64, dist.global_type = tensor<4xf32>
// CHECK-SAME: tensor<3xf32> {dist.entry_index = 1 : i64, dist.global_type = tensor<5xf32>
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<5xf32> {sharding = #dist.sharding<@mesh, [{"data"}]>} = dense<1.0> : tensor<5xf32>
func.func @shards(
    %x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
    %w: tensor<5xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
        tensor<5xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %0 = graph.exp %x : tensor<4xf32>
  %1 = graph.exp %w : tensor<5xf32>
  return %0, %1 : tensor<4xf32>, tensor<5xf32>
}

// -----
// Examples and tokens in one dim, whose minor part another axis splits.
// CHECK-LABEL: func.func @tokens_portion0(
// CHECK-SAME: tensor<3x2x5xf32>
// CHECK: dist.all_slice {{.*}} : (tensor<12x5xf32>) -> tensor<6x5xf32>
// CHECK-LABEL: func.func @tokens_portion1(
// CHECK-SAME: tensor<1x2x5xf32>
// CHECK: dist.all_slice {{.*}} : (tensor<4x5xf32>) -> tensor<2x5xf32>
dist.mesh @mesh ["data"=2, "model"=2]
func.func @tokens(%x: tensor<4x4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}, {}]>}) -> (tensor<16x5xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}, {}]>}) {
  %0 = graph.reshape %x : (tensor<4x4x5xf32>) -> tensor<16x5xf32>
  return %0 : tensor<16x5xf32>
}
