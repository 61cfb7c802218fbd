// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @rows(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected row numbers as dist.causes}}
  %0 = graph.exp %x {dist.causes = "a"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----
// expected-error @+1 {{argument 0: expected row numbers as dist.sources}}
func.func @argument(%x: tensor<4xf32> {dist.sources = 1 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{expected a text an axis as dist.why}}
graph.variable @w : tensor<4xf32> trainable {dist.why = {data = 1 : i64}} = dense<0.5> : tensor<4xf32>
