// RUN: dist-opt %s --dist-average-workers="workers=3 every=8 link-cost=4" -split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-average-workers="workers=3 every=8 bytes-per-pack=16" -split-input-file | FileCheck %s --check-prefix=PACKS

// CHECK: dist.mesh @mesh ["host"=3, "data"=2] {link_costs = {host = 4.000000e+00 : f64}, processes = {host = 3 : i64}}
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<4xf32> {group = "parameter", sharding = #dist.sharding<@mesh, [{}]>} = dense<0.0> : tensor<4xf32>
graph.variable @b : tensor<2xf32> {group = "parameter", sharding = #dist.sharding<@mesh, [{}]>} = dense<0.0> : tensor<2xf32>
graph.variable @m : tensor<4xf32> {group = "slot", sharding = #dist.sharding<@mesh, [{"data"}]>} = dense<0.0> : tensor<4xf32>
graph.variable @t : tensor<i64> {group = "counter", sharding = #dist.sharding<@mesh, []>} = dense<0> : tensor<i64>

// What has a batch dim is of all workers, the others' program is nobody else's;
// the gradient's sum stays within a worker.
// CHECK-LABEL: func @train_step(
// CHECK-SAME: %arg0: tensor<2x4xf32> {dist.global_type = tensor<12x4xf32>, dist.sharding = #dist.sharding<@mesh, [{"host", "data"}, {}]>
// CHECK-SAME: -> (tensor<1xf32> {dist.global_type = tensor<3xf32>, dist.sharding = #dist.sharding<@mesh, [{"host"}]>, graph.name = "loss", graph.role = "loss"}
// CHECK-SAME: attributes {dist.own_axis = "host"}
// CHECK: dist.all_reduce %{{.*}} over @mesh ["data"]
// CHECK: %[[LOSS:.+]] = graph.reshape
// CHECK: return %[[LOSS]]
func.func @train_step(
    %x: tensor<2x4xf32> {dist.global_type = tensor<4x4xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>, graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
    %w: tensor<4xf32> {dist.global_type = tensor<4xf32>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "variable", graph.name = "w", graph.variable = @w},
    %b: tensor<2xf32> {dist.global_type = tensor<2xf32>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "variable", graph.name = "b", graph.variable = @b},
    %m: tensor<2xf32> {dist.global_type = tensor<4xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}]>, graph.role = "variable", graph.name = "m", graph.variable = @m},
    %t: tensor<i64> {dist.global_type = tensor<i64>, dist.sharding = #dist.sharding<@mesh, []>, graph.role = "variable", graph.name = "t", graph.variable = @t},
    %l: tensor<f32> {dist.global_type = tensor<f32>, dist.sharding = #dist.sharding<@mesh, []>, graph.role = "count", graph.name = "count"})
    -> (tensor<f32> {dist.global_type = tensor<f32>, dist.sharding = #dist.sharding<@mesh, []>, graph.role = "loss", graph.name = "loss"},
        tensor<4xf32> {dist.global_type = tensor<4xf32>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "variable", graph.name = "w", graph.variable = @w},
        tensor<2xf32> {dist.global_type = tensor<2xf32>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "variable", graph.name = "b", graph.variable = @b},
        tensor<2xf32> {dist.global_type = tensor<4xf32>, dist.sharding = #dist.sharding<@mesh, [{"data"}]>, graph.role = "variable", graph.name = "m", graph.variable = @m},
        tensor<i64> {dist.global_type = tensor<i64>, dist.sharding = #dist.sharding<@mesh, []>, graph.role = "variable", graph.name = "t", graph.variable = @t}) {
  %0 = dist.all_reduce %w over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return %l, %0, %b, %m, %t : tensor<f32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>
}

// Means over all ranks of what is whole in a worker, over workers of shards;
// counters agree. One transfer for what goes the same way.
// CHECK-LABEL: func @sync(
// CHECK-NOT: own_axis
// CHECK: %[[WB:.+]]:2 = dist.all_reduce %arg0, %arg1 over @mesh ["host", "data"] {{.*}}op_id = 0 : i64{{.*}}reason = "the workers' variables are averaged every 8 steps (--sync-every)"
// CHECK-DAG: graph.constant dense<0.16666{{.*}}> : tensor<4xf32>
// CHECK: %[[W:.+]] = graph.mul %[[WB]]#0
// CHECK: %[[B:.+]] = graph.mul %[[WB]]#1
// CHECK: %[[M:.+]] = dist.all_reduce %arg2 over @mesh ["host"] {{.*}}op_id = 1 : i64
// CHECK: graph.constant dense<0.33333{{.*}}> : tensor<2xf32>
// CHECK: %[[MM:.+]] = graph.mul %[[M]]
// CHECK: %[[T:.+]] = dist.all_reduce %arg3 over @mesh ["host", "data"] by max {{.*}}op_id = 2 : i64
// CHECK: return %[[W]], %[[B]], %[[MM]], %[[T]]
// PACKS-LABEL: func @sync(
// PACKS: dist.all_reduce %arg0, %arg1 over @mesh ["host", "data"]
// PACKS: dist.all_reduce %arg2

// -----

// Metrics are sums over all workers' examples as they are, and what only predicts
// has nothing to average.
dist.mesh @mesh ["data"=2]
// CHECK: graph.variable @total {{.*}}#dist.sharding<@mesh, [], unreduced = {"host", "data"}>
graph.variable @total : tensor<f32> {group = "metric", synchronization = 1 : i32, aggregation = 1 : i32, sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>} = dense<0.0> : tensor<f32>
// CHECK-LABEL: func @eval_step(
// CHECK-SAME: %arg0: tensor<f32> {{.*}}#dist.sharding<@mesh, [], unreduced = {"host", "data"}>
// CHECK-NOT: func @sync
func.func @eval_step(%t: tensor<f32> {dist.global_type = tensor<f32>, dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>, graph.role = "variable", graph.name = "total", graph.variable = @total})
    -> (tensor<f32> {dist.global_type = tensor<f32>, dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>, graph.role = "variable", graph.name = "total", graph.variable = @total}) {
  return %t : tensor<f32>
}

// -----

// A worker draws by its own number: a step's are step * workers and those behind it.
// What does not count its draws is the same on all workers.
dist.mesh @mesh ["data"=2]
graph.variable @"random/step" : tensor<i64> {group = "counter", sharding = #dist.sharding<@mesh, []>} = dense<0> : tensor<i64>
// CHECK-LABEL: func @train_step(
// CHECK-SAME: %[[STEP:.+]]: tensor<i64>
// CHECK: %[[ALL:.+]] = graph.iota
// CHECK: %[[PART:.+]] = dist.all_slice %[[ALL]] over @mesh ["host"] {dims = array<i64: 0>{{.*}}op_id = 1 : i64{{.*}}reason = "each worker draws random numbers of its own (--sync-every)"
// CHECK: %[[NUMBER:.+]] = graph.reshape %[[PART]]
// CHECK: dist.all_reduce
// CHECK: %[[WORKERS:.+]] = graph.constant dense<3>
// CHECK: %[[FIRST:.+]] = graph.mul %[[STEP]], %[[WORKERS]]
// CHECK: %[[OWN:.+]] = graph.add %[[FIRST]], %[[NUMBER]]
// CHECK: graph.random_uniform %[[OWN]]
// CHECK: graph.random_uniform %[[OWN]]
// CHECK: %[[ONE:.+]] = graph.constant dense<1>
// CHECK: %[[NEXT:.+]] = graph.add %[[STEP]], %[[ONE]]
// CHECK: return {{.*}}%[[NEXT]]
func.func @train_step(
    %t: tensor<i64> {dist.global_type = tensor<i64>, dist.sharding = #dist.sharding<@mesh, []>, graph.role = "variable", graph.name = "random/step", graph.variable = @"random/step"},
    %w: tensor<4xf32> {dist.global_type = tensor<4xf32>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "input", graph.name = "w"})
    -> (tensor<4xf32> {dist.global_type = tensor<4xf32>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "output", graph.name = "y"},
        tensor<i64> {dist.global_type = tensor<i64>, dist.sharding = #dist.sharding<@mesh, []>, graph.role = "variable", graph.name = "random/step", graph.variable = @"random/step"}) {
  %0 = dist.all_reduce %w over @mesh ["data"] {op_id = 0 : i64, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.random_uniform %t {seed = 7 : i64} : (tensor<i64>) -> tensor<4xf32>
  %2 = graph.random_uniform %t {seed = 8 : i64} : (tensor<i64>) -> tensor<4xf32>
  %3 = graph.mul %1, %2 : tensor<4xf32>
  %one = graph.constant dense<1> : tensor<i64>
  %next = graph.add %t, %one : tensor<i64>
  return %3, %next : tensor<4xf32>, tensor<i64>
}

// CHECK-LABEL: func @predict(
// CHECK-SAME: %[[STEP:.+]]: tensor<i64>
// CHECK-NEXT: graph.random_uniform %[[STEP]]
// CHECK-NEXT: return
func.func @predict(
    %t: tensor<i64> {dist.global_type = tensor<i64>, dist.sharding = #dist.sharding<@mesh, []>, graph.role = "variable", graph.name = "random/step", graph.variable = @"random/step"})
    -> (tensor<4xf32> {dist.global_type = tensor<4xf32>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "output", graph.name = "y"}) {
  %0 = graph.random_uniform %t {seed = 7 : i64} : (tensor<i64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
