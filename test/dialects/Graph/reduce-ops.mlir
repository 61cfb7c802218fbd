// RUN: dist-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @sum
func.func @sum(%x: tensor<4x6xf64>) -> tensor<f64> {
  // CHECK: graph.reduce{{.*}} : (tensor<4x6xf64>) -> tensor<6xf64>
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<4x6xf64>) -> tensor<6xf64>
  // CHECK: graph.reduce{{.*}} : (tensor<6xf64>) -> tensor<f64>
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<6xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}
// CHECK-LABEL: @product_with_a_zero
func.func @product_with_a_zero(%x: tensor<4x6xf64>) -> tensor<4xf64> {
  // CHECK: graph.constant dense
  %c = graph.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf64>
  // CHECK: graph.broadcast{{.*}} : (tensor<6xf64>) -> tensor<4x6xf64>
  %b = graph.broadcast %c {dims = array<i64: 1>} : (tensor<6xf64>) -> tensor<4x6xf64>
  // CHECK: graph.mul{{.*}} : tensor<4x6xf64>
  %m = graph.mul %x, %b : tensor<4x6xf64>
  // CHECK: graph.reduce{{.*}} : (tensor<4x6xf64>) -> tensor<4xf64>
  %0 = graph.reduce product, %m {dims = array<i64: 1>} : (tensor<4x6xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
// CHECK-LABEL: @arg_max
func.func @arg_max(%x: tensor<4x6xi32>) -> tensor<4xi64> {
  // CHECK: graph.arg_max{{.*}} : (tensor<4x6xi32>) -> tensor<4xi64>
  %0 = graph.arg_max %x {axis = 1 : i64} : (tensor<4x6xi32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
// CHECK-LABEL: @arg_min
func.func @arg_min(%x: tensor<4x6xi32>) -> tensor<4xi64> {
  // CHECK: graph.arg_min{{.*}} : (tensor<4x6xi32>) -> tensor<4xi64>
  %0 = graph.arg_min %x {axis = 1 : i64} : (tensor<4x6xi32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
// CHECK-LABEL: @cumsum
func.func @cumsum(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.cumsum{{.*}} : tensor<4x6xf64>
  %0 = graph.cumsum %x {axis = 1 : i64} : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @top_k
func.func @top_k(%x: tensor<4x6xf64>) -> tensor<4x3xf64> {
  // CHECK: graph.top_k{{.*}} : (tensor<4x6xf64>) -> (tensor<4x3xf64>, tensor<4x3xi64>)
  %0:2 = graph.top_k %x {k = 3 : i64} : (tensor<4x6xf64>) -> (tensor<4x3xf64>, tensor<4x3xi64>)
  // CHECK: graph.top_k{{.*}}magnitude = true, sorted = false
  %1:2 = graph.top_k %x {k = 3 : i64, sorted = false, magnitude = true} : (tensor<4x6xf64>) -> (tensor<4x3xf64>, tensor<4x3xi64>)
  return %0#0 : tensor<4x3xf64>
}
// CHECK-LABEL: @take_top_k
func.func @take_top_k(%x: tensor<4x6xf64>, %left: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.take_top_k %{{.+}}, %{{.+}} {k = 3 : i64} : (tensor<4x6xf64>, tensor<4x6xf64>) -> (tensor<4x3xf64>, tensor<4x3xi16>, tensor<4x6xf64>)
  %0:3 = graph.take_top_k %x, %left {k = 3 : i64} : (tensor<4x6xf64>, tensor<4x6xf64>) -> (tensor<4x3xf64>, tensor<4x3xi16>, tensor<4x6xf64>)
  return %0#2 : tensor<4x6xf64>
}
