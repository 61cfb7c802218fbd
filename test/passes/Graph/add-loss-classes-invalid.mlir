// RUN: dist-opt %s --graph-add-loss='loss=categorical-crossentropy class-weights=1=3' -verify-diagnostics

// expected-error @+1 {{--loss categorical-crossentropy: expected the output to be floats of shape [batch, ..., classes], but got 'tensor<4xf32>'}}
func.func @predict(%x: tensor<4xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) -> (tensor<4xf32> {graph.role = "output", graph.name = "y"}) {
  return %x : tensor<4xf32>
}
