// RUN: dist-opt %s --dist-propagate-sharding | FileCheck %s
// RUN: dist-opt %s --dist-propagate-sharding=close=false | FileCheck %s --check-prefix=OPEN
// RUN: dist-opt %s --dist-propagate-sharding=close=false --dist-propagate-sharding | FileCheck %s

dist.mesh @mesh ["data"=2, "model"=2]

// The weight is split by hand; its bias and its slot follow, whatever function
// they are met in; nothing takes the axis that it is kept whole over.
// CHECK: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{}, {"model"}]>
// OPEN: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model"}], replicated = {"data"}>
graph.variable @w : tensor<4x8xf32> trainable {sharding = #dist.sharding<@mesh, [{?}, {"model"}], replicated = {"data"}>} = dense<0.5> : tensor<4x8xf32>
// CHECK: graph.variable @m {{.*}}sharding = #dist.sharding<@mesh, [{}, {"model"}]>
// OPEN: graph.variable @m {{.*}}sharding = #dist.sharding<@mesh, [{?}, {"model", ?}], replicated = {"data"}>
graph.variable @m : tensor<4x8xf32> {group = "slot", slot_of = @w, sharding = #dist.sharding<@mesh, [{?}, {?}], replicated = {"data"}>} = dense<0.0> : tensor<4x8xf32>
// CHECK: graph.variable @b {{.*}}sharding = #dist.sharding<@mesh, [{"model"}]>
// OPEN: graph.variable @b {{.*}}sharding = #dist.sharding<@mesh, [{"model", ?}], replicated = {"data"}>
graph.variable @b : tensor<8xf32> trainable {sharding = #dist.sharding<@mesh, [{?}], replicated = {"data"}>} = dense<0.5> : tensor<8xf32>

// CHECK-LABEL: func @predict
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
// CHECK-SAME: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>
// The output's open dim follows.
// CHECK-SAME: -> (tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>
func.func @predict(
    %x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4x8xf32> {graph.variable = @w}, %b: tensor<8xf32> {graph.variable = @b})
    -> (tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {?}]>}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<2x8xf32>
  %2 = graph.add %0, %1 : tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// CHECK-LABEL: func @apply
// CHECK-SAME: %{{[^:]+}}: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>
func.func @apply(%w: tensor<4x8xf32> {graph.variable = @w}, %m: tensor<4x8xf32> {graph.variable = @m})
    -> (tensor<4x8xf32> {graph.variable = @w}, tensor<4x8xf32> {graph.variable = @m}) {
  // CHECK: graph.add {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"model"}]>]
  %0 = graph.add %w, %m : tensor<4x8xf32>
  return %0, %m : tensor<4x8xf32>, tensor<4x8xf32>
}

// What is read and what is assigned would have it otherwise: one layout holds
// for both, since functions share the variable's buffer.
// CHECK-LABEL: func @disagree
// CHECK-SAME: %{{[^:]+}}: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>, graph.variable = @v}
// CHECK-SAME: -> (tensor<4x8xf32>{{.*}}, tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>, graph.variable = @v})
graph.variable @v : tensor<4x8xf32> trainable {sharding = #dist.sharding<@mesh, [{?}, {?}], replicated = {"data"}>} = dense<0.5> : tensor<4x8xf32>
func.func @disagree(
    %x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
    %g: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
    %v: tensor<4x8xf32> {graph.variable = @v})
    -> (tensor<4x8xf32>, tensor<4x8xf32> {graph.variable = @v}) {
  %0 = graph.add %x, %v : tensor<4x8xf32>
  %1 = graph.mul %g, %g : tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
