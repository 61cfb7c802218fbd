// A wide pair of layers, worth a transfer each way, and three narrow ones that
// are not.
graph.variable @wide.up : tensor<256x1024xf32> trainable = dense<0.5> : tensor<256x1024xf32>
graph.variable @wide.down : tensor<1024x256xf32> trainable = dense<0.5> : tensor<1024x256xf32>
graph.variable @narrow1.up : tensor<256x16xf32> trainable = dense<0.5> : tensor<256x16xf32>
graph.variable @narrow1.down : tensor<16x256xf32> trainable = dense<0.5> : tensor<16x256xf32>
graph.variable @narrow2.up : tensor<256x16xf32> trainable = dense<0.5> : tensor<256x16xf32>
graph.variable @narrow2.down : tensor<16x256xf32> trainable = dense<0.5> : tensor<16x256xf32>
graph.variable @narrow3.up : tensor<256x16xf32> trainable = dense<0.5> : tensor<256x16xf32>
graph.variable @narrow3.down : tensor<16x256xf32> trainable = dense<0.5> : tensor<16x256xf32>
func.func @predict(%x: tensor<4x256xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
    %wu: tensor<256x1024xf32> {graph.variable = @wide.up, graph.role = "variable"}, %wd: tensor<1024x256xf32> {graph.variable = @wide.down, graph.role = "variable"},
    %u1: tensor<256x16xf32> {graph.variable = @narrow1.up, graph.role = "variable"}, %d1: tensor<16x256xf32> {graph.variable = @narrow1.down, graph.role = "variable"},
    %u2: tensor<256x16xf32> {graph.variable = @narrow2.up, graph.role = "variable"}, %d2: tensor<16x256xf32> {graph.variable = @narrow2.down, graph.role = "variable"},
    %u3: tensor<256x16xf32> {graph.variable = @narrow3.up, graph.role = "variable"}, %d3: tensor<16x256xf32> {graph.variable = @narrow3.down, graph.role = "variable"})
    -> (tensor<4x256xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %wu {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x256xf32>, tensor<256x1024xf32>) -> tensor<4x1024xf32>
  %1 = graph.relu %0 : tensor<4x1024xf32>
  %2 = graph.dot_general %1, %wd {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x1024xf32>, tensor<1024x256xf32>) -> tensor<4x256xf32>
  %3 = graph.dot_general %2, %u1 {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x256xf32>, tensor<256x16xf32>) -> tensor<4x16xf32>
  %4 = graph.relu %3 : tensor<4x16xf32>
  %5 = graph.dot_general %4, %d1 {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x16xf32>, tensor<16x256xf32>) -> tensor<4x256xf32>
  %6 = graph.dot_general %5, %u2 {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x256xf32>, tensor<256x16xf32>) -> tensor<4x16xf32>
  %7 = graph.relu %6 : tensor<4x16xf32>
  %8 = graph.dot_general %7, %d2 {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x16xf32>, tensor<16x256xf32>) -> tensor<4x256xf32>
  %9 = graph.dot_general %8, %u3 {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x256xf32>, tensor<256x16xf32>) -> tensor<4x16xf32>
  %10 = graph.relu %9 : tensor<4x16xf32>
  %11 = graph.dot_general %10, %d3 {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x16xf32>, tensor<16x256xf32>) -> tensor<4x256xf32>
  return %11 : tensor<4x256xf32>
}
