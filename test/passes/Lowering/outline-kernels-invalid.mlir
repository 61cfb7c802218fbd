// RUN: dist-opt %s --rt-outline-kernels -verify-diagnostics

func.func @composite(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{'graph.softmax' op is a composite, which no kernel is made of; run graph-decompose-composites before}}
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
