// RUN: dist-opt %s --test-op-rules -verify-diagnostics -o /dev/null
// Reductions and scans: derivative, splits and linear sets against the evaluator.

func.func @sum(%x: tensor<4x6xf64>) -> tensor<f64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<4x6xf64>) -> tensor<6xf64>
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<6xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}
func.func @max(%x: tensor<4x6xf64>) -> tensor<f64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.reduce max, %x {dims = array<i64: 0>} : (tensor<4x6xf64>) -> tensor<6xf64>
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %1 = graph.reduce max, %0 {dims = array<i64: 0>} : (tensor<6xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}
func.func @min(%x: tensor<4x6xf64>) -> tensor<f64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.reduce min, %x {dims = array<i64: 0>} : (tensor<4x6xf64>) -> tensor<6xf64>
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %1 = graph.reduce min, %0 {dims = array<i64: 0>} : (tensor<6xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}
func.func @product(%x: tensor<4x6xf64>) -> tensor<f64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.reduce product, %x {dims = array<i64: 0>} : (tensor<4x6xf64>) -> tensor<6xf64>
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %1 = graph.reduce product, %0 {dims = array<i64: 0>} : (tensor<6xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}
func.func @sum_of_two_dims(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  // expected-remark @below {{rules hold: 3 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.reduce sum, %x {dims = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func @product_with_a_zero(%x: tensor<4x6xf64>) -> tensor<4xf64> {
  %c = graph.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf64>
  %b = graph.broadcast %c {dims = array<i64: 1>, test.skip} : (tensor<6xf64>) -> tensor<4x6xf64>
  // expected-remark @below {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %m = graph.mul %x, %b : tensor<4x6xf64>
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.reduce product, %m {dims = array<i64: 1>} : (tensor<4x6xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @int_sum(%x: tensor<4x6xi32> {test.range = [-3, 3]}) -> tensor<4xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.reduce sum, %x {dims = array<i64: 1>} : (tensor<4x6xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @int_max(%x: tensor<4x6xi32> {test.range = [-3, 3]}) -> tensor<4xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.reduce max, %x {dims = array<i64: 1>} : (tensor<4x6xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @int_min(%x: tensor<4x6xi32> {test.range = [-3, 3]}) -> tensor<4xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.reduce min, %x {dims = array<i64: 1>} : (tensor<4x6xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @int_product(%x: tensor<4x6xi32> {test.range = [-3, 3]}) -> tensor<4xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.reduce product, %x {dims = array<i64: 1>} : (tensor<4x6xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @max_of_unsigned(%x: tensor<4x6xui8> {test.range = [100, 200]}) -> tensor<4xui8> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.reduce max, %x {dims = array<i64: 1>} : (tensor<4x6xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
func.func @arg_max(%x: tensor<4x6xi32>) -> tensor<4xi64> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.arg_max %x {axis = 1 : i64} : (tensor<4x6xi32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
func.func @arg_max_last(%x: tensor<4x6xi32>) -> tensor<4xi64> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.arg_max %x {axis = 1 : i64, select_last = true} : (tensor<4x6xi32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
func.func @arg_min(%x: tensor<4x6xi32>) -> tensor<4xi64> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.arg_min %x {axis = 1 : i64} : (tensor<4x6xi32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
func.func @arg_min_last(%x: tensor<4x6xi32>) -> tensor<4xi64> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.arg_min %x {axis = 1 : i64, select_last = true} : (tensor<4x6xi32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
func.func @cumsum(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.cumsum %x {axis = 1 : i64} : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @cumsum_exclusive(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.cumsum %x {axis = 1 : i64, exclusive = true} : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @cumsum_reverse(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.cumsum %x {axis = 1 : i64, reverse = true} : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @cumsum_exclusive_reverse(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.cumsum %x {axis = 1 : i64, exclusive = true, reverse = true} : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @top_k(%x: tensor<4x6xf64>) -> tensor<4x3xf64> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.top_k %x {k = 3 : i64} : (tensor<4x6xf64>) -> (tensor<4x3xf64>, tensor<4x3xi64>)
  return %0#0 : tensor<4x3xf64>
}
func.func @top_k_unsorted(%x: tensor<4x35xf64>) -> tensor<4x5xf64> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.top_k %x {k = 5 : i64, sorted = false, magnitude = true} : (tensor<4x35xf64>) -> (tensor<4x5xf64>, tensor<4x5xi64>)
  return %0#0 : tensor<4x5xf64>
}
func.func @bottom_k(%x: tensor<4x6xf64>) -> tensor<4x3xf64> {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.top_k %x {k = 3 : i64, largest = false} : (tensor<4x6xf64>) -> (tensor<4x3xf64>, tensor<4x3xi64>)
  return %0#0 : tensor<4x3xf64>
}
func.func @take_top_k(%x: tensor<4x35xf64>, %left: tensor<4x35xf64>) -> (tensor<4x5xf64>, tensor<4x35xf64>) {
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 2 derivatives}}
  %0:3 = graph.take_top_k %x, %left {k = 5 : i64} : (tensor<4x35xf64>, tensor<4x35xf64>) -> (tensor<4x5xf64>, tensor<4x5xi16>, tensor<4x35xf64>)
  return %0#0, %0#2 : tensor<4x5xf64>, tensor<4x35xf64>
}
