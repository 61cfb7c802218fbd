// The digit of an image, as ten scores and as a number.
graph.variable @w : tensor<64x10xf32> trainable = dense<0.0> : tensor<64x10xf32>
graph.variable @v : tensor<64x1xf32> trainable = dense<0.01> : tensor<64x1xf32>
func.func @predict(%x: tensor<32x64xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
    %w: tensor<64x10xf32> {graph.variable = @w, graph.role = "variable"}, %v: tensor<64x1xf32> {graph.variable = @v, graph.role = "variable"})
    -> (tensor<32x10xf32> {graph.role = "output", graph.name = "digit", graph.batch_dim = 0 : i64},
        tensor<32x1xf32> {graph.role = "output", graph.name = "number", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x64xf32>, tensor<64x10xf32>) -> tensor<32x10xf32>
  %1 = graph.dot_general %x, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x64xf32>, tensor<64x1xf32>) -> tensor<32x1xf32>
  return %0, %1 : tensor<32x10xf32>, tensor<32x1xf32>
}
