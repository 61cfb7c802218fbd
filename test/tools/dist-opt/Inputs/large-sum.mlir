// The sum is far above what f16 holds.
func.func @predict(%x: tensor<8x512xf16> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}) -> (tensor<512xf16> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.abs %x : tensor<8x512xf16>
  %1 = graph.constant dense<6.0e4> : tensor<f16>
  %2 = graph.broadcast %1 {dims = array<i64>} : (tensor<f16>) -> tensor<8x512xf16>
  %3 = graph.mul %0, %2 : tensor<8x512xf16>
  %4 = graph.reduce sum, %3 {dims = array<i64: 0, 1>} : (tensor<8x512xf16>) -> tensor<f16>
  %5 = graph.broadcast %4 {dims = array<i64>} : (tensor<f16>) -> tensor<512xf16>
  return %5 : tensor<512xf16>
}
