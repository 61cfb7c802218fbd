// RUN: dist-opt %s --split-input-file --graph-apply-optimizer='optimizer=sgd separate=true independent-updates=true' --verify-diagnostics
// RUN: dist-opt %s --split-input-file --graph-apply-optimizer=optimizer=sgd --verify-diagnostics

// expected-error-re @+1 {{'{{train_step|gradients}}' has gradients of no variable}}
func.func @train_step(%loss: tensor<f32>, %gx: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.name = "x", graph.batch_dim = 0 : i64}) {
  return %loss, %gx : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{'train_step': variable 1 names no variable}}
func.func @train_step(%loss: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "variable"},
        tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  return %loss, %g, %g : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{'train_step': gradient 1 names no variable}}
func.func @train_step(%loss: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @none}) {
  return %loss, %g : tensor<f32>, tensor<4xf32>
}

// -----

graph.variable @w : tensor<5xf32> trainable = dense<1.0> : tensor<5xf32>
// expected-error @+1 {{'train_step': gradient 1 has not the type of its variable}}
func.func @train_step(%loss: tensor<f32>, %g: tensor<4xf32>)
    -> (tensor<f32> {graph.role = "loss"}, tensor<4xf32> {graph.role = "gradient", graph.variable = @w}) {
  return %loss, %g : tensor<f32>, tensor<4xf32>
}
