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

// -----

func.func @take_top_k_c1(%x: tensor<4x6xbf16>) {
  // expected-error @below {{expected floats of 32 or 64 bits, but got 'tensor<4x6xbf16>'}}
  %0:3 = graph.take_top_k %x, %x {k = 2 : i64} : (tensor<4x6xbf16>, tensor<4x6xbf16>) -> (tensor<4x2xbf16>, tensor<4x2xi16>, tensor<4x6xbf16>)
  return
}

// -----

func.func @take_top_k_types(%x: tensor<4x6xf32>, %left: tensor<6x6xf32>) {
  // expected-error @below {{expected operands of one type, but got 'tensor<4x6xf32>' and 'tensor<6x6xf32>'}}
  %0:3 = graph.take_top_k %x, %left {k = 2 : i64} : (tensor<4x6xf32>, tensor<6x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x6xf32>)
  return
}

// -----

func.func @take_top_k_c2(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{'graph.take_top_k' op expected k to be from 1 to the size of the last dim of 'tensor<4x6xf32>', but got 7}}
  // expected-error @below {{failed to infer returned types}}
  %0:3 = graph.take_top_k %x, %x {k = 7 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x7xf32>, tensor<4x7xi16>, tensor<4x6xf32>)
  return
}

// -----

func.func @take_top_k_c2_long(%x: tensor<40000xf32>) {
  // expected-error @+2 {{expected a last dim of at most 32768 elements, but got 'tensor<40000xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0:3 = graph.take_top_k %x, %x {k = 2 : i64} : (tensor<40000xf32>, tensor<40000xf32>) -> (tensor<2xf32>, tensor<2xi16>, tensor<40000xf32>)
  return
}
