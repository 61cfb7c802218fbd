// RUN: dist-opt %s --dist-replicate=axes=data:2 | FileCheck %s

// ON_READ MEAN: one row of statistics a replica.
// CHECK: graph.variable @mean {{.*}}sharding = #dist.sharding<@mesh, [{"data"}, {}]>
graph.variable @mean : tensor<2x3xf32> {group = "buffer", synchronization = 1 : i32, aggregation = 2 : i32} = dense<0.0> : tensor<2x3xf32>
// ON_READ ONLY_FIRST_REPLICA: likewise, of which the first is read.
// CHECK: graph.variable @first {{.*}}sharding = #dist.sharding<@mesh, [{"data"}]>
graph.variable @first : tensor<2xi64> {group = "buffer", synchronization = 1 : i32, aggregation = 3 : i32} = dense<0> : tensor<2xi64>

// CHECK-LABEL: func @step
// CHECK-SAME: {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
func.func @step(%m: tensor<2x3xf32> {graph.role = "variable", graph.variable = @mean}) { return }
