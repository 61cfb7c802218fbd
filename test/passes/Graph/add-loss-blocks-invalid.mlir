// RUN: dist-opt %s --split-input-file --graph-add-loss=loss=mse --verify-diagnostics

// What a loss is added to ends in one return.
// expected-error @+1 {{graph-add-loss: expected 'predict' to have one block, but got 2}}
func.func @predict(%x: tensor<2x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<2x3xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  cf.br ^bb1
^bb1:
  return %x : tensor<2x3xf32>
}

// -----

// A declaration has no block.
// expected-error @+1 {{graph-add-loss: expected 'predict' to have one block, but got 0}}
func.func private @predict(tensor<2x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<2x3xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64})

// -----

func.func @predict(%x: tensor<2x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<2x3xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  return %x : tensor<2x3xf32>
}
// expected-error @+1 {{graph-add-loss: expected 'train_step' to have one block, but got 3}}
func.func @train_step(%x: tensor<2x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}, %c: i1)
    -> (tensor<2x3xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %x : tensor<2x3xf32>
^bb2:
  return %x : tensor<2x3xf32>
}
