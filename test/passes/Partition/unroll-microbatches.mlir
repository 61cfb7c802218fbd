// RUN: dist-opt %s --split-input-file --dist-separate-microbatches --dist-unroll-microbatches | FileCheck %s

// The batch is cut, what meets is added copy by copy and then over the other
// axes, and what does not differ stays single. A sum that is kept as a sum
// starts from the variable in the first copy and from zero in the others.
// CHECK: dist.mesh @mesh ["data"=2]
// CHECK: dist.mesh @microbatches ["data"=2, "microbatch"=2]
// CHECK: graph.variable @total {{.*}}unreduced = {"data"}
// CHECK-LABEL: func @step
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<8xf32>
// CHECK-SAME: %[[T:[a-z0-9]+]]: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>}
// CHECK-SAME: -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
dist.mesh @mesh ["data"=2, "microbatch"=2]
graph.variable @total : tensor<f32> {sharding = #dist.sharding<@mesh, [], unreduced = {"data", "microbatch"}>} = dense<0.0> : tensor<f32>
func.func @step(
    %x: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}, {}]>},
    %b: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %t: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data", "microbatch"}>})
    -> (tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}, {}]>},
        tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data", "microbatch"}>}) {
  // CHECK: %[[X0:.+]] = graph.slice %[[X]] {dist.microbatch = 0 : i64, limits = array<i64: 2, 8>, starts = array<i64: 0, 0>
  // CHECK: %[[E0:.+]] = graph.exp %[[X0]] {dist.microbatch = 0 : i64, dist.origin = 0 : i64, dist.shardings = [#dist.sharding<@microbatches, [{"data", "microbatch"}, {}]>]}
  // CHECK: %[[R0:.+]] = graph.reduce sum, %[[E0]]
  // CHECK: %[[S0:.+]] = graph.reduce sum, %[[R0]]
  // CHECK: %[[T0:.+]] = graph.add %[[T]], %[[S0]]
  // CHECK: %[[ZERO:.+]] = graph.constant {dist.microbatch = 1 : i64} dense<0.0
  // CHECK: %[[X1:.+]] = graph.slice %[[X]] {dist.microbatch = 1 : i64, limits = array<i64: 4, 8>, starts = array<i64: 2, 0>
  // CHECK: %[[E1:.+]] = graph.exp %[[X1]]
  // CHECK: %[[R1:.+]] = graph.reduce sum, %[[E1]]
  // CHECK: %[[SUM:.+]] = graph.add %[[R0]], %[[R1]]
  // CHECK: %[[S1:.+]] = graph.reduce sum, %[[R1]]
  // CHECK: %[[T1:.+]] = graph.add %[[ZERO]], %[[S1]]
  // CHECK: %[[TOTAL:.+]] = graph.add %[[T0]], %[[T1]]
  // CHECK: %[[OUT:.+]] = graph.concat %[[E0]], %[[E1]] {axis = 0 : i64}
  // CHECK: %[[ALL:.+]] = dist.all_reduce %[[SUM]] over @mesh ["data"]
  // CHECK: %[[B1:.+]] = graph.sub %[[B]], %[[ALL]] : tensor<8xf32>
  // CHECK: return %[[OUT]], %[[B1]], %[[TOTAL]]
  %0 = graph.exp %x {dist.origin = 0 : i64, dist.shardings = [#dist.sharding<@mesh, [{"data", "microbatch"}, {}]>]} : tensor<2x8xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<2x8xf32>) -> tensor<8xf32>
  %2 = dist.all_reduce %1 over @mesh ["data", "microbatch"] {reason = "a test", origin = "w"} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = graph.sub %b, %2 : tensor<8xf32>
  %4 = graph.reduce sum, %1 {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %5 = graph.add %t, %4 : tensor<f32>
  return %0, %3, %5 : tensor<2x8xf32>, tensor<8xf32>, tensor<f32>
}

// -----

// Other collectives; the axis alone leaves a mesh of one device.
// CHECK: dist.mesh @mesh []
// CHECK-LABEL: func @gather_and_cut
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
dist.mesh @mesh ["microbatch"=2]
func.func @gather_and_cut(%x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"microbatch"}, {}]>})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}, tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"microbatch"}, {}]>}, tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK-DAG: %[[X0:.+]] = graph.slice %[[X]] {{.*}}starts = array<i64: 0, 0>
  // CHECK-DAG: %[[X1:.+]] = graph.slice %[[X]] {{.*}}starts = array<i64: 2, 0>
  // CHECK-DAG: %[[G:.+]] = graph.concat %[[X0]], %[[X1]] {axis = 0 : i64
  // CHECK-DAG: graph.slice %[[G]] {{.*}}limits = array<i64: 2, 4>
  // CHECK-DAG: graph.max %[[X0]], %[[X1]]
  %0 = dist.all_gather %x over @mesh ["microbatch"] {dims = array<i64: 0>, reason = "a test", origin = "w"} : (tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = dist.all_slice %0 over @mesh ["microbatch"] {dims = array<i64: 0>, reason = "a test", origin = "w"} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = dist.all_reduce %x over @mesh ["microbatch"] by max {reason = "a test", origin = "w"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Scattered over both axes: one part a copy of what a rank keeps.
// CHECK-LABEL: func @scatter
dist.mesh @mesh ["data"=2, "microbatch"=2]
func.func @scatter(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"data", "microbatch"}>})
    -> (tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}]>}) {
  // CHECK: %[[SUM:.+]] = graph.add
  // CHECK: %[[OWN:.+]] = dist.reduce_scatter %[[SUM]] over @mesh ["data"] {{.*}}(tensor<8xf32>) -> tensor<4xf32>
  // CHECK-DAG: %[[A:.+]] = graph.slice %[[OWN]] {{.*}}starts = array<i64: 0>
  // CHECK-DAG: %[[B:.+]] = graph.slice %[[OWN]] {{.*}}starts = array<i64: 2>
  // CHECK: graph.concat %[[A]], %[[B]]
  %0 = dist.reduce_scatter %x over @mesh ["data", "microbatch"] {dims = array<i64: 0>, reason = "a test", origin = "w"} : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
