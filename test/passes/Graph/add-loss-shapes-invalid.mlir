// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=sparse-categorical-crossentropy partial=true' -verify-diagnostics

// expected-error @+1 {{the module has no function 'predict'}}
module {}

// -----

// expected-error @+1 {{expected the output to be floats of shape [batch, ..., classes], but got 'tensor<4xf32>'}}
func.func @predict(%x: tensor<4xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4xf32> {graph.role = "output", graph.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'train_step' has no input with a batch dim; training needs one}}
func.func @predict(%x: tensor<f32> {graph.role = "input"}) -> (tensor<f32> {graph.role = "output"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected dim 0 of the output to be the batch of 6, but got 'tensor<4x3xf32>'}}
func.func @predict(%x: tensor<6xf32> {graph.role = "input", graph.batch_dim = 0 : i64}, %y: tensor<4x3xf32>) -> (tensor<4x3xf32> {graph.role = "output", graph.name = "y"}) {
  return %y : tensor<4x3xf32>
}

// -----

// expected-error @+1 {{'train_step' has no output that a loss could read}}
func.func @predict(%x: tensor<6xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) {
  return
}
