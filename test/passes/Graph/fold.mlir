// RUN: dist-opt %s --graph-fold=max-elements=8 | FileCheck %s

// CHECK-LABEL: func @evaluate
func.func @evaluate() -> tensor<2xf32> {
  // CHECK: %[[C:.+]] = graph.constant dense<[4.000000e+00, 6.000000e+00]>
  // CHECK: return %[[C]]
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %2 = graph.add %0, %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}

// One number repeated is kept as one.
// CHECK-LABEL: func @splat
func.func @splat() -> tensor<2x3xf32> {
  // CHECK: graph.constant dense<2.000000e+00> : tensor<2x3xf32>
  %0 = graph.constant dense<4.0> : tensor<f32>
  %1 = graph.broadcast %0 {dims = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
  %2 = graph.sqrt %1 : tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// CHECK-LABEL: func @stays_broadcast
func.func @stays_broadcast() -> tensor<3x2xf32> {
  // CHECK: graph.broadcast
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.broadcast %0 {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// CHECK-LABEL: func @too_large
func.func @too_large() -> tensor<9xf32> {
  // CHECK: graph.exp
  %0 = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<9xf32>
  %1 = graph.exp %0 : tensor<9xf32>
  return %1 : tensor<9xf32>
}

// CHECK-LABEL: func @varies
func.func @varies(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: graph.exp
  %0 = graph.exp %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// An index out of range is the evaluator's error, not the folder's.
// CHECK-LABEL: func @no_value
func.func @no_value() -> tensor<1xf32> {
  // CHECK: graph.gather
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.constant dense<5> : tensor<1xi64>
  %2 = graph.gather %0, %1 {axis = 0 : i64} : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
  return %2 : tensor<1xf32>
}

// All is known of no element: sums and products of nothing have a value,
// whoever computes what they read.
// CHECK-LABEL: func @empty
func.func @empty(%x: tensor<2x0xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2x0xf32>) {
  // CHECK-DAG: %[[ZERO:.+]] = graph.constant dense<0.000000e+00> : tensor<2xf32>
  // CHECK-DAG: %[[ONE:.+]] = graph.constant dense<1.000000e+00> : tensor<2xf32>
  // CHECK-DAG: %[[NONE:.+]] = graph.constant dense<> : tensor<2x0xf32>
  // CHECK: return %[[ZERO]], %[[ONE]], %[[NONE]]
  %0 = graph.exp %x : tensor<2x0xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2xf32>
  %2 = graph.reduce product, %x {dims = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2xf32>
  return %1, %2, %0 : tensor<2xf32>, tensor<2xf32>, tensor<2x0xf32>
}

// In training it is no constant; one that never drops is.
// CHECK-LABEL: func @dropout_stays
func.func @dropout_stays() -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK: %[[C:.+]] = graph.constant
  // CHECK: %[[DROPPED:.+]] = graph.dropout %[[C]]
  // CHECK: %[[TWICE:.+]] = graph.add %[[DROPPED]], %[[DROPPED]]
  // CHECK: return %[[TWICE]], %[[C]]
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.dropout %0 {rate = 0.5 : f64} : tensor<2xf32>
  %2 = graph.add %1, %1 : tensor<2xf32>
  %3 = graph.dropout %0 {rate = 0.0 : f64} : tensor<2xf32>
  return %2, %3 : tensor<2xf32>, tensor<2xf32>
}
