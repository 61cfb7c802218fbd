// RUN: dist-opt %s --dist-replicate=axes=data:2 | FileCheck %s
// RUN: dist-opt %s "--dist-replicate=axes=host:2,data:2 strategy=multi-worker-mirrored" | FileCheck %s --check-prefix=TWO
// RUN: dist-opt %s "--dist-replicate=axes=data:2,microbatch:2" | FileCheck %s --check-prefix=PIPE
// RUN: dist-opt %s --dist-replicate=axes=data:1 | FileCheck %s --check-prefix=ONE

// CHECK: dist.mesh @mesh ["data"=2] {why = {data = "--strategy=mirrored splits the batch over 'data'"}}
// TWO: dist.mesh @mesh ["host"=2, "data"=2] {why = {{.*}}--strategy=multi-worker-mirrored
// PIPE: dist.mesh @mesh ["data"=2, "microbatch"=2] {why = {data = "--strategy=mirrored splits the batch over 'data'", microbatch = "--strategy=pipeline splits the batch over 'microbatch'"}}
// ONE-NOT: dist.
// ONE: graph.variable @w

// Mirrored: every rank has the whole.
// CHECK: graph.variable @w {{.*}}sharding = #dist.sharding<@mesh, [{}, {}]>
graph.variable @w : tensor<6x3xf32> trainable = dense<0.5> : tensor<6x3xf32>
// ON_READ SUM: each rank has its own part of the sum.
// CHECK: graph.variable @total {{.*}}sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>
graph.variable @total : tensor<f32> {group = "metric", synchronization = 1 : i32, aggregation = 1 : i32} = dense<0.0> : tensor<f32>

// ONE: func @step
// CHECK-LABEL: func @step
// CHECK-SAME: %{{[^:]+}}: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
// CHECK-SAME: %{{[^:]+}}: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>
// CHECK-SAME: %{{[^:]+}}: tensor<6x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>
// CHECK-SAME: %{{[^:]+}}: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>
// CHECK-SAME: -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
// CHECK-SAME: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>
// CHECK-SAME: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>
// TWO-LABEL: func @step
// TWO-SAME: #dist.sharding<@mesh, [{"host", "data"}, {}]>
func.func @step(
    %x: tensor<8x6xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %n: tensor<f32> {graph.role = "count"},
    %w: tensor<6x3xf32> {graph.role = "variable", graph.variable = @w},
    %t: tensor<f32> {graph.role = "variable", graph.variable = @total})
    -> (tensor<8x6xf32> {graph.role = "output", graph.batch_dim = 0 : i64},
        tensor<f32> {graph.role = "loss"},
        tensor<f32> {graph.role = "variable", graph.variable = @total}) {
  return %x, %n, %t : tensor<8x6xf32>, tensor<f32>, tensor<f32>
}
