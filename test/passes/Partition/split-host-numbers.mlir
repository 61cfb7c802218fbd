// RUN: dist-opt %s --dist-split-host | FileCheck %s

// What the host makes of the gradients' sum to one number it sends to the devices,
// which would reduce the gradients among themselves for it: whether they are large,
// by which both programs choose. One that only the host reads is not sent.
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<4xf32> trainable {dist.placement = #dist.placement<host>} = dense<0.1> : tensor<4xf32>
graph.variable @seen : tensor<4xf32> {group = "metric", synchronization = 1 : i32, aggregation = 1 : i32} = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: func @step_device
// CHECK-SAME: (%[[X:.+]]: tensor<2x4xf32>
// CHECK-SAME: %[[SEEN:[a-z0-9]+]]: tensor<4xf32> {dist.entry_index
// CHECK-NOT: dist.all_reduce
// CHECK: %[[G:.+]] = graph.reduce sum, %[[X]]
// CHECK: dist.host_reduce %[[G]] over @mesh ["data"] {op_id = 0 : i64
// CHECK-NEXT: %[[FLAG:.+]] = dist.host_broadcast over @mesh ["data"] {{.*}}op_id = 1 : i64, {{.*}}reason = "devices read what the host makes of the sum of all gradients"} : () -> tensor<i1>
// CHECK-NEXT: %[[ALL:.+]] = graph.broadcast %[[FLAG]]
// CHECK-NEXT: %[[NEW:.+]] = graph.select %[[ALL]], %[[G]], %[[SEEN]]
// CHECK-NEXT: return %[[NEW]]

// CHECK-LABEL: func @step_host
// CHECK-SAME: (%[[W:.+]]: tensor<4xf32>
// CHECK: %[[SUM:.+]] = dist.host_reduce over @mesh ["data"] {{.*}}op_id = 0 : i64
// CHECK: %[[MOST:.+]] = graph.reduce max, %[[SUM]]
// CHECK: %[[IS:.+]] = graph.compare lt, %[[MOST]],
// CHECK-NEXT: dist.host_broadcast %[[IS]] over @mesh ["data"] {{.*}}op_id = 1 : i64, {{.*}} : (tensor<i1>) -> ()
// CHECK-NEXT: %[[EVERY:.+]] = graph.broadcast %[[IS]]
// CHECK: %[[KEPT:.+]] = graph.select %[[EVERY]], %{{.+}}, %[[W]]
// CHECK: return %[[KEPT]]

#batch = #dist.sharding<@mesh, [{"data"}, {}]>
#whole = #dist.sharding<@mesh, [{}]>
#scalar = #dist.sharding<@mesh, []>
#partial = #dist.sharding<@mesh, [{}], unreduced = {"data"}>
func.func @step(%x: tensor<2x4xf32> {dist.sharding = #batch},
    %w: tensor<4xf32> {graph.variable = @w, dist.sharding = #whole}, %seen: tensor<4xf32> {graph.variable = @seen, dist.sharding = #partial})
    -> (tensor<4xf32> {graph.variable = @w, dist.sharding = #whole}, tensor<4xf32> {graph.variable = @seen, dist.sharding = #partial}) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %g = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %sum = dist.all_reduce %g over @mesh ["data"] {dist.shardings = [#whole], origin = "fc1", reason = "gradients"} : (tensor<4xf32>) -> tensor<4xf32>
  %most = graph.reduce max, %sum {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %is = graph.compare lt, %most, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %every = graph.broadcast %is {dims = array<i64>} : (tensor<i1>) -> tensor<4xi1>
  %new = graph.sub %w, %sum : tensor<4xf32>
  %kept = graph.select %every, %new, %w : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %here = graph.select %every, %g, %seen : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %kept, %here : tensor<4xf32>, tensor<4xf32>
}
