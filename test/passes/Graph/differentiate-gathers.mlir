// RUN: dist-opt %s --graph-differentiate | FileCheck %s

// What is read several times gets a sum: of bf16 it is in f32, and rounded
// once.
graph.variable @w : tensor<4x2xbf16> trainable = dense<1.0> : tensor<4x2xbf16>

// CHECK-LABEL: func @train_step
// CHECK-SAME: %[[I:[^:]+]]: tensor<1000xi64>
// CHECK: graph.reduce sum
// CHECK: %[[DY:.+]] = graph.convert %{{.+}} : (tensor<1000x2xbf16>) -> tensor<1000x2xf32>
// CHECK: %[[SUM:.+]] = graph.scatter_add %{{.+}}, %[[I]], %[[DY]] {{.*}} -> tensor<4x2xf32>
// CHECK: %[[DW:.+]] = graph.convert %[[SUM]] : (tensor<4x2xf32>) -> tensor<4x2xbf16>
// CHECK: return %{{.+}}, %[[DW]]
func.func @train_step(%i: tensor<1000xi64> {graph.role = "input"},
    %w: tensor<4x2xbf16> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  %0 = graph.gather %w, %i {axis = 0 : i64} : (tensor<4x2xbf16>, tensor<1000xi64>) -> tensor<1000x2xbf16>
  %1 = graph.convert %0 : (tensor<1000x2xbf16>) -> tensor<1000x2xf32>
  %loss = graph.reduce sum, %1 {dims = array<i64: 0, 1>} : (tensor<1000x2xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func @train_step_partial
// CHECK: graph.scatter_elements {{.*}} -> tensor<4x2xf32>
// CHECK: graph.convert {{.*}} : (tensor<4x2xf32>) -> tensor<4x2xbf16>
// CHECK: graph.scatter_nd {{.*}} -> tensor<4x2xf32>
// CHECK: graph.convert {{.*}} : (tensor<4x2xf32>) -> tensor<4x2xbf16>
// CHECK: return
func.func @train_step_partial(%i: tensor<9x2xi64> {graph.role = "input"},
    %w: tensor<4x2xbf16> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  %0 = graph.gather_nd %w, %i {batch_dims = 0 : i64} : (tensor<4x2xbf16>, tensor<9x2xi64>) -> tensor<9xbf16>
  %1 = graph.gather_elements %w, %i {axis = 0 : i64} : (tensor<4x2xbf16>, tensor<9x2xi64>) -> tensor<9x2xbf16>
  %2 = graph.convert %0 : (tensor<9xbf16>) -> tensor<9xf32>
  %3 = graph.convert %1 : (tensor<9x2xbf16>) -> tensor<9x2xf32>
  %4 = graph.reduce sum, %2 {dims = array<i64: 0>} : (tensor<9xf32>) -> tensor<f32>
  %5 = graph.reduce sum, %3 {dims = array<i64: 0, 1>} : (tensor<9x2xf32>) -> tensor<f32>
  %loss = graph.add %4, %5 : tensor<f32>
  return %loss : tensor<f32>
}
