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
func.func @predict(%x: tensor<6x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<6x3xf32> {graph.role = "output"}) {
  %m = graph.read @m : tensor<3xf32>
  %table = graph.constant dense<1.0> : tensor<5x3xf32>
  // expected-error @+1 {{expected a dim beside the channels to be of the batch of 6 in training, but got 'tensor<5x3xf32>'}}
  %0 = graph.batch_norm_inference %table, %m, %m, %m, %m {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<5x3xf32>) -> tensor<3xf32>
  %2 = graph.broadcast %1 {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<6x3xf32>
  %3 = graph.mul %x, %2 : tensor<6x3xf32>
  return %3 : tensor<6x3xf32>
}
