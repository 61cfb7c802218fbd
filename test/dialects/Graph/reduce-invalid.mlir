// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @reduce_c1(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected dims to be increasing and within the operand}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.reduce sum, %x {dims = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c1_range(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected dims to be increasing and within the operand}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.reduce sum, %x {dims = array<i64: 2>} : (tensor<4x6xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @arg_max_c1(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.arg_max %x {axis = -1 : i64} : (tensor<4x6xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @arg_min_c1(%x: tensor<4x0xf32>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.arg_min %x {axis = 1 : i64} : (tensor<4x0xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @cumsum_c1(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected axis to be within the operand}}
  %0 = graph.cumsum %x {axis = 2 : i64} : tensor<4x6xf32>
  return
}

// -----

func.func @top_k_c1(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected k to be from 1 to the size of the last dim}}
  // expected-error @below {{failed to infer returned types}}
  %0:2 = graph.top_k %x {k = 7 : i64} : (tensor<4x6xf32>) -> (tensor<4x7xf32>, tensor<4x7xi64>)
  return
}

// -----

func.func @top_k_c2(%x: tensor<4x6xi32>) {
  // expected-error @below {{expected floats to order by magnitude, but got 'tensor<4x6xi32>'}}
  %0:2 = graph.top_k %x {k = 2 : i64, magnitude = true} : (tensor<4x6xi32>) -> (tensor<4x2xi32>, tensor<4x2xi64>)
  return
}
