// RUN: dist-opt %s --dist-split-host | FileCheck %s
// RUN: dist-opt %s --dist-split-host=bytes-per-pack=1 | FileCheck %s --check-prefix=PACKS

// The devices' program computes what differs between them, the host's what its
// variables become. %mean is wanted by both: devices have their all_reduce, the
// host a reduction. The gradient's is the host's alone.
// CHECK: dist.mesh @mesh ["data"=2] with host
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<4xf32> trainable {dist.placement = #dist.placement<host>} = dense<0.1> : tensor<4xf32>
graph.variable @avg : tensor<4xf32> {dist.placement = #dist.placement<host>, group = "buffer"} = dense<0.1> : tensor<4xf32>
graph.variable @rate : tensor<4xf32> {dist.placement = #dist.placement<host>, group = "counter"} = dense<0.1> : tensor<4xf32>
graph.variable @seen : tensor<4xf32> {group = "metric", synchronization = 1 : i32, aggregation = 1 : i32} = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: func @step_device
// CHECK-SAME: (%[[X:.+]]: tensor<2x4xf32> {dist.entry_index = 0 : i64
// CHECK-SAME: %[[SEEN:[a-z0-9]+]]: tensor<4xf32> {dist.entry_index = 4 : i64
// CHECK-SAME: -> (tensor<4xf32> {dist.entry_index = 3 : i64, {{.*}}graph.variable = @seen}, tensor<2x4xf32> {dist.entry_index = 5 : i64
// CHECK-SAME: attributes {dist.entry = "step", dist.placement = #dist.placement<device>}
// One transfer, of what devices read: not the rate.
// CHECK-NEXT: %[[W:.+]] = dist.host_broadcast over @mesh ["data"] {{.*}}op_id = 0 : i64, {{.*}}reason = "devices read 'w', which the host has"} : () -> tensor<4xf32>
// CHECK-NEXT: graph.constant
// CHECK-NEXT: %[[S:.+]] = graph.reduce sum, %[[X]]
// CHECK-NEXT: %[[MEAN:.+]] = dist.all_reduce %[[S]] over @mesh ["data"]
// CHECK-SAME: dist.shardings = [#dist.sharding<@mesh, [{}]>], op_id = 1 : i64
// CHECK-SAME: reason = "statistics"
// CHECK-NEXT: dist.host_reduce %[[S]] over @mesh ["data"] {op_id = 2 : i64, origin = "bn", reason = "statistics"} : (tensor<4xf32>) -> ()
// CHECK-NEXT: %[[U:.+]] = graph.mul %[[MEAN]], %[[W]]
// CHECK: %[[Y:.+]] = graph.mul %[[X]], %{{.+}} : tensor<2x4xf32>
// CHECK-NEXT: %[[G:.+]] = graph.reduce sum, %[[Y]]
// CHECK-NEXT: %[[LOSS:.+]] = graph.reduce sum, %[[G]]
// CHECK-NEXT: dist.host_reduce %[[G]], %[[LOSS]] over @mesh ["data"] {op_id = 3 : i64, origin = "fc1", reason = "gradients"} : (tensor<4xf32>, tensor<f32>) -> ()
// CHECK-NEXT: %[[SEEN2:.+]] = graph.add %[[SEEN]], %[[G]]
// CHECK-NEXT: return %[[SEEN2]], %[[Y]]

// CHECK-LABEL: func @step_host
// CHECK-SAME: (%[[W:.+]]: tensor<4xf32> {dist.entry_index = 1 : i64
// CHECK-SAME: %[[AVG:.+]]: tensor<4xf32> {dist.entry_index = 2 : i64
// CHECK-SAME: %[[RATE:[a-z0-9]+]]: tensor<4xf32> {dist.entry_index = 3 : i64
// CHECK-SAME: -> (tensor<4xf32> {dist.entry_index = 0 : i64, {{.*}}graph.variable = @w}, tensor<4xf32> {dist.entry_index = 1 : i64, {{.*}}graph.variable = @avg}, tensor<4xf32> {dist.entry_index = 2 : i64, {{.*}}graph.variable = @rate}, tensor<f32> {dist.entry_index = 4 : i64
// CHECK-SAME: attributes {dist.entry = "step", dist.placement = #dist.placement<host>}
// CHECK-NEXT: dist.host_broadcast %[[W]] over @mesh ["data"] {op_id = 0 : i64, {{.*}} : (tensor<4xf32>) -> ()
// CHECK-NEXT: %[[HALF:.+]] = graph.constant
// CHECK-NEXT: %[[MEAN:.+]] = dist.host_reduce over @mesh ["data"] {{.*}}op_id = 2 : i64, {{.*}}reason = "statistics"} : () -> tensor<4xf32>
// CHECK-NEXT: %[[G:.+]]:2 = dist.host_reduce over @mesh ["data"] {{.*}}op_id = 3 : i64, {{.*}}reason = "gradients"} : () -> (tensor<4xf32>, tensor<f32>)
// CHECK-NEXT: %[[D:.+]] = graph.mul %[[G]]#0, %[[RATE]]
// CHECK-NEXT: %[[W2:.+]] = graph.sub %[[W]], %[[D]]
// CHECK-NEXT: %[[AVG2:.+]] = graph.add %[[AVG]], %[[MEAN]]
// CHECK-NEXT: %[[RATE2:.+]] = graph.mul %[[RATE]], %[[HALF]]
// CHECK-NEXT: return %[[W2]], %[[AVG2]], %[[RATE2]], %[[G]]#1

#batch = #dist.sharding<@mesh, [{"data"}, {}]>
#whole = #dist.sharding<@mesh, [{}]>
#scalar = #dist.sharding<@mesh, []>
#partial = #dist.sharding<@mesh, [{}], unreduced = {"data"}>
func.func @step(%x: tensor<2x4xf32> {dist.sharding = #batch},
    %w: tensor<4xf32> {graph.variable = @w, dist.sharding = #whole}, %avg: tensor<4xf32> {graph.variable = @avg, dist.sharding = #whole},
    %rate: tensor<4xf32> {graph.variable = @rate, dist.sharding = #whole}, %seen: tensor<4xf32> {graph.variable = @seen, dist.sharding = #partial})
    -> (tensor<4xf32> {graph.variable = @w, dist.sharding = #whole}, tensor<4xf32> {graph.variable = @avg, dist.sharding = #whole},
        tensor<4xf32> {graph.variable = @rate, dist.sharding = #whole}, tensor<4xf32> {graph.variable = @seen, dist.sharding = #partial},
        tensor<f32> {graph.role = "loss", dist.sharding = #scalar}, tensor<2x4xf32> {graph.role = "output", dist.sharding = #batch}) {
  %half = graph.constant dense<0.5> : tensor<4xf32>
  %s = graph.reduce sum, %x {dims = array<i64: 0>, dist.shardings = [#partial]} : (tensor<2x4xf32>) -> tensor<4xf32>
  %mean = dist.all_reduce %s over @mesh ["data"] {reason = "statistics", origin = "bn", dist.shardings = [#whole]} : (tensor<4xf32>) -> tensor<4xf32>
  %u = graph.mul %mean, %w {dist.shardings = [#whole]} : tensor<4xf32>
  %v = graph.mul %u, %half {dist.shardings = [#whole]} : tensor<4xf32>
  %b = graph.broadcast %v {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
  %y = graph.mul %x, %b {dist.shardings = [#batch]} : tensor<2x4xf32>
  %g = graph.reduce sum, %y {dims = array<i64: 0>, dist.shardings = [#partial]} : (tensor<2x4xf32>) -> tensor<4xf32>
  %l = graph.reduce sum, %g {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %r:2 = dist.all_reduce %g, %l over @mesh ["data"] {reason = "gradients", origin = "fc1"} : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  %seen2 = graph.add %seen, %g : tensor<4xf32>
  %d = graph.mul %r#0, %rate : tensor<4xf32>
  %w2 = graph.sub %w, %d : tensor<4xf32>
  %avg2 = graph.add %avg, %mean : tensor<4xf32>
  %rate2 = graph.mul %rate, %half : tensor<4xf32>
  return %w2, %avg2, %rate2, %seen2, %r#1, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<2x4xf32>
}

// Prediction: what devices read, in the order in which they do, in one transfer
// or in several.
// CHECK-LABEL: func @predict_device
// CHECK: %[[V:.+]]:2 = dist.host_broadcast over @mesh ["data"] {{.*}}reason = "devices read 'avg', 'w', which the host has"} : () -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: graph.add %[[V]]#0, %[[V]]#1
// CHECK-LABEL: func @predict_host
// CHECK: dist.host_broadcast %{{.+}}, %{{.+}} over
// CHECK-NEXT: return{{$}}
// PACKS-LABEL: func @predict_device
// PACKS: dist.host_broadcast over {{.*}}read 'avg', which{{.*}} -> tensor<4xf32>
// PACKS: dist.host_broadcast over {{.*}}read 'w', which{{.*}} -> tensor<4xf32>
// PACKS-LABEL: func @predict_host
// PACKS: dist.host_broadcast %
// PACKS: dist.host_broadcast %
func.func @predict(%x: tensor<2x4xf32> {dist.sharding = #batch},
    %w: tensor<4xf32> {graph.variable = @w, dist.sharding = #whole}, %avg: tensor<4xf32> {graph.variable = @avg, dist.sharding = #whole})
    -> (tensor<2x4xf32> {graph.role = "output", dist.sharding = #batch}) {
  %u = graph.add %avg, %w : tensor<4xf32>
  %b = graph.broadcast %u {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
  %y = graph.mul %x, %b {dist.shardings = [#batch]} : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
