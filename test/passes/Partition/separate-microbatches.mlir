// RUN: dist-opt %s --split-input-file --dist-separate-microbatches | FileCheck %s

// The mesh loses the axis, arguments and results are whole, and one op stands
// for all microbatches. A collective over both axes becomes one over the
// microbatches, which moves nothing, and one over the others. A sum that is kept
// as a sum is the first microbatch's.
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
  // CHECK: %[[M:.+]] = dist.all_slice %[[X]] over @microbatches ["microbatch"] {dims = array<i64: 0>, dist.microbatch,
  // CHECK: %[[FIRST:.+]] = dist.permute %[[T]] over @microbatches ["microbatch"] {dist.microbatch, {{.*}}sources = array<i64: 0, -1>}
  // CHECK: %[[E:.+]] = graph.exp %[[M]] {dist.microbatch, dist.origin = 0 : i64, dist.shardings = [#dist.sharding<@microbatches, [{"data", "microbatch"}, {}]>]} : tensor<2x8xf32>
  // CHECK: %[[R:.+]] = graph.reduce sum, %[[E]] {dims = array<i64: 0>, dist.microbatch}
  // CHECK: %[[SUM:.+]] = dist.all_reduce %[[R]] over @microbatches ["microbatch"] {origin = "w", reason = "a test"}
  // CHECK: %[[ALL:.+]] = dist.all_reduce %[[SUM]] over @mesh ["data"] {origin = "w", reason = "a test"}
  // CHECK: %[[B1:.+]] = graph.sub %[[B]], %[[ALL]] : tensor<8xf32>
  // CHECK: %[[T1:.+]] = graph.add %[[FIRST]], %{{.+}} {dist.microbatch} : tensor<f32>
  // CHECK: %[[OUT:.+]] = dist.all_gather %[[E]] over @microbatches ["microbatch"] {dims = array<i64: 0>,
  // CHECK: %[[TOTAL:.+]] = dist.all_reduce %[[T1]] over @microbatches ["microbatch"]
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

// Other collectives. Of a broadcast, rank 3 is the second microbatch of the
// second rank; gathered parts of a rank's microbatches are put together before
// those of other ranks.
// CHECK-LABEL: func @others
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
dist.mesh @mesh ["data"=2, "microbatch"=2]
func.func @others(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}]>}, tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  // CHECK: %[[SUM:.+]] = dist.all_reduce %[[X]] over @microbatches ["microbatch"]
  // CHECK: %[[OWN:.+]] = dist.reduce_scatter %[[SUM]] over @mesh ["data"] {{.*}}(tensor<8xf32>) -> tensor<4xf32>
  // CHECK: %[[PART:.+]] = dist.all_slice %[[OWN]] over @microbatches ["microbatch"] {dims = array<i64: 0>, dist.microbatch, {{.*}}-> tensor<2xf32>
  // CHECK: %[[BOTH:.+]] = dist.all_gather %[[PART]] over @microbatches ["microbatch"] {dims = array<i64: 0>, {{.*}}-> tensor<4xf32>
  // CHECK: %[[ALL:.+]] = dist.all_gather %[[BOTH]] over @mesh ["data"] {{.*}}-> tensor<8xf32>
  // CHECK: %[[OF:.+]] = dist.broadcast %[[ALL]] over @microbatches ["microbatch"] {{.*}}root = 1 : i64
  // CHECK: dist.broadcast %[[OF]] over @mesh ["data"] {{.*}}root = 1 : i64
  %0 = dist.reduce_scatter %x over @mesh ["data", "microbatch"] {dims = array<i64: 0>, reason = "a test", origin = "w"} : (tensor<8xf32>) -> tensor<2xf32>
  %1 = dist.all_gather %0 over @mesh ["data", "microbatch"] {dims = array<i64: 0>, reason = "a test", origin = "w"} : (tensor<2xf32>) -> tensor<8xf32>
  %2 = dist.broadcast %1 over @mesh ["data", "microbatch"] {root = 3 : i64, reason = "a test", origin = "w"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %2 : tensor<2xf32>, tensor<8xf32>
}

// -----

// Of one microbatch nothing is to be told apart.
// CHECK: dist.mesh @mesh ["data"=2]
// CHECK-LABEL: func @one
// CHECK-NOT: @microbatches ["microbatch"]
// CHECK: %[[S:.+]] = graph.reduce sum, %{{.+}} {dims = array<i64: 0>} :
// CHECK: dist.all_reduce %[[S]] over @mesh ["data"]
dist.mesh @mesh ["data"=2, "microbatch"=1]
func.func @one(%x: tensor<2x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "microbatch"}, {}]>}) -> (tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<2x8xf32>) -> tensor<8xf32>
  %1 = dist.all_reduce %0 over @mesh ["data", "microbatch"] {reason = "a test", origin = "w"} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
