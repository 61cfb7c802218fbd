// RUN: dist-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:.+]]: tensor<4x6xf32>)
func.func @identities(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = graph.broadcast %x {dims = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = graph.reshape %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = graph.slice %2 {starts = array<i64: 0, 0>, limits = array<i64: 4, 6>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = graph.concat %3 {axis = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: return %[[X]]
  return %4 : tensor<4x6xf32>
}

// CHECK-LABEL: @reshape_twice
// CHECK-SAME: (%[[X:.+]]: tensor<4x6xf32>)
func.func @reshape_twice(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  // CHECK-NEXT: %[[R:.+]] = graph.reshape %[[X]] : (tensor<4x6xf32>) -> tensor<3x8xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = graph.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = graph.reshape %0 : (tensor<24xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// CHECK-LABEL: @transpose_twice
// CHECK-SAME: (%[[X:.+]]: tensor<2x3x4xf32>)
func.func @transpose_twice(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  // CHECK: %[[T:.+]] = graph.transpose %[[X]] {permutation = array<i64: 2, 0, 1>}
  %1 = graph.transpose %0 {permutation = array<i64: 1, 2, 0>} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  %2 = graph.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  // CHECK: return %[[T]], %[[X]]
  return %1, %2 : tensor<4x2x3xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: @broadcast_twice
// CHECK-SAME: (%[[X:.+]]: tensor<6xf32>)
func.func @broadcast_twice(%x: tensor<6xf32>) -> tensor<2x4x6xf32> {
  // CHECK-NEXT: graph.broadcast %[[X]] {dims = array<i64: 2>} : (tensor<6xf32>) -> tensor<2x4x6xf32>
  %0 = graph.broadcast %x {dims = array<i64: 1>} : (tensor<6xf32>) -> tensor<4x6xf32>
  %1 = graph.broadcast %0 {dims = array<i64: 1, 2>} : (tensor<4x6xf32>) -> tensor<2x4x6xf32>
  return %1 : tensor<2x4x6xf32>
}

// CHECK-LABEL: @reduce_nothing
// CHECK-SAME: (%[[X:.+]]: tensor<6xf32>)
func.func @reduce_nothing(%x: tensor<6xf32>) -> tensor<6xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = graph.reduce sum, %x {dims = array<i64>} : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: func @concat_empty
func.func @concat_empty(%x: tensor<2x0xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x6xf32>) {
  // CHECK-SAME: %{{.+}}: tensor<2x0xf32>, %[[Y:.+]]: tensor<2x3xf32>
  // CHECK: %[[C:.+]] = graph.concat %[[Y]], %[[Y]] {axis = 1 : i64}
  // CHECK: return %[[Y]], %[[C]]
  %0 = graph.concat %x, %y {axis = 1 : i64} : (tensor<2x0xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.concat %y, %x, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x0xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x6xf32>
}
