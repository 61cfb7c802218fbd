// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=bf16},func.func(dist-combine-collectives))" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=int8},func.func(dist-combine-collectives))" | FileCheck %s --check-prefix=INT8
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=topk:ratio=0.01},func.func(dist-combine-collectives))" | FileCheck %s --check-prefix=TOPK
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=powersgd:rank=2},func.func(dist-combine-collectives))" | FileCheck %s --check-prefix=POWER
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<64x20xf32> trainable = dense<1.0> : tensor<64x20xf32>
graph.variable @b : tensor<20xf32> trainable = dense<1.0> : tensor<20xf32>
graph.variable @moving : tensor<20xf32> {group = "buffer"} = dense<0.0> : tensor<20xf32>

// What a rank has not sent is a variable: a sum over ranks, like an accumulator.
// CHECK: graph.variable @"compression/error/w" : tensor<64x20xf32> {aggregation = 1 : i32, group = "compression", sharding = #dist.sharding<@mesh, {{\[}}{}, {}], unreduced = {"data"}>, slot_of = @w, synchronization = 1 : i32} = dense<0.000000e+00>
// CHECK: graph.variable @"compression/error/b"
// POWER: graph.variable @"compression/q/w" : tensor<20x2xf32> {{.*}}sharding = #dist.sharding<@mesh, {{\[}}{}, {}]>

// The statistics are summed on the way to a gradient, the moving average is no
// trainable variable's, the loss and the norm are single numbers: all stay.
// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[EW:[a-z0-9]+]]: tensor<64x20xf32> {dist.global_type = tensor<64x20xf32>, dist.sharding = #dist.sharding<@mesh, {{\[}}{}, {}], unreduced = {"data"}>, graph.name = "compression/error/w", graph.role = "variable", graph.variable = @"compression/error/w"}
// CHECK-SAME: compression = {bytes_after = 2.600000e+03 : f64, bytes_before = 5.200000e+03 : f64, compressed = 2 : i64, gradients = 2 : i64, method = "bf16"
// CHECK: %[[S:.+]] = dist.all_reduce %arg4
// CHECK: %[[G:.+]] = graph.mul
// CHECK: %[[P:.+]] = graph.add %[[G]], %[[EW]]
// CHECK: %[[H:.+]] = graph.convert %[[P]] : (tensor<64x20xf32>) -> tensor<64x20xbf16>
// CHECK: %[[SENT:.+]] = graph.convert %[[H]] : (tensor<64x20xbf16>) -> tensor<64x20xf32>
// CHECK: %[[E:.+]] = graph.sub %[[P]], %[[SENT]]
// CHECK: %[[R:.+]]:2 = dist.all_reduce %[[H]], %{{.+}} over @mesh ["data"] {{.*}} : (tensor<64x20xbf16>, tensor<20xbf16>)
// CHECK: graph.convert %[[R]]#0
// A step that is left out leaves what was not sent alone, too.
// CHECK: graph.select %{{.+}}, %[[E]], %[[EW]]

// Bytes and scales go together, one transfer for all.
// INT8-LABEL: func @train_step
// INT8-SAME: bytes_after = 1.308000e+03
// INT8: dist.all_gather %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} over @mesh ["data"] {{.*}}dims = array<i64: 0, 0, 0, 0>{{.*}} : (tensor<1x1280xi8>, tensor<1xf32>, tensor<1x20xi8>, tensor<1xf32>) -> (tensor<2x1280xi8>, tensor<2xf32>, tensor<2x20xi8>, tensor<2xf32>)
// INT8: graph.reduce sum

