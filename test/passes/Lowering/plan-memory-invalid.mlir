// RUN: dist-opt %s --rt-plan-memory -split-input-file -verify-diagnostics

func.func @not_lowered(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{no kernel runs it}}
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh ["data"=2]
func.func @gather_dim(%x: tensor<8x4xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{expected a gather along dim 0, but got 1}}
  %0 = dist.all_gather %x over @mesh ["data"] {dims = array<i64: 1>, reason = "r", origin = "o"} : (tensor<8x4xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
