// Each image's scores against those of all others, as contrastive losses have
// it: label i says which image of the batch goes with image i.
graph.variable @w : tensor<64x10xf32> trainable = dense<0.01> : tensor<64x10xf32>
func.func @predict(%x: tensor<32x64xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64})
    -> (tensor<32x32xf32> {graph.role = "output", graph.name = "pairs", graph.batch_dim = 0 : i64}) {
  %w = graph.read @w : tensor<64x10xf32>
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x64xf32>, tensor<64x10xf32>) -> tensor<32x10xf32>
  %1 = graph.dot_general %0, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x32xf32>
  return %1 : tensor<32x32xf32>
}
