// RUN: dist-opt %s -split-input-file --graph-training-mode='groups=3' -verify-diagnostics

// expected-error @+1 {{the module has no function 'predict'}}
module {}

// -----

graph.variable @m : tensor<3xf32> {group = "buffer"} = dense<1.0> : tensor<3xf32>
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {graph.role = "output"}) {
  %m = graph.read @m : tensor<3xf32>
  // expected-error @+1 {{cannot split a batch of 4 over 3 replicas}}
  %0 = graph.batch_norm_inference %x, %m, %m, %m, %m {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

graph.variable @m : tensor<3xf32> {group = "buffer"} = dense<1.0> : tensor<3xf32>
func.func @predict(%x: tensor<6x1x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<1x6x3xf32> {graph.role = "output"}) {
  %m = graph.read @m : tensor<3xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<6x1x3xf32>) -> tensor<1x6x3xf32>
  // expected-error @+1 {{expected dim 0 to be the batch of 6 in training}}
  %1 = graph.batch_norm_inference %0, %m, %m, %m, %m {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<1x6x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x6x3xf32>
  return %1 : tensor<1x6x3xf32>
}
