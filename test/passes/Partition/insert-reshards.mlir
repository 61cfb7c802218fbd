// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards))" | FileCheck %s
dist.mesh @mesh ["data"=2, "model"=2]

// Equal layouts need nothing.
// CHECK-LABEL: func @agree
func.func @agree(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<4xf32> {
  // CHECK-NOT: dist.reshard
  // CHECK: graph.exp
  %0 = graph.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Two users share one reshard of the smaller split; equal bytes: the first found.
// CHECK-LABEL: func @shared
func.func @shared(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
                  %y: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[Y:.+]] = dist.reshard %arg1 to <@mesh, [{"data"}]> because "'graph.add' of {{.*}}: argument 0 is split over 'data'"
  // CHECK: graph.add %arg0, %[[Y]]
  %0 = graph.add %x, %y : tensor<4xf32>
  // CHECK-NOT: dist.reshard
  // CHECK: graph.mul %arg0, %[[Y]]
  %1 = graph.mul %x, %y : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A dim that the op needs whole is gathered.
// CHECK-LABEL: func @whole_dim
func.func @whole_dim(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) -> tensor<4x8xf32> {
  // CHECK: %[[X:.+]] = dist.reshard %arg0 to <@mesh, [{}, {}]> because "'graph.softmax' of {{.*}}: it needs dim 1 whole"
  // CHECK: graph.softmax %[[X]]
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @wanted_result
func.func @wanted_result(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<4xf32> {graph.name = "out", dist.sharding = #dist.sharding<@mesh, [{"model"}]>}) {
  // CHECK: %[[E:.+]] = graph.exp
  %0 = graph.exp %x : tensor<4xf32>
  // CHECK: %[[R:.+]] = dist.reshard %[[E]] to <@mesh, [{"model"}]> because "'out' is wanted in this layout"
  // CHECK: return %[[R]]
  return %0 : tensor<4xf32>
}

// Two factors of one op never share an axis.
// CHECK-LABEL: func @axis_twice
func.func @axis_twice(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                      %w: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}) -> tensor<8x2xf32> {
  // CHECK: %[[W:.+]] = dist.reshard %arg1 to <@mesh, [{}, {}]> because "'graph.dot_general' of {{.*}}: argument 0 is split over 'data' along another dim"
  // CHECK: graph.dot_general %arg0, %[[W]]
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// Constants of one number are made anew in another layout: nothing moves.
// CHECK-LABEL: func @constants
func.func @constants(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
                     %y: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: dist.reshard
  %two = graph.constant dense<2.0> : tensor<4xf32>
  // CHECK-DAG: %[[A:.+]] = graph.constant {dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} dense<2.0{{.*}}>
  // CHECK-DAG: %[[B:.+]] = graph.constant {dist.shardings = [#dist.sharding<@mesh, [{"model"}]>]} dense<2.0{{.*}}>
  // CHECK-DAG: graph.mul %arg0, %[[A]]
  // CHECK-DAG: graph.mul %arg1, %[[B]]
  %0 = graph.mul %x, %two : tensor<4xf32>
  %1 = graph.mul %y, %two : tensor<4xf32>
  // CHECK: return
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
