// RUN: dist-opt %s --test-op-rules -verify-diagnostics -o /dev/null
// Gathers and scatters: derivative, splits and linear sets against the evaluator.

func.func @gather(%x: tensor<5x4xf64>, %i: tensor<2x6xi64> {test.range = [-5, 4]}) -> tensor<2x6x4xf64> {
  // expected-remark @below {{rules hold: 3 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<5x4xf64>, tensor<2x6xi64>) -> tensor<2x6x4xf64>
  return %0 : tensor<2x6x4xf64>
}
func.func @gather_inner(%x: tensor<4x5xf64>, %i: tensor<6xui8> {test.range = [0, 4]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather %x, %i {axis = 1 : i64} : (tensor<4x5xf64>, tensor<6xui8>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @gather_scalar(%x: tensor<4x5xf64>, %i: tensor<i64>) -> tensor<4xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather %x, %i {axis = 1 : i64} : (tensor<4x5xf64>, tensor<i64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @scatter_add(%x: tensor<5x4xf64>, %i: tensor<6xi64> {test.range = [-5, 4]}, %u: tensor<6x4xf64>) -> tensor<5x4xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.scatter_add %x, %i, %u {axis = 0 : i64} : (tensor<5x4xf64>, tensor<6xi64>, tensor<6x4xf64>) -> tensor<5x4xf64>
  return %0 : tensor<5x4xf64>
}
// An embedding's gradient: a split batch gives an unreduced sum.
func.func @scatter_add_to_zero(%i: tensor<6xi64> {test.range = [-5, 4]}, %u: tensor<6x4xf64>) -> tensor<5x4xf64> {
  %z = graph.constant dense<0.0> : tensor<5x4xf64>
  // expected-remark @below {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.scatter_add %z, %i, %u {axis = 0 : i64} : (tensor<5x4xf64>, tensor<6xi64>, tensor<6x4xf64>) -> tensor<5x4xf64>
  return %0 : tensor<5x4xf64>
}
func.func @gather_elements(%x: tensor<4x5xf64>, %i: tensor<4x6xi64> {test.range = [-5, 4]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x6xi64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @gather_elements_short(%x: tensor<4x5xf64>, %i: tensor<2x6xi64> {test.range = [-5, 4]}) -> tensor<2x6xf64> {
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<4x5xf64>, tensor<2x6xi64>) -> tensor<2x6xf64>
  return %0 : tensor<2x6xf64>
}
func.func @scatter_elements_set(%x: tensor<4x5xf64>, %u: tensor<4x2xf64>) -> tensor<4x5xf64> {
  %i = graph.constant dense<[[1, 0], [4, 2], [0, -1], [3, -5]]> : tensor<4x2xi64>
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.scatter_elements set, %x, %i, %u {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x2xi64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @scatter_elements_add(%x: tensor<4x5xf64>, %u: tensor<4x2xf64>) -> tensor<4x5xf64> {
  %i = graph.constant dense<[[1, 0], [4, 2], [0, -1], [3, -5]]> : tensor<4x2xi64>
  // expected-remark @below {{rules hold: 1 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.scatter_elements add, %x, %i, %u {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x2xi64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @scatter_elements_mul(%x: tensor<4x5xf64>, %u: tensor<4x2xf64>) -> tensor<4x5xf64> {
  %i = graph.constant dense<[[1, 0], [2, 2], [0, -1], [0, -5]]> : tensor<4x2xi64>
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.scatter_elements mul, %x, %i, %u {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x2xi64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @scatter_elements_max(%x: tensor<4x5xf64>, %u: tensor<4x2xf64>) -> tensor<4x5xf64> {
  %i = graph.constant dense<[[1, 0], [2, 2], [0, -1], [0, -5]]> : tensor<4x2xi64>
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.scatter_elements max, %x, %i, %u {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x2xi64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @scatter_elements_min(%x: tensor<4x5xf64>, %u: tensor<4x2xf64>) -> tensor<4x5xf64> {
  %i = graph.constant dense<[[1, 0], [2, 2], [0, -1], [0, -5]]> : tensor<4x2xi64>
  // expected-remark @below {{rules hold: 1 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.scatter_elements min, %x, %i, %u {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x2xi64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @scatter_elements_add_to_zero(%i: tensor<4x6xi64>, %u: tensor<4x6xf64>) -> tensor<4x5xf64> {
  %z = graph.constant dense<0.0> : tensor<4x5xf64>
  // expected-remark @below {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.scatter_elements add, %z, %i, %u {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x6xi64>, tensor<4x6xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @gather_nd(%x: tensor<2x4x3x6xf64>, %i: tensor<2x8x2xi64> {test.range = [-3, 2]}) -> tensor<2x8x6xf64> {
  // expected-remark @below {{rules hold: 3 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x8x2xi64>) -> tensor<2x8x6xf64>
  return %0 : tensor<2x8x6xf64>
}
func.func @scatter_nd_set(%x: tensor<2x4x3x6xf64>, %u: tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64> {
  %i = graph.constant dense<[[[0, 1], [3, -1]], [[2, 2], [-4, 0]]]> : tensor<2x2x2xi64>
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.scatter_nd set, %x, %i, %u {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x2x2xi64>, tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64>
  return %0 : tensor<2x4x3x6xf64>
}
func.func @scatter_nd_add(%x: tensor<2x4x3x6xf64>, %u: tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64> {
  %i = graph.constant dense<[[[0, 1], [3, -1]], [[2, 2], [-4, 0]]]> : tensor<2x2x2xi64>
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.scatter_nd add, %x, %i, %u {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x2x2xi64>, tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64>
  return %0 : tensor<2x4x3x6xf64>
}
func.func @scatter_nd_mul(%x: tensor<2x4x3x6xf64>, %u: tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64> {
  %i = graph.constant dense<[[[0, 1], [3, -1]], [[2, 2], [-4, 0]]]> : tensor<2x2x2xi64>
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.scatter_nd mul, %x, %i, %u {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x2x2xi64>, tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64>
  return %0 : tensor<2x4x3x6xf64>
}
func.func @scatter_nd_max(%x: tensor<2x4x3x6xf64>, %u: tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64> {
  %i = graph.constant dense<[[[0, 1], [3, -1]], [[2, 2], [-4, 0]]]> : tensor<2x2x2xi64>
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.scatter_nd max, %x, %i, %u {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x2x2xi64>, tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64>
  return %0 : tensor<2x4x3x6xf64>
}
func.func @scatter_nd_min(%x: tensor<2x4x3x6xf64>, %u: tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64> {
  %i = graph.constant dense<[[[0, 1], [3, -1]], [[2, 2], [-4, 0]]]> : tensor<2x2x2xi64>
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.scatter_nd min, %x, %i, %u {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x2x2xi64>, tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64>
  return %0 : tensor<2x4x3x6xf64>
}
func.func @scatter_nd_add_to_zero(%i: tensor<6x1xi64>, %u: tensor<6x2xf64>) -> tensor<5x2xf64> {
  %z = graph.constant dense<0.0> : tensor<5x2xf64>
  // expected-remark @below {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.scatter_nd add, %z, %i, %u {batch_dims = 0 : i64} : (tensor<5x2xf64>, tensor<6x1xi64>, tensor<6x2xf64>) -> tensor<5x2xf64>
  return %0 : tensor<5x2xf64>
}
func.func @scatter_rows(%i: tensor<4x6xi16> {test.range = [-5, 4]}, %u: tensor<4x6xf64>) -> tensor<4x5xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.scatter_rows %u, %i {size = 5 : i64} : (tensor<4x6xf64>, tensor<4x6xi16>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
func.func @scatter_rows_of_integers(%i: tensor<3x2x4xui8> {test.range = [0, 6]}, %u: tensor<3x2x4xi32>) -> tensor<3x2x7xi32> {
  // expected-remark @below {{rules hold: 3 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.scatter_rows %u, %i {size = 7 : i64} : (tensor<3x2x4xi32>, tensor<3x2x4xui8>) -> tensor<3x2x7xi32>
  return %0 : tensor<3x2x7xi32>
}
