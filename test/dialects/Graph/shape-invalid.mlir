// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @iota_c1() {
  // expected-error @below {{expected dim to be within the result}}
  %0 = graph.iota {dim = 2 : i64} : tensor<4x6xi32>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected dims to have one entry a dim of the operand}}
  %0 = graph.broadcast %x {dims = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<4x6x2xf32>
  return
}

// -----

func.func @broadcast_c1_order(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected dims to be increasing}}
  %0 = graph.broadcast %x {dims = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected operand dim 0 to be 1 or the size 8}}
  %0 = graph.broadcast %x {dims = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected one element type}}
  %0 = graph.broadcast %x {dims = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf64>
  return
}

// -----

func.func @reshape_c1(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected equal numbers of elements, but got 24 and 25}}
  %0 = graph.reshape %x : (tensor<4x6xf32>) -> tensor<25xf32>
  return
}

// -----

func.func @reshape_c2(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected one element type}}
  %0 = graph.reshape %x : (tensor<4x6xf32>) -> tensor<24xi32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected permutation to name each of the 2 dims once}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.transpose %x {permutation = array<i64: 0, 0>} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{to have 2 entries, one a dim}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0>, limits = array<i64: 4, 6>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected 0 <= start <= limit <= 6 in dim 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 3>, limits = array<i64: 4, 7>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @slice_c3(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected a stride >= 1 in dim 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.slice %x {starts = array<i64: 0, 0>, limits = array<i64: 4, 6>, strides = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_c1(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{to have 2 entries, one a dim}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.pad %x, %v {low = array<i64: 0>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_c2(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{expected interior >= 0 in dim 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.pad %x, %v {low = array<i64: 0, 0>, high = array<i64: 0, 0>, interior = array<i64: 0, -1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_overflow(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{'graph.pad' op makes more of dim 1 than a size can be}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.pad %x, %v {low = array<i64: 0, 0>, high = array<i64: 0, 9223372036854775807>, interior = array<i64: 0, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_between_overflow(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{'graph.pad' op makes more of dim 0 than a size can be}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.pad %x, %v {low = array<i64: 0, 0>, high = array<i64: 0, 0>, interior = array<i64: 9223372036854775807, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @concat_overflow(%x: tensor<9223372036854775807x0xf32>) {
  // expected-error @+2 {{'graph.concat' op makes more of dim 0 than a size can be}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.concat %x, %x {axis = 0} : (tensor<9223372036854775807x0xf32>, tensor<9223372036854775807x0xf32>) -> tensor<2x0xf32>
  return
}

// -----

func.func @pad_c3(%x: tensor<4x6xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{crops more of dim 0 than its size 4}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.pad %x, %v {low = array<i64: -3, 0>, high = array<i64: -2, 0>, interior = array<i64: 0, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @pad_c4(%x: tensor<4x6xf32>, %v: tensor<f64>) {
  // expected-error @+2 {{expected the value to be a scalar tensor of}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.pad %x, %v {low = array<i64: 0, 0>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<4x6xf32>, tensor<f64>) -> tensor<4x6xf32>
  return
}

// -----

func.func @concat_c1() {
  // expected-error @+2 {{expected at least one operand}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.concat {axis = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<4x6xf32>) {
  // expected-error @+2 {{expected axis to be within the operands}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.concat %x, %x {axis = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @concat_c3(%x: tensor<4x6xf32>, %y: tensor<4x5xf32>) {
  // expected-error @+2 {{expected operands that differ in dim 0 only}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @reverse_c1(%x: tensor<4x6xf32>) {
  // expected-error @below {{expected dims to be distinct and within the operand}}
  %0 = graph.reverse %x {dims = array<i64: 1, 1>} : tensor<4x6xf32>
  return
}
