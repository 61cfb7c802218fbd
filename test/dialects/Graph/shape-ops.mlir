// RUN: dist-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @splat
func.func @splat() -> tensor<4x6xf64> {
  // CHECK: graph.constant dense
  %0 = graph.constant dense<2.5> : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @iota
func.func @iota() -> tensor<4x6xi32> {
  // CHECK: graph.iota{{.*}} : tensor<4x6xi32>
  %0 = graph.iota {dim = 1 : i64} : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// CHECK-LABEL: @broadcast
func.func @broadcast(%x: tensor<6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.broadcast{{.*}} : (tensor<6xf64>) -> tensor<4x6xf64>
  %0 = graph.broadcast %x {dims = array<i64: 1>} : (tensor<6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @reshape_collapse
func.func @reshape_collapse(%x: tensor<4x6x2xf64>) -> tensor<24x2xf64> {
  // CHECK: graph.reshape{{.*}} : (tensor<4x6x2xf64>) -> tensor<24x2xf64>
  %0 = graph.reshape %x : (tensor<4x6x2xf64>) -> tensor<24x2xf64>
  return %0 : tensor<24x2xf64>
}
// CHECK-LABEL: @transpose
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  // CHECK: graph.transpose{{.*}} : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  %0 = graph.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  return %0 : tensor<4x2x3xf64>
}
// CHECK-LABEL: @slice
func.func @slice(%x: tensor<4x6xf64>) -> tensor<4x3xf64> {
  // CHECK: graph.slice{{.*}} : (tensor<4x6xf64>) -> tensor<4x3xf64>
  %0 = graph.slice %x {starts = array<i64: 0, 1>, limits = array<i64: 4, 6>, strides = array<i64: 1, 2>} : (tensor<4x6xf64>) -> tensor<4x3xf64>
  return %0 : tensor<4x3xf64>
}
// CHECK-LABEL: @pad
func.func @pad(%x: tensor<4x6xf64>, %v: tensor<f64>) -> tensor<4x14xf64> {
  // CHECK: graph.pad{{.*}} : (tensor<4x6xf64>, tensor<f64>) -> tensor<4x14xf64>
  %0 = graph.pad %x, %v {low = array<i64: 0, 1>, high = array<i64: 0, 2>, interior = array<i64: 0, 1>} : (tensor<4x6xf64>, tensor<f64>) -> tensor<4x14xf64>
  return %0 : tensor<4x14xf64>
}
// CHECK-LABEL: @concat
func.func @concat(%x: tensor<4x6xf64>, %y: tensor<4x2xf64>, %z: tensor<4x1xf64>) -> tensor<4x9xf64> {
  // CHECK: graph.concat{{.*}} : (tensor<4x6xf64>, tensor<4x2xf64>, tensor<4x1xf64>) -> tensor<4x9xf64>
  %0 = graph.concat %x, %y, %z {axis = 1 : i64} : (tensor<4x6xf64>, tensor<4x2xf64>, tensor<4x1xf64>) -> tensor<4x9xf64>
  return %0 : tensor<4x9xf64>
}
// CHECK-LABEL: @reverse
func.func @reverse(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.reverse{{.*}} : tensor<4x6xf64>
  %0 = graph.reverse %x {dims = array<i64: 1>} : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
