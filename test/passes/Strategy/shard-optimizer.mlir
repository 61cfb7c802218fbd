// RUN: dist-opt %s --dist-create-mesh=axes=data:2 "--dist-shard-optimizer=stage=1" | FileCheck %s
// RUN: dist-opt %s --dist-create-mesh=axes=data:2 "--dist-shard-optimizer=stage=2" | FileCheck %s --check-prefix=TWO
// RUN: dist-opt %s --dist-create-mesh=axes=data:2 "--dist-shard-optimizer=stage=3" | FileCheck %s --check-prefix=THREE
// RUN: dist-opt %s --dist-create-mesh=axes=data:2 "--dist-shard-optimizer=stage=3 strict-divisibility=true" | FileCheck %s --check-prefix=STRICT

// Without another strategy the batch is split, too.
// CHECK: dist.mesh @mesh ["data"=2] {why = {data = "--strategy=zero splits the batch over 'data'"}}

// CHECK: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{}, {}]>
// THREE: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{"data"}, {}]>
graph.variable @w : tensor<4x8xf32> trainable = dense<0.5> : tensor<4x8xf32>
// The first dim that divides.
// THREE: graph.variable @inner {{.*}}sharding = #dist.sharding<@mesh, [{}, {"data"}]>
graph.variable @inner : tensor<3x8xf32> trainable = dense<0.5> : tensor<3x8xf32>
// No dim divides: the one with the least padding (parts of 4 and 3, not of 3
// and 2), a vector in parts of 3 and 2; or they stay as they are, with slots.
// THREE: graph.variable @both {{.*}}sharding = #dist.sharding<@mesh, [{}, {"data"}]>
graph.variable @both : tensor<5x7xf32> trainable = dense<0.5> : tensor<5x7xf32>
// CHECK: graph.variable @odd {{.*}}sharding = #dist.sharding<@mesh, [{}]>
// THREE: graph.variable @odd {{.*}}sharding = #dist.sharding<@mesh, [{"data"}]>
// STRICT: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{"data"}, {}]>
// STRICT: graph.variable @both {{.*}}sharding = #dist.sharding<@mesh, [{}, {}]>
// STRICT: graph.variable @odd {{.*}}sharding = #dist.sharding<@mesh, [{}]>
// STRICT: graph.variable @odd.m {{.*}}sharding = #dist.sharding<@mesh, [{}]>
graph.variable @odd : tensor<5xf32> trainable = dense<0.5> : tensor<5xf32>
// CHECK: graph.variable @w.m {{.*}}sharding = #dist.sharding<@mesh, [{"data"}, {}]>
graph.variable @w.m : tensor<4x8xf32> {group = "slot", slot_of = @w} = dense<0.0> : tensor<4x8xf32>
// CHECK: graph.variable @odd.m {{.*}}sharding = #dist.sharding<@mesh, [{"data"}]>
graph.variable @odd.m : tensor<5xf32> {group = "slot", slot_of = @odd} = dense<0.0> : tensor<5xf32>
graph.variable @near.v : tensor<8x8xf32> trainable = dense<0.5> : tensor<8x8xf32>
graph.variable @near.b : tensor<8xf32> trainable = dense<0.5> : tensor<8xf32>
// Half of the parts of one element would be padding.
// THREE: graph.variable @one {{.*}}sharding = #dist.sharding<@mesh, [{}]>
graph.variable @one : tensor<1xf32> trainable = dense<0.5> : tensor<1xf32>
// An accumulator is a sum over the ranks until stage 2.
// CHECK: graph.variable @w.acc {{.*}}sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"data"}>
// TWO: graph.variable @w.acc : tensor<4x8xf32> {dist.why = {data = "--strategy=zero:stage=2 keeps it in shards along 'data'"}, group = "accumulator", sharding = #dist.sharding<@mesh, [{"data"}, {}]>, slot_of = @w}
graph.variable @w.acc : tensor<4x8xf32> {group = "accumulator", slot_of = @w, synchronization = 1 : i32, aggregation = 1 : i32} = dense<0.0> : tensor<4x8xf32>

// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
// CHECK-SAME: %[[W:[^:]+]]: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>
// CHECK-SAME: %[[M:[^:]+]]: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
// THREE-LABEL: func @train_step
// THREE-SAME: %[[X:[^:]+]]: tensor<2x4xf32>
// THREE-SAME: %[[W:[^:]+]]: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
func.func @train_step(
    %x: tensor<2x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w},
    %m: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w.m})
    -> (tensor<4x8xf32> {graph.role = "variable", graph.variable = @w},
        tensor<4x8xf32> {graph.role = "variable", graph.variable = @w.m},
        tensor<f32> {graph.role = "output"}) {
  // Computing takes the whole variable, gathered at stage 3; nothing keeps it.
  // THREE: %[[WHOLE:.*]] = dist.reshard %[[W]] to <@mesh, [{}, {}]> because "--strategy=zero:stage=3 keeps 'w' split over 'data' and gathers it just before use"
  // THREE: %[[Y:.*]] = graph.dot_general %[[X]], %[[WHOLE]]
  // CHECK: %[[Y:.*]] = graph.dot_general %[[X]], %[[W]]
  %y = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  // Two paths to the weight: their sum is the gradient, and it is what is
  // wanted in shards, by its norm as by the update.
  // CHECK: %[[A:.*]] = graph.dot_general %[[X]], %[[Y]]
  // CHECK-NEXT: %[[B:.*]] = graph.dot_general %[[X]], %[[Y]]
  // CHECK-NEXT: %[[SUM:.*]] = graph.add %[[A]], %[[B]]
  // CHECK-NEXT: %[[G:.*]] = dist.reshard %[[SUM]] to <@mesh, [{"data"}, {}]> because "--strategy=zero:stage=1 updates one shard of 'w' on each rank along 'data'"
  // CHECK: graph.mul %[[G]], %[[G]]
  %a = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %b = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %g = graph.add %a, %b : tensor<4x8xf32>
  %square = graph.mul %g, %g : tensor<4x8xf32>
  %norm = graph.reduce sum, %square {dims = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  // CHECK: graph.add %[[M]], %[[G]]
  // CHECK: graph.sub %[[W]],
  // THREE: graph.sub %[[W]],
  %m1 = graph.add %m, %g : tensor<4x8xf32>
  %w1 = graph.sub %w, %m1 : tensor<4x8xf32>
  return %w1, %m1, %norm : tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>
}

// Where gradients are only summed, the sum is in shards from stage 2 on.
// CHECK-LABEL: func @gradients
// CHECK-NOT: dist.reshard
// TWO-LABEL: func @gradients
// TWO: %[[G:.*]] = graph.dot_general
// TWO: %[[S:.*]] = dist.reshard %[[G]] to <@mesh, [{"data"}, {}]>
// TWO: graph.add %{{.*}}, %[[S]]
func.func @gradients(
    %x: tensor<2x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %y: tensor<2x8xf32> {graph.role = "label", graph.batch_dim = 0 : i64},
    %acc: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w.acc})
    -> (tensor<4x8xf32> {graph.role = "variable", graph.variable = @w.acc}) {
  %g = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %sum = graph.add %acc, %g : tensor<4x8xf32>
  return %sum : tensor<4x8xf32>
}

// The accumulated gradient is an argument.
// CHECK-LABEL: func @apply
// CHECK-SAME: %[[ACC:[^:]+]]: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"data"}>
// CHECK: %[[G:.*]] = dist.reshard %[[ACC]] to <@mesh, [{"data"}, {}]>
// CHECK: graph.sub %{{.*}}, %[[G]]
func.func @apply(
    %acc: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w.acc},
    %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}) {
  %w1 = graph.sub %w, %acc : tensor<4x8xf32>
  return %w1 : tensor<4x8xf32>
}

// Two layers, forward and backward: between the second one's uses nothing is
// gathered but its small bias, between the first one's the second.
// THREE-LABEL: func @near
// THREE-SAME: %[[X:[^:]+]]: tensor<2x4xf32>
// THREE-SAME: %[[W:[^:]+]]: tensor<4x8xf32>
// THREE-SAME: %[[V:[^:]+]]: tensor<8x8xf32>
// THREE-SAME: %[[B:[^:]+]]: tensor<8xf32>
// THREE: %[[W1:.+]] = dist.reshard %[[W]]
// THREE: %[[H:.+]] = graph.dot_general %[[X]], %[[W1]]
// THREE: %[[V1:.+]] = dist.reshard %[[V]]
// THREE: graph.dot_general %[[H]], %[[V1]]
// THREE: dist.reshard %[[B]]
// THREE: %[[D:.+]] = graph.dot_general %{{.+}}, %[[V1]]
// THREE: %[[W2:.+]] = dist.reshard %[[W]]
// THREE: graph.dot_general %[[D]], %[[W2]]
func.func @near(
    %x: tensor<2x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w},
    %v: tensor<8x8xf32> {graph.role = "variable", graph.variable = @near.v},
    %b: tensor<8xf32> {graph.role = "variable", graph.variable = @near.b})
    -> (tensor<2x4xf32> {graph.role = "output"}) {
  %h = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %y = graph.dot_general %h, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %all = graph.broadcast %b {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<2x8xf32>
  %z = graph.add %y, %all : tensor<2x8xf32>
  %dh = graph.dot_general %z, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %dx = graph.dot_general %dh, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  return %dx : tensor<2x4xf32>
}
