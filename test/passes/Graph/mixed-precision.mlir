// RUN: dist-opt %s --graph-mixed-precision | FileCheck %s
// RUN: dist-opt %s --graph-mixed-precision=precision=f16 | FileCheck %s --check-prefix=HALF
// RUN: not dist-opt %s --graph-mixed-precision=precision=f8 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: expected precision bf16 or f16, but got 'f8'

graph.variable @w : tensor<4x8xf32> trainable = dense<0.5> : tensor<4x8xf32>
graph.variable @b : tensor<8xf32> trainable = dense<0.5> : tensor<8xf32>

// The product and what only carries it on (the bias) are low; the exponential
// and the sum are not; the result has its type.
// CHECK-LABEL: func @predict
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x4xf32>, %[[W:[^:]+]]: tensor<4x8xf32> {{.*}}, %[[B:[^:]+]]: tensor<8xf32>
// CHECK-SAME: -> (tensor<2x8xf32>, tensor<2xf32>)
// CHECK-DAG: %[[XL:.+]] = graph.convert %[[X]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK-DAG: %[[WL:.+]] = graph.convert %[[W]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK: %[[DOT:.+]] = graph.dot_general %[[XL]], %[[WL]] {{.*}} -> tensor<2x8xbf16>
// CHECK: %[[BB:.+]] = graph.broadcast %[[B]]
// CHECK: %[[BL:.+]] = graph.convert %[[BB]] : (tensor<2x8xf32>) -> tensor<2x8xbf16>
// CHECK: %[[ADD:.+]] = graph.add %[[DOT]], %[[BL]] : tensor<2x8xbf16>
// CHECK: %[[BACK:.+]] = graph.convert %[[ADD]] : (tensor<2x8xbf16>) -> tensor<2x8xf32>
// CHECK: %[[EXP:.+]] = graph.exp %[[BACK]] : tensor<2x8xf32>
// CHECK: %[[SUM:.+]] = graph.reduce sum, %[[BACK]] {{.*}} -> tensor<2xf32>
// CHECK: return %[[EXP]], %[[SUM]]
// HALF: graph.dot_general {{.*}} -> tensor<2x8xf16>
func.func @predict(%x: tensor<2x4xf32>, %w: tensor<4x8xf32> {graph.variable = @w},
                   %b: tensor<8xf32> {graph.variable = @b}) -> (tensor<2x8xf32>, tensor<2xf32>) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<2x8xf32>
  %2 = graph.add %0, %1 : tensor<2x8xf32>
  %3 = graph.exp %2 : tensor<2x8xf32>
  %4 = graph.reduce sum, %2 {dims = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  return %3, %4 : tensor<2x8xf32>, tensor<2xf32>
}

// Nothing is low here, and so nothing becomes it: a sum of inputs, an f64
// product.
// CHECK-LABEL: func @apart
// CHECK-NOT: bf16
// CHECK: return
func.func @apart(%x: tensor<2x4xf32>, %y: tensor<2x4xf64>, %z: tensor<4x2xf64>) -> (tensor<2x4xf32>, tensor<2x2xf64>) {
  %0 = graph.add %x, %x : tensor<2x4xf32>
  %1 = graph.dot_general %y, %z {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf64>, tensor<4x2xf64>) -> tensor<2x2xf64>
  return %0, %1 : tensor<2x4xf32>, tensor<2x2xf64>
}

// Each result of a scan is a sum over a dim: it stays f32 where what it adds is
// low.
// CHECK-LABEL: func @scan
// CHECK: graph.dot_general {{.*}} -> tensor<2x8xbf16>
// CHECK: graph.cumsum {{.*}} : tensor<2x8xf32>
// CHECK: return
func.func @scan(%x: tensor<2x4xf32>, %w: tensor<4x8xf32> {graph.variable = @w}) -> tensor<2x8xf32> {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = graph.cumsum %0 {axis = 1 : i64} : tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
