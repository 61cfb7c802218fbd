// RUN: dist-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @gather_rows
func.func @gather_rows(%x: tensor<5x4xf64>, %i: tensor<2x6xi64>, %n: tensor<5xi32>) -> tensor<2x6x4xf64> {
  // CHECK: graph.gather_rows{{.*}}num_rows = 10{{.*}} : (tensor<5x4xf64>, tensor<2x6xi64>, tensor<5xi32>) -> tensor<2x6x4xf64>
  %0 = graph.gather_rows %x, %i, %n {num_rows = 10 : i64} : (tensor<5x4xf64>, tensor<2x6xi64>, tensor<5xi32>) -> tensor<2x6x4xf64>
  return %0 : tensor<2x6x4xf64>
}
// CHECK-LABEL: @scatter_add_rows
func.func @scatter_add_rows(%x: tensor<5x4xf64>, %i: tensor<6xi64>, %u: tensor<6x4xf64>, %n: tensor<5xui8>) -> tensor<5x4xf64> {
  // CHECK: graph.scatter_add_rows{{.*}}num_rows = 10{{.*}} : (tensor<5x4xf64>, tensor<6xi64>, tensor<6x4xf64>, tensor<5xui8>) -> tensor<5x4xf64>
  %0 = graph.scatter_add_rows %x, %i, %u, %n {num_rows = 10 : i64} : (tensor<5x4xf64>, tensor<6xi64>, tensor<6x4xf64>, tensor<5xui8>) -> tensor<5x4xf64>
  return %0 : tensor<5x4xf64>
}
