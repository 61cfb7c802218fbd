// RUN: dist-opt %s --dist-place-host-variables | FileCheck %s
// RUN: dist-opt %s --dist-place-host-variables | dist-opt --verify-roundtrip | FileCheck %s

dist.mesh @mesh ["data"=2]

// What all replicas write alike has one copy: parameters, slots, counters.
// CHECK: graph.variable @w : {{.*}}{dist.placement = #dist.placement<host>
graph.variable @w : tensor<4xf32> trainable = dense<0.1> : tensor<4xf32>
// CHECK: graph.variable @w_m : {{.*}}{dist.placement = #dist.placement<host>
graph.variable @w_m : tensor<4xf32> {group = "slot", slot_of = @w} = dense<0.0> : tensor<4xf32>
// CHECK: graph.variable @step : {{.*}}{dist.placement = #dist.placement<host>
graph.variable @step : tensor<i64> {group = "counter"} = dense<0> : tensor<i64>
// What each replica has of its own stays with it.
// CHECK: graph.variable @metric : tensor<f32> {aggregation
graph.variable @metric : tensor<f32> {aggregation = 1 : i32, synchronization = 1 : i32, group = "metric"} = dense<0.0> : tensor<f32>
// CHECK: graph.variable @mean : tensor<2x4xf32> {aggregation
graph.variable @mean : tensor<2x4xf32> {aggregation = 2 : i32, synchronization = 1 : i32, group = "buffer"} = dense<0.0> : tensor<2x4xf32>
