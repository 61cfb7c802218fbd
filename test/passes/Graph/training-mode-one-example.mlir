// RUN: dist-opt %s --graph-training-mode | FileCheck %s

// A batch of one example, to which all rows belong.
graph.variable @m : tensor<3xf32> {group = "buffer"} = dense<1.0> : tensor<3xf32>
// CHECK-LABEL: func @train_step(
// CHECK: %[[ROWS:.+]] = graph.reshape %{{.+}} : (tensor<5x3xf32>) -> tensor<1x5x3xf32>
// CHECK: graph.batch_norm %[[ROWS]], {{.*}}axis = 2
func.func @predict(%x: tensor<1x5x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<1x5x3xf32> {graph.role = "output"}) {
  %m = graph.read @m : tensor<3xf32>
  %flat = graph.reshape %x : (tensor<1x5x3xf32>) -> tensor<5x3xf32>
  %0 = graph.batch_norm_inference %flat, %m, %m, %m, %m {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  %1 = graph.reshape %0 : (tensor<5x3xf32>) -> tensor<1x5x3xf32>
  return %1 : tensor<1x5x3xf32>
}
