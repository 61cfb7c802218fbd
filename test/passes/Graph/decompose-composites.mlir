// RUN: dist-opt %s --graph-decompose-composites | FileCheck %s
// RUN: dist-opt %s --graph-decompose-composites=only=log_softmax | FileCheck %s --check-prefix=ONLY

// CHECK-LABEL: func @both
// ONLY-LABEL: func @both
func.func @both(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: graph.reduce max
  // CHECK: graph.exp
  // CHECK: graph.reduce sum
  // ONLY: graph.softmax
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  // CHECK-NOT: softmax
  // CHECK: graph.log
  // ONLY: graph.reduce max
  // ONLY-NOT: log_softmax
  // ONLY: graph.log
  %1 = graph.log_softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  // CHECK: return
  // ONLY: return
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
