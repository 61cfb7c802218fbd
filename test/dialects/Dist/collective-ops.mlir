// RUN: dist-opt %s --verify-roundtrip | FileCheck %s

// CHECK: dist.mesh @mesh ["data"=2, "model"=4]
dist.mesh @mesh ["data"=2, "model"=4]

// CHECK-LABEL: func @shardings
// CHECK-SAME: dist.sharding = #dist.sharding<@mesh, [{"data"}, {?}]>
// CHECK-SAME: dist.sharding = #dist.sharding<@mesh, [{"data", "model", ?}, {}]>
// CHECK-SAME: dist.global_type = tensor<8x8xf32>
// CHECK-SAME: dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"model", "data"}>
func.func @shardings(
    %a: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {?}]>},
    %b: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model", ?}, {}]>},
    %c: tensor<4x8xf32> {dist.global_type = tensor<8x8xf32>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"model", "data"}>}) {
  %0 = arith.constant {dist.origin = 3 : i64, dist.shardings = [#dist.sharding<@mesh, [{}]>]} dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func @reshard
func.func @reshard(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: dist.reshard %{{.+}} to <@mesh, [{"data"}, {}]> because "the user wants it" : tensor<4x8xf32>
  %0 = dist.reshard %a to <@mesh, [{"data"}, {}]> because "the user wants it" : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func @collectives
func.func @collectives(%a: tensor<8x8xf32>, %b: tensor<4xi32>) {
  // CHECK: dist.all_reduce %{{.+}}, %{{.+}} over @mesh ["data"] {op_id = 7 : i64, origin = "fc1", reason = "gradients"} : (tensor<8x8xf32>, tensor<4xi32>)
  %0:2 = dist.all_reduce %a, %b over @mesh ["data"] {reason = "gradients", origin = "fc1", op_id = 7 : i64}
    : (tensor<8x8xf32>, tensor<4xi32>) -> (tensor<8x8xf32>, tensor<4xi32>)
  // CHECK: dist.all_reduce {{.*}} by max {
  %1 = dist.all_reduce %a over @mesh ["data", "model"] by max {reason = "r", origin = "o"}
    : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: dist.all_gather {{.*}}dims = array<i64: 1, 0>
  %2:2 = dist.all_gather %a, %b over @mesh ["model"] {dims = array<i64: 1, 0>, reason = "r", origin = "o"}
    : (tensor<8x8xf32>, tensor<4xi32>) -> (tensor<8x32xf32>, tensor<16xi32>)
  // CHECK: dist.all_slice
  %3 = dist.all_slice %a over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"}
    : (tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: dist.reduce_scatter
  %4 = dist.reduce_scatter %a over @mesh ["data"] {dims = array<i64: 1>, reason = "r", origin = "o"}
    : (tensor<8x8xf32>) -> tensor<8x4xf32>
  // CHECK: dist.all_to_all
  %5 = dist.all_to_all %a over @mesh ["data"] {split_dims = array<i64: 0>, concat_dims = array<i64: 1>, reason = "r", origin = "o"}
    : (tensor<8x8xf32>) -> tensor<4x16xf32>
  // CHECK: dist.permute
  %6 = dist.permute %a over @mesh ["data"] {sources = array<i64: -1, 0>, reason = "r", origin = "o"}
    : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: dist.broadcast
  %7 = dist.broadcast %a over @mesh ["model"] {root = 3 : i64, reason = "r", origin = "o"}
    : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func @peers
func.func @peers(%a: tensor<8xf32>, %b: tensor<2x3xi8>) -> tensor<8xf32> {
  // CHECK: dist.send %{{.+}}, %{{.+}} over @mesh ["model"] to 3 tag 7 {origin = "o", reason = "r"} : tensor<8xf32>, tensor<2x3xi8>
  dist.send %a, %b over @mesh ["model"] to 3 tag 7 {reason = "r", origin = "o"} : tensor<8xf32>, tensor<2x3xi8>
  // CHECK: %{{.+}}:2 = dist.recv over @mesh ["model"] from 0 tag 7 {origin = "o", reason = "r"} : tensor<8xf32>, tensor<2x3xi8>
  %0:2 = dist.recv over @mesh ["model"] from 0 tag 7 {reason = "r", origin = "o"} : tensor<8xf32>, tensor<2x3xi8>
  return %0#0 : tensor<8xf32>
}

// CHECK-LABEL: func @start_and_wait
func.func @start_and_wait(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[T:.+]] = dist.all_reduce_start {{.*}} -> !dist.token<tensor<8xf32>>
  %t = dist.all_reduce_start %a over @mesh ["data"] {reason = "r", origin = "o"}
    : (tensor<8xf32>) -> !dist.token<tensor<8xf32>>
  // CHECK: dist.wait %[[T]]
  %0 = dist.wait %t : (!dist.token<tensor<8xf32>>) -> tensor<8xf32>
  // CHECK: dist.all_gather_start
  %u = dist.all_gather_start %a over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"}
    : (tensor<8xf32>) -> !dist.token<tensor<16xf32>>
  %1 = dist.wait %u : (!dist.token<tensor<16xf32>>) -> tensor<16xf32>
  // CHECK: dist.reduce_scatter_start
  %v = dist.reduce_scatter_start %1 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"}
    : (tensor<16xf32>) -> !dist.token<tensor<8xf32>>
  %2 = dist.wait %v : (!dist.token<tensor<8xf32>>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK-LABEL: module @host
module @host {
  // CHECK: dist.mesh @mesh ["data"=2] with host
  dist.mesh @mesh ["data"=2] with host
  // CHECK: graph.variable @w : tensor<4xf32> {dist.placement = #dist.placement<host>}
  graph.variable @w : tensor<4xf32> {dist.placement = #dist.placement<host>} = dense<0.0> : tensor<4xf32>
  // CHECK: func @on_device{{.*}}dist.placement = #dist.placement<device>
  func.func @on_device(%g: tensor<4xf32>) attributes {dist.placement = #dist.placement<device>} {
    // CHECK: dist.host_broadcast over @mesh ["data"] {{.*}} : () -> (tensor<4xf32>, tensor<i32>)
    %0:2 = dist.host_broadcast over @mesh ["data"] {reason = "r", origin = "o"} : () -> (tensor<4xf32>, tensor<i32>)
    // CHECK: dist.host_reduce %{{.+}} over @mesh ["data"] by max {{.*}} : (tensor<4xf32>) -> ()
    dist.host_reduce %g over @mesh ["data"] by max {reason = "r", origin = "o"} : (tensor<4xf32>) -> ()
    return
  }
  // CHECK: func @on_host
  func.func @on_host(%w: tensor<4xf32>) attributes {dist.placement = #dist.placement<host>} {
    // CHECK: dist.host_broadcast %{{.+}} over @mesh ["data"] {{.*}} : (tensor<4xf32>) -> ()
    dist.host_broadcast %w over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> ()
    // CHECK: dist.host_reduce over @mesh ["data"] {op_id = 3 : i64, {{.*}} : () -> tensor<4xf32>
    %0 = dist.host_reduce over @mesh ["data"] {reason = "r", origin = "o", op_id = 3 : i64} : () -> tensor<4xf32>
    return
  }
}
