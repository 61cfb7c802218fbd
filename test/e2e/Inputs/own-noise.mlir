// Ten scores of an image, with noise on the image's 16-pixel pieces and on the
// weights, whose first dim is as large as the batch.
graph.variable @"random/step" : tensor<i64> {group = "counter", aggregation = 3 : i32} = dense<0> : tensor<i64>
graph.variable @w : tensor<64x10xf32> trainable = dense<0.0> : tensor<64x10xf32>
func.func @predict(%x: tensor<64x64xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<64x10xf32> {graph.role = "output", graph.name = "digit", graph.batch_dim = 0 : i64}) {
  %step = graph.read @"random/step" : tensor<i64>
  %w = graph.read @w : tensor<64x10xf32>
  %0 = graph.reshape %x : (tensor<64x64xf32>) -> tensor<256x16xf32>
  %1 = graph.random_uniform %step {seed = 1 : i64} : (tensor<i64>) -> tensor<256x16xf32>
  %2 = graph.add %0, %1 : tensor<256x16xf32>
  %3 = graph.reshape %2 : (tensor<256x16xf32>) -> tensor<64x64xf32>
  %4 = graph.random_uniform %step {seed = 2 : i64} : (tensor<i64>) -> tensor<64x10xf32>
  %5 = graph.add %w, %4 : tensor<64x10xf32>
  %6 = graph.dot_general %3, %5 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x10xf32>) -> tensor<64x10xf32>
  return %6 : tensor<64x10xf32>
}
