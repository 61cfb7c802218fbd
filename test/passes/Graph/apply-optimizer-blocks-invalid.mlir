// RUN: dist-opt %s --split-input-file --graph-apply-optimizer=optimizer=sgd --verify-diagnostics
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd separate=true' --verify-diagnostics
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd accumulate=2' --verify-diagnostics

// Updates are put before one return.
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
// expected-error @+1 {{graph-apply-optimizer: expected 'train_step' to have one block, but got 2}}
func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w}, %loss: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  cf.br ^bb1
^bb1:
  return %loss, %g : tensor<f32>, tensor<4xf32>
}

// -----

graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
func.func @train_step(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w}, %loss: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  return %loss, %g : tensor<f32>, tensor<4xf32>
}
// The partial step's, too.
// expected-error @+1 {{graph-apply-optimizer: expected 'train_step_partial' to have one block, but got 3}}
func.func @train_step_partial(%w: tensor<4xf32> {graph.role = "variable", graph.variable = @w}, %loss: tensor<f32>, %g: tensor<4xf32>, %c: i1)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %loss, %g : tensor<f32>, tensor<4xf32>
^bb2:
  return %loss, %g : tensor<f32>, tensor<4xf32>
}
