// RUN: dist-opt %s --rt-plan-memory -split-input-file -verify-diagnostics

func.func @not_lowered(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{no kernel runs it}}
  %0 = graph.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
