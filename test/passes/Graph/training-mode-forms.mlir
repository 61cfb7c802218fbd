// RUN: dist-opt %s --graph-training-mode | FileCheck %s
// RUN: dist-opt %s --graph-training-mode='groups=2' | FileCheck %s --check-prefix=SPLIT

// Statistics of another type or form than the normalization takes are moved as
// they are stored.
// SPLIT: graph.variable @mean : tensor<2x3xf64>
// SPLIT: graph.variable @variance : tensor<2x3xf64>
graph.variable @scale : tensor<3xf32> trainable = dense<1.0> : tensor<3xf32>
graph.variable @mean : tensor<1x3xf64> {group = "buffer"} = dense<1.0> : tensor<1x3xf64>
graph.variable @variance : tensor<3xf64> {group = "buffer"} = dense<1.0> : tensor<3xf64>

// SPLIT-LABEL: func @predict
// SPLIT: %[[ALL:.+]] = graph.read @mean : tensor<2x3xf64>
// SPLIT: graph.reduce sum, %[[ALL]]
// SPLIT: graph.reshape %{{.+}} : (tensor<3xf64>) -> tensor<1x3xf64>
// SPLIT: graph.batch_norm_inference
// CHECK-LABEL: func @train_step(
// CHECK: %{{.+}}, %[[M:.+]], %[[V:.+]], %{{.+}} = graph.batch_norm %
// CHECK: graph.read @mean : tensor<1x3xf64>
// CHECK: graph.convert %[[M]] : (tensor<1x3xf32>) -> tensor<1x3xf64>
// CHECK: graph.assign @mean
// CHECK: graph.read @variance : tensor<3xf64>
// CHECK: graph.assign @variance
// SPLIT-LABEL: func @train_step(
// SPLIT: graph.batch_norm %
// SPLIT-SAME: groups = 2
// SPLIT: graph.assign @mean, %{{.+}} : tensor<2x3xf64>
// SPLIT: graph.assign @variance, %{{.+}} : tensor<2x3xf64>
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {graph.role = "output"}) {
  %s = graph.read @scale : tensor<3xf32>
  %m = graph.read @mean : tensor<1x3xf64>
  %v = graph.read @variance : tensor<3xf64>
  %flat = graph.reshape %m : (tensor<1x3xf64>) -> tensor<3xf64>
  %mean = graph.convert %flat : (tensor<3xf64>) -> tensor<3xf32>
  %variance = graph.convert %v : (tensor<3xf64>) -> tensor<3xf32>
  %0 = graph.batch_norm_inference %x, %s, %s, %mean, %variance {axis = 1 : i64, epsilon = 1.0e-3 : f64, momentum = 0.8 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