// 1280 elements are two blocks of 640.
// TOPK-LABEL: func @train_step
// TOPK: %[[LEFT:.+]] = graph.reshape %{{.+}} : (tensor<1280xf32>) -> tensor<2x640xf32>
// TOPK: %[[G:.+]] = graph.reshape %{{.+}} : (tensor<1280xf32>) -> tensor<2x640xf32>
// TOPK: graph.take_top_k %[[G]], %[[LEFT]] {k = 6 : i64, keeps_rest = @"compression/error/w"} : (tensor<2x640xf32>, tensor<2x640xf32>) -> (tensor<2x6xf32>, tensor<2x6xi16>, tensor<2x640xf32>)
// TOPK: dist.all_gather {{.*}} : (tensor<2x6xf32>, tensor<2x6xi16>, tensor<1x1xf32>, tensor<1x1xi16>) -> (tensor<2x12xf32>, tensor<2x12xi16>, tensor<1x2xf32>, tensor<1x2xi16>)
// TOPK: graph.scatter_rows %{{.+}}, %{{.+}} {size = 640 : i64} : (tensor<2x12xf32>, tensor<2x12xi16>) -> tensor<2x640xf32>

// Only matrices have factors.
// POWER-LABEL: func @train_step
// POWER-SAME: compressed = 1 : i64, gradients = 2 : i64
// POWER: dist.all_reduce {{.*}} : (tensor<64x2xf32>{{.*}})
// POWER: dist.all_reduce {{.*}}tensor<20x2xf32>
func.func @train_step(
    %w: tensor<64x20xf32> {graph.variable = @w, graph.role = "variable"},
    %b: tensor<20xf32> {graph.variable = @b, graph.role = "variable"},
    %m: tensor<20xf32> {graph.variable = @moving, graph.role = "variable"},
    %x: tensor<64x20xf32>, %stat: tensor<20xf32>, %loss: tensor<f32>) ->
   (tensor<f32> {graph.role = "loss"},
    tensor<64x20xf32> {graph.variable = @w, graph.role = "variable"},
    tensor<20xf32> {graph.variable = @b, graph.role = "variable"},
    tensor<20xf32> {graph.variable = @moving, graph.role = "variable"}) {
  %0 = dist.all_reduce %stat over @mesh ["data"] {reason = "statistics", origin = "bn"} : (tensor<20xf32>) -> tensor<20xf32>
  %1 = graph.add %m, %0 : tensor<20xf32>
  %2 = graph.broadcast %0 {dims = array<i64: 1>} : (tensor<20xf32>) -> tensor<64x20xf32>
  %3 = graph.mul %x, %2 : tensor<64x20xf32>
  %4 = dist.all_reduce %3 over @mesh ["data"] {reason = "sum", origin = "w"} : (tensor<64x20xf32>) -> tensor<64x20xf32>
  %5 = graph.reduce sum, %3 {dims = array<i64: 0>} : (tensor<64x20xf32>) -> tensor<20xf32>
  %6 = dist.all_reduce %5 over @mesh ["data"] {reason = "sum", origin = "b"} : (tensor<20xf32>) -> tensor<20xf32>
  %7 = dist.all_reduce %loss over @mesh ["data"] {reason = "sum", origin = "loss"} : (tensor<f32>) -> tensor<f32>
  // The norm of all gradients scales each of them.
  %8 = graph.mul %4, %4 : tensor<64x20xf32>
  %9 = graph.reduce sum, %8 {dims = array<i64: 0, 1>} : (tensor<64x20xf32>) -> tensor<f32>
  %10 = graph.broadcast %9 {dims = array<i64>} : (tensor<f32>) -> tensor<20xf32>
  %11 = graph.mul %6, %10 : tensor<20xf32>
  %12 = graph.sub %b, %11 : tensor<20xf32>
  %13 = graph.sub %w, %4 : tensor<64x20xf32>
  %14 = graph.compare lt, %9, %9 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %15 = graph.broadcast %14 {dims = array<i64>} : (tensor<i1>) -> tensor<20xi1>
  %16 = graph.select %15, %12, %b : (tensor<20xi1>, tensor<20xf32>, tensor<20xf32>) -> tensor<20xf32>
  return %7, %13, %16, %1 : tensor<f32>, tensor<64x20xf32>, tensor<20xf32>, tensor<20xf32>
}
