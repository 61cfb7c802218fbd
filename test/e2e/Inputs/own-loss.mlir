// A model with two outputs; the second is a loss an example of its own.
graph.variable @scale : tensor<f32> trainable = dense<2.0> : tensor<f32>
graph.variable @shift : tensor<f32> trainable = dense<1.0> : tensor<f32>
func.func @predict(%x: tensor<4x64xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64},
    %s: tensor<f32> {graph.variable = @scale, graph.role = "variable"}, %t: tensor<f32> {graph.variable = @shift, graph.role = "variable"})
    -> (tensor<4x64xf32> {graph.role = "output", graph.name = "y", graph.batch_dim = 0 : i64},
        tensor<4xf32> {graph.role = "output", graph.name = "cost", graph.batch_dim = 0 : i64}) {
  %0 = graph.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<4x64xf32>
  %1 = graph.broadcast %t {dims = array<i64>} : (tensor<f32>) -> tensor<4x64xf32>
  %2 = graph.mul %x, %0 : tensor<4x64xf32>
  %3 = graph.add %2, %1 : tensor<4x64xf32>
  %4 = graph.sub %3, %x : tensor<4x64xf32>
  %5 = graph.mul %4, %4 : tensor<4x64xf32>
  %6 = graph.reduce sum, %5 {dims = array<i64: 1>} : (tensor<4x64xf32>) -> tensor<4xf32>
  return %3, %6 : tensor<4x64xf32>, tensor<4xf32>
}
