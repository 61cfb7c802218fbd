// RUN: dist-opt %s --test-op-rules -verify-diagnostics -o /dev/null
// Lookups in numbered rows: derivative, splits and linear sets against the
// evaluator. Parts of the rows, with their numbers, add up to the whole.

func.func @gather_rows(%x: tensor<6x4xf64>, %i: tensor<2x6xi64> {test.range = [-6, 5]}) -> tensor<2x6x4xf64> {
  %n = graph.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
  // expected-remark @below {{rules hold: 4 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather_rows %x, %i, %n {num_rows = 6 : i64} : (tensor<6x4xf64>, tensor<2x6xi64>, tensor<6xi32>) -> tensor<2x6x4xf64>
  return %0 : tensor<2x6x4xf64>
}
// Rows 4 to 9 of 12: half of the indices find none.
func.func @gather_rows_part(%x: tensor<6x4xf64>, %i: tensor<8xui8> {test.range = [0, 11]}) -> tensor<8x4xf64> {
  %n = graph.constant dense<[4, 5, 6, 7, 8, 9]> : tensor<6xi64>
  // expected-remark @below {{rules hold: 3 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather_rows %x, %i, %n {num_rows = 12 : i64} : (tensor<6x4xf64>, tensor<8xui8>, tensor<6xi64>) -> tensor<8x4xf64>
  return %0 : tensor<8x4xf64>
}
func.func @gather_rows_scalar(%x: tensor<6xf64>, %i: tensor<i64>) -> tensor<f64> {
  %n = graph.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather_rows %x, %i, %n {num_rows = 6 : i64} : (tensor<6xf64>, tensor<i64>, tensor<6xi32>) -> tensor<f64>
  return %0 : tensor<f64>
}
func.func @scatter_add_rows(%x: tensor<6x4xf64>, %i: tensor<8xi64> {test.range = [-12, 11]}, %u: tensor<8x4xf64>) -> tensor<6x4xf64> {
  %n = graph.constant dense<[4, 5, 6, 7, 8, 9]> : tensor<6xi64>
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.scatter_add_rows %x, %i, %u, %n {num_rows = 12 : i64} : (tensor<6x4xf64>, tensor<8xi64>, tensor<8x4xf64>, tensor<6xi64>) -> tensor<6x4xf64>
  return %0 : tensor<6x4xf64>
}
// An embedding's gradient: a split batch gives an unreduced sum, split rows give
// parts of it.
func.func @scatter_add_rows_to_zero(%i: tensor<8xi64> {test.range = [-6, 5]}, %u: tensor<8x4xf64>) -> tensor<6x4xf64> {
  %n = graph.constant dense<[0, 1, 2, 3, 4, 5]> : tensor<6xi32>
  %z = graph.constant dense<0.0> : tensor<6x4xf64>
  // expected-remark @below {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.scatter_add_rows %z, %i, %u, %n {num_rows = 6 : i64} : (tensor<6x4xf64>, tensor<8xi64>, tensor<8x4xf64>, tensor<6xi32>) -> tensor<6x4xf64>
  return %0 : tensor<6x4xf64>
}
