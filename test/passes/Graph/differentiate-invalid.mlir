// RUN: dist-opt %s -split-input-file --graph-differentiate -verify-diagnostics

// expected-error @+1 {{'train_step' has no result of role "loss" to differentiate}}
func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected the loss to be one float, but got 'tensor<4xf32>'}}
func.func @train_step(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.role = "loss"}) {
  return %x : tensor<4xf32>
}

// -----

graph.variable @w : tensor<f32> = dense<1.0> : tensor<f32>
// expected-error @+1 {{'train_step': the loss depends on no trainable variable}}
func.func @train_step(%w: tensor<f32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  return %w : tensor<f32>
}

// -----

graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  // expected-error @+1 {{has no derivative, but lies between a trainable variable and the loss; freeze the variables before it or change the model}}
  %0 = "arith.negf"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

graph.variable @w : tensor<f32> trainable = dense<1.0> : tensor<f32>
// expected-error @+1 {{graph-differentiate: expected 'train_step' to have one block, but got 2}}
func.func @train_step(%w: tensor<f32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"}) {
  cf.br ^bb1
^bb1:
  return %w : tensor<f32>
}
