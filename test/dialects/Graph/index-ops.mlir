// RUN: dist-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @gather
func.func @gather(%x: tensor<5x4xf64>, %i: tensor<2x6xi64>) -> tensor<2x6x4xf64> {
  // CHECK: graph.gather{{.*}} : (tensor<5x4xf64>, tensor<2x6xi64>) -> tensor<2x6x4xf64>
  %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<5x4xf64>, tensor<2x6xi64>) -> tensor<2x6x4xf64>
  return %0 : tensor<2x6x4xf64>
}
// CHECK-LABEL: @scatter_add
func.func @scatter_add(%x: tensor<5x4xf64>, %i: tensor<6xi64>, %u: tensor<6x4xf64>) -> tensor<5x4xf64> {
  // CHECK: graph.scatter_add{{.*}} : (tensor<5x4xf64>, tensor<6xi64>, tensor<6x4xf64>) -> tensor<5x4xf64>
  %0 = graph.scatter_add %x, %i, %u {axis = 0 : i64} : (tensor<5x4xf64>, tensor<6xi64>, tensor<6x4xf64>) -> tensor<5x4xf64>
  return %0 : tensor<5x4xf64>
}
// CHECK-LABEL: @gather_elements
func.func @gather_elements(%x: tensor<4x5xf64>, %i: tensor<4x6xi64>) -> tensor<4x6xf64> {
  // CHECK: graph.gather_elements{{.*}} : (tensor<4x5xf64>, tensor<4x6xi64>) -> tensor<4x6xf64>
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x6xi64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @scatter_elements_set
func.func @scatter_elements_set(%x: tensor<4x5xf64>, %u: tensor<4x2xf64>) -> tensor<4x5xf64> {
  // CHECK: graph.constant dense
  %i = graph.constant dense<[[1, 0], [4, 2], [0, -1], [3, -5]]> : tensor<4x2xi64>
  // CHECK: graph.scatter_elements{{.*}} : (tensor<4x5xf64>, tensor<4x2xi64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  %0 = graph.scatter_elements set, %x, %i, %u {axis = 1 : i64} : (tensor<4x5xf64>, tensor<4x2xi64>, tensor<4x2xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}
// CHECK-LABEL: @gather_nd
func.func @gather_nd(%x: tensor<2x4x3x6xf64>, %i: tensor<2x8x2xi64>) -> tensor<2x8x6xf64> {
  // CHECK: graph.gather_nd{{.*}} : (tensor<2x4x3x6xf64>, tensor<2x8x2xi64>) -> tensor<2x8x6xf64>
  %0 = graph.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x8x2xi64>) -> tensor<2x8x6xf64>
  return %0 : tensor<2x8x6xf64>
}
// CHECK-LABEL: @scatter_nd_set
func.func @scatter_nd_set(%x: tensor<2x4x3x6xf64>, %u: tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64> {
  // CHECK: graph.constant dense
  %i = graph.constant dense<[[[0, 1], [3, -1]], [[2, 2], [-4, 0]]]> : tensor<2x2x2xi64>
  // CHECK: graph.scatter_nd{{.*}} : (tensor<2x4x3x6xf64>, tensor<2x2x2xi64>, tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64>
  %0 = graph.scatter_nd set, %x, %i, %u {batch_dims = 1 : i64} : (tensor<2x4x3x6xf64>, tensor<2x2x2xi64>, tensor<2x2x6xf64>) -> tensor<2x4x3x6xf64>
  return %0 : tensor<2x4x3x6xf64>
}
// CHECK-LABEL: @scatter_rows
func.func @scatter_rows(%u: tensor<4x3xf64>, %i: tensor<4x3xi16>) -> tensor<4x6xf64> {
  // CHECK: graph.scatter_rows %{{.+}}, %{{.+}} {size = 6 : i64} : (tensor<4x3xf64>, tensor<4x3xi16>) -> tensor<4x6xf64>
  %0 = graph.scatter_rows %u, %i {size = 6 : i64} : (tensor<4x3xf64>, tensor<4x3xi16>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
