// RUN: dist-opt %s --graph-training-mode='partial=true weights=1,1' | FileCheck %s

// Each draws from its own stream, whatever the order; those without a number
// come behind them.
// CHECK-LABEL: func @train_step(
// CHECK: %[[STEP:.+]] = graph.read @"random/step"
// CHECK: graph.random_uniform %[[STEP]] {seed = 3 : i64}
// CHECK: graph.random_uniform %[[STEP]] {seed = 1 : i64}
// CHECK: graph.random_uniform %[[STEP]] {seed = 4 : i64}
// CHECK: graph.random_uniform %[[STEP]] {seed = 2 : i64} : (tensor<i64>) -> tensor<4x1xf32>
// CHECK: return

// A short batch's copies stand among the examples; each example drops by its
// own number, of ones that depend on no example, too.
// CHECK-LABEL: func @train_step_partial
// CHECK-COUNT-4: graph.random_uniform %{{.+}} rows %{{.+}} {dim = 0 : i64
// CHECK: return
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {graph.role = "output"}) {
  %0 = graph.dropout %x {rate = 0.5 : f64, graph.stream = 3 : i64} : tensor<4x3xf32>
  %1 = graph.dropout %x {rate = 0.5 : f64, graph.stream = 1 : i64} : tensor<4x3xf32>
  %2 = graph.dropout %x {rate = 0.5 : f64} : tensor<4x3xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %ones = graph.broadcast %one {dims = array<i64>} : (tensor<f32>) -> tensor<4x1xf32>
  %3 = graph.dropout %ones {rate = 0.5 : f64, graph.stream = 2 : i64} : tensor<4x1xf32>
  %4 = graph.reshape %3 : (tensor<4x1xf32>) -> tensor<4xf32>
  %5 = graph.broadcast %4 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x3xf32>
  %6 = graph.add %0, %1 : tensor<4x3xf32>
  %7 = graph.add %6, %2 : tensor<4x3xf32>
  %8 = graph.mul %7, %5 : tensor<4x3xf32>
  return %8 : tensor<4x3xf32>
}
