// RUN: dist-opt %s --test-op-rules -verify-diagnostics -o /dev/null
// Ops that move elements: derivative, splits and linear sets against the evaluator.

func.func @splat() -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.constant dense<2.5> : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @constant() -> tensor<2xf64> {
  // expected-remark @below {{rules hold: 0 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf64>
  return %0 : tensor<2xf64>
}
func.func @iota() -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.iota {dim = 1 : i64} : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @broadcast(%x: tensor<6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.broadcast %x {dims = array<i64: 1>} : (tensor<6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @broadcast_of_one(%x: tensor<1x6xf64>) -> tensor<4x2x6xf64> {
  // expected-remark @below {{rules hold: 3 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.broadcast %x {dims = array<i64: 0, 2>} : (tensor<1x6xf64>) -> tensor<4x2x6xf64>
  return %0 : tensor<4x2x6xf64>
}
func.func @broadcast_scalar(%x: tensor<f64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.broadcast %x {dims = array<i64>} : (tensor<f64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @reshape_collapse(%x: tensor<4x6x2xf64>) -> tensor<24x2xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reshape %x : (tensor<4x6x2xf64>) -> tensor<24x2xf64>
  return %0 : tensor<24x2xf64>
}
func.func @reshape_expand(%x: tensor<24x2xf64>) -> tensor<4x6x2xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reshape %x : (tensor<24x2xf64>) -> tensor<4x6x2xf64>
  return %0 : tensor<4x6x2xf64>
}
func.func @reshape_drop_one(%x: tensor<4x1x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reshape %x : (tensor<4x1x6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @reshape_common_factor(%x: tensor<4x6xf64>) -> tensor<8x3xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reshape %x : (tensor<4x6xf64>) -> tensor<8x3xf64>
  return %0 : tensor<8x3xf64>
}
func.func @reshape_nothing_in_common(%x: tensor<3x4xf64>) -> tensor<2x6xf64> {
  // expected-remark @below {{rules hold: 0 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reshape %x : (tensor<3x4xf64>) -> tensor<2x6xf64>
  return %0 : tensor<2x6xf64>
}
func.func @reshape_partly(%x: tensor<2x3x4xf64>) -> tensor<2x4x3xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reshape %x : (tensor<2x3x4xf64>) -> tensor<2x4x3xf64>
  return %0 : tensor<2x4x3xf64>
}
func.func @reshape_to_scalar(%x: tensor<1x1xf64>) -> tensor<f64> {
  // expected-remark @below {{rules hold: 0 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reshape %x : (tensor<1x1xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  // expected-remark @below {{rules hold: 3 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  return %0 : tensor<4x2x3xf64>
}
func.func @slice(%x: tensor<4x6xf64>) -> tensor<4x3xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.slice %x {starts = array<i64: 0, 1>, limits = array<i64: 4, 6>, strides = array<i64: 1, 2>} : (tensor<4x6xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}
func.func @slice_of_nothing(%x: tensor<4x6xf64>) -> tensor<4x0xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.slice %x {starts = array<i64: 0, 2>, limits = array<i64: 4, 2>, strides = array<i64: 1, 3>} : (tensor<4x6xf64>) -> tensor<4x0xf64>
  return %0 : tensor<4x0xf64>
}
func.func @pad(%x: tensor<4x6xf64>, %v: tensor<f64>) -> tensor<4x14xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.pad %x, %v {low = array<i64: 0, 1>, high = array<i64: 0, 2>, interior = array<i64: 0, 1>} : (tensor<4x6xf64>, tensor<f64>) -> tensor<4x14xf64>
  return %0 : tensor<4x14xf64>
}
func.func @pad_with_zero(%x: tensor<4x6xf64>) -> tensor<4x7xf64> {
  %v = graph.constant dense<0.0> : tensor<f64>
  // expected-remark @below {{rules hold: 1 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.pad %x, %v {low = array<i64: 0, 1>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<4x6xf64>, tensor<f64>) -> tensor<4x7xf64>
  return %0 : tensor<4x7xf64>
}
func.func @pad_that_crops(%x: tensor<4x6xf64>, %v: tensor<f64>) -> tensor<3x7xf64> {
  // expected-remark @below {{rules hold: 0 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.pad %x, %v {low = array<i64: 1, -2>, high = array<i64: -2, 3>, interior = array<i64: 0, 0>} : (tensor<4x6xf64>, tensor<f64>) -> tensor<3x7xf64>
  return %0 : tensor<3x7xf64>
}
func.func @concat(%x: tensor<4x6xf64>, %y: tensor<4x2xf64>, %z: tensor<4x1xf64>) -> tensor<4x9xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 3 derivatives}}
  %0 = graph.concat %x, %y, %z {axis = 1 : i64} : (tensor<4x6xf64>, tensor<4x2xf64>, tensor<4x1xf64>) -> tensor<4x9xf64>
  return %0 : tensor<4x9xf64>
}
func.func @reverse(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reverse %x {dims = array<i64: 1>} : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
