// RUN: dist-opt %s -dist-place-server-variables="servers=2" | FileCheck %s
// RUN: dist-opt %s -dist-place-server-variables="servers=2 partitioner=fixed=5" | FileCheck %s --check-prefix=FIXED
// RUN: dist-opt %s -dist-place-server-variables="servers=4 partitioner=min-size=100" | FileCheck %s --check-prefix=MIN
// RUN: dist-opt %s -dist-place-server-variables="servers=4 partitioner=min-size=32:max=2" | FileCheck %s --check-prefix=MOST
// RUN: dist-opt %s -dist-place-server-variables="servers=2 partitioner=max-size=48" | FileCheck %s --check-prefix=MAX

// One server after the other.
// CHECK: graph.variable @w : {{.*}}dist.server_parts = [{begin = 0 : i64, server = 0 : i64, size = 13 : i64}]
// CHECK: graph.variable @scale : {{.*}}dist.server_parts = [{begin = 0 : i64, server = 1 : i64, size = 1 : i64}]
// CHECK: graph.variable @normed : {{.*}}dist.server_parts = [{begin = 0 : i64, server = 0 : i64, size = 4 : i64}]
// What no gradient is of stays with the workers.
// CHECK: graph.variable @frozen
// CHECK-NOT: server_parts
// CHECK: func.func @apply

// 13 rows in 5; a scalar and what is updated by a norm stay whole.
// FIXED: graph.variable @w
// FIXED-SAME: {begin = 0 : i64, server = 0 : i64, size = 3 : i64}, {begin = 3 : i64, server = 1 : i64, size = 3 : i64}, {begin = 6 : i64, server = 0 : i64, size = 3 : i64}, {begin = 9 : i64, server = 1 : i64, size = 2 : i64}, {begin = 11 : i64, server = 0 : i64, size = 2 : i64}]
// FIXED: graph.variable @scale : {{.*}}dist.server_parts = [{begin = 0 : i64, server = 1 : i64, size = 1 : i64}]
// FIXED: graph.variable @normed
// FIXED-SAME: dist.server_parts = [{begin = 0 : i64, server = 0 : i64, size = 4 : i64}]
// FIXED-SAME: dist.why = {dist.server_parts = "whole: its update is not row by row"}

// 208 bytes are two parts of 100; 104 of 32 would be more than max.
// MIN: graph.variable @w
// MIN-SAME: {begin = 0 : i64, server = 0 : i64, size = 7 : i64}, {begin = 7 : i64, server = 1 : i64, size = 6 : i64}]
// MOST: graph.variable @w
// MOST-SAME: {begin = 0 : i64, server = 0 : i64, size = 7 : i64}, {begin = 7 : i64, server = 1 : i64, size = 6 : i64}]
// MOST: graph.variable @scale : {{.*}}dist.server_parts = [{begin = 0 : i64, server = 2 : i64, size = 1 : i64}]

// Three rows of 16 bytes a part.
// MAX: graph.variable @w
// MAX-SAME: server = 0 : i64, size = 3 : i64}, {{.*}}server = 1 : i64, size = 3 : i64}, {{.*}}server = 0 : i64, size = 3 : i64}, {{.*}}server = 1 : i64, size = 2 : i64}, {{.*}}server = 0 : i64, size = 2 : i64}]
graph.variable @w : tensor<13x4xf32> trainable = dense<0.0> : tensor<13x4xf32>
graph.variable @"w/m" : tensor<13x4xf32> {group = "slot", slot_of = @w} = dense<0.0> : tensor<13x4xf32>
graph.variable @scale : tensor<f32> trainable = dense<1.0> : tensor<f32>
graph.variable @normed : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @frozen : tensor<4xf32> = dense<1.0> : tensor<4xf32>
func.func @apply(
    %gw: tensor<13x4xf32> {graph.name = "w", graph.role = "gradient"},
    %gs: tensor<f32> {graph.name = "scale", graph.role = "gradient"},
    %gn: tensor<4xf32> {graph.name = "normed", graph.role = "gradient"},
    %w: tensor<13x4xf32> {graph.role = "variable", graph.variable = @w},
    %m: tensor<13x4xf32> {graph.role = "variable", graph.variable = @"w/m"},
    %s: tensor<f32> {graph.role = "variable", graph.variable = @scale},
    %n: tensor<4xf32> {graph.role = "variable", graph.variable = @normed})
    -> (tensor<13x4xf32> {graph.role = "variable", graph.variable = @w},
        tensor<13x4xf32> {graph.role = "variable", graph.variable = @"w/m"},
        tensor<f32> {graph.role = "variable", graph.variable = @scale},
        tensor<4xf32> {graph.role = "variable", graph.variable = @normed}) {
  %0 = graph.add %m, %gw : tensor<13x4xf32>
  %1 = graph.sub %w, %0 : tensor<13x4xf32>
  %2 = graph.sub %s, %gs : tensor<f32>
  %3 = graph.reduce sum, %gn {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %4 = graph.broadcast %3 {dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
  %5 = graph.sub %n, %4 : tensor<4xf32>
  return %1, %0, %2, %5 : tensor<13x4xf32>, tensor<13x4xf32>, tensor<f32>, tensor<4xf32>
}
