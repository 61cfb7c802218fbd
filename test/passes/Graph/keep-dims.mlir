// RUN: dist-opt %s --graph-keep-dims --canonicalize | FileCheck %s
// RUN: dist-opt %s --dist-import-pipeline | FileCheck %s --check-prefix=IMPORT

// As PyTorch's attention has it: [time, batch] is one dim for the layer's sake.
// CHECK-LABEL: func @layer
// IMPORT-LABEL: func @layer
// IMPORT-NOT: tensor<30x
// CHECK-SAME: %[[X:.+]]: tensor<5x6x3x4xf32>, %[[W:.+]]: tensor<12x8xf32>, %[[B:.+]]: tensor<8xf32>
func.func @layer(%x: tensor<5x6x3x4xf32>, %w: tensor<12x8xf32>, %b: tensor<8xf32>) -> tensor<5x6x8xf32> {
  // CHECK-NEXT: %[[R:.+]] = graph.reshape %[[X]] : (tensor<5x6x3x4xf32>) -> tensor<5x6x12xf32>
  // CHECK-NEXT: %[[D:.+]] = graph.dot_general %[[R]], %[[W]] {lhs_batch = array<i64>, lhs_contract = array<i64: 2>, {{.*}}rhs_contract = array<i64: 0>} : {{.*}} -> tensor<5x6x8xf32>
  // CHECK-NEXT: %[[C:.+]] = graph.broadcast %[[B]] {dims = array<i64: 2>} : (tensor<8xf32>) -> tensor<5x6x8xf32>
  // CHECK-NEXT: %[[A:.+]] = graph.add %[[D]], %[[C]] : tensor<5x6x8xf32>
  // CHECK-NEXT: %[[T:.+]] = graph.tanh %[[A]] : tensor<5x6x8xf32>
  // CHECK-NEXT: return %[[T]]
  %0 = graph.reshape %x : (tensor<5x6x3x4xf32>) -> tensor<30x12xf32>
  %1 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<30x12xf32>, tensor<12x8xf32>) -> tensor<30x8xf32>
  %2 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<30x8xf32>
  %3 = graph.add %1, %2 : tensor<30x8xf32>
  %4 = graph.tanh %3 : tensor<30x8xf32>
  %5 = graph.reshape %4 : (tensor<30x8xf32>) -> tensor<5x6x8xf32>
  // IMPORT: return
  return %5 : tensor<5x6x8xf32>
}

// Three layers of one merged value, two of them behind each other; a constant, a
// bias with a dim of 1, and a head that is parted at once.
// CHECK-LABEL: func @several
func.func @several(%x: tensor<5x6x4xf32>, %w: tensor<4x4xf32>, %b: tensor<1x4xf32>) -> (tensor<5x6x4xf32>, tensor<5x6x2x2xf32>) {
  // CHECK-NOT: 30x4
  // CHECK: graph.constant dense<2.000000e+00> : tensor<5x6x4xf32>
  // CHECK: graph.dot_general %arg0, %arg1 {{.*}} -> tensor<5x6x4xf32>
  // CHECK: graph.dot_general {{.*}} -> tensor<5x6x4xf32>
  // CHECK: graph.dot_general %arg0, %arg1 {{.*}} -> tensor<5x6x4xf32>
  // CHECK: graph.reshape %arg2 : (tensor<1x4xf32>) -> tensor<4xf32>
  // CHECK: graph.reshape {{.*}} : (tensor<5x6x4xf32>) -> tensor<5x6x2x2xf32>
  %0 = graph.reshape %x : (tensor<5x6x4xf32>) -> tensor<30x4xf32>
  %1 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<30x4xf32>, tensor<4x4xf32>) -> tensor<30x4xf32>
  %2 = graph.dot_general %1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<30x4xf32>, tensor<4x4xf32>) -> tensor<30x4xf32>
  %two = graph.constant dense<2.0> : tensor<30x4xf32>
  %3 = graph.mul %two, %2 : tensor<30x4xf32>
  %4 = graph.reshape %3 : (tensor<30x4xf32>) -> tensor<5x6x4xf32>
  %5 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<30x4xf32>, tensor<4x4xf32>) -> tensor<30x4xf32>
  %6 = graph.broadcast %b {dims = array<i64: 0, 1>} : (tensor<1x4xf32>) -> tensor<30x4xf32>
  %7 = graph.sub %5, %6 : tensor<30x4xf32>
  %8 = graph.reshape %7 : (tensor<30x4xf32>) -> tensor<5x6x2x2xf32>
  return %4, %8 : tensor<5x6x4xf32>, tensor<5x6x2x2xf32>
}

// A norm of each token's channels, and what is linear before it.
// CHECK-LABEL: func @norm
func.func @norm(%x: tensor<6x5x4xf32>, %w: tensor<4x4xf32>, %c: tensor<4xf32>) -> tensor<6x5x4xf32> {
  // CHECK-NEXT: %[[D:.+]] = graph.dot_general %arg0, %arg1
  // CHECK-NEXT: %[[N:.+]] = graph.batch_norm_inference %[[D]], %arg2, %arg2, %arg2, %arg2 {axis = 2 : i64, {{.*}} -> tensor<6x5x4xf32>
  // CHECK-NEXT: return %[[N]]
  %0 = graph.reshape %x : (tensor<6x5x4xf32>) -> tensor<30x4xf32>
  %1 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<30x4xf32>, tensor<4x4xf32>) -> tensor<30x4xf32>
  %2 = graph.batch_norm_inference %1, %c, %c, %c, %c {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<30x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<30x4xf32>
  %3 = graph.reshape %2 : (tensor<30x4xf32>) -> tensor<6x5x4xf32>
  return %3 : tensor<6x5x4xf32>
}

// What stays: other parts than were merged, rows that something else reads, a
// product over the rows, and a dim of 1.
// CHECK-LABEL: func @kept
func.func @kept(%x: tensor<5x6x4xf32>, %w: tensor<4x4xf32>, %r: tensor<30x4xf32>, %o: tensor<1x30x4xf32>) -> (tensor<6x5x4xf32>, tensor<5x6x4xf32>, tensor<30x4xf32>, tensor<5x6x4xf32>, tensor<1x30x4xf32>) {
  // CHECK-COUNT-3: graph.dot_general {{.*}} -> tensor<30x4xf32>
  // CHECK: graph.add {{.*}} : tensor<30x4xf32>
  // CHECK: graph.neg {{.*}} : tensor<30x4xf32>
  %0 = graph.reshape %x : (tensor<5x6x4xf32>) -> tensor<30x4xf32>
  %1 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<30x4xf32>, tensor<4x4xf32>) -> tensor<30x4xf32>
  %2 = graph.reshape %1 : (tensor<30x4xf32>) -> tensor<6x5x4xf32>
  %3 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<30x4xf32>, tensor<4x4xf32>) -> tensor<30x4xf32>
  %4 = graph.reshape %3 : (tensor<30x4xf32>) -> tensor<5x6x4xf32>
  %5 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<30x4xf32>, tensor<4x4xf32>) -> tensor<30x4xf32>
  %6 = graph.add %5, %r : tensor<30x4xf32>
  %7 = graph.reshape %6 : (tensor<30x4xf32>) -> tensor<5x6x4xf32>
  %8 = graph.reshape %o : (tensor<1x30x4xf32>) -> tensor<30x4xf32>
  %9 = graph.neg %8 : tensor<30x4xf32>
  %10 = graph.reshape %9 : (tensor<30x4xf32>) -> tensor<1x30x4xf32>
  return %2, %4, %3, %7, %10 : tensor<6x5x4xf32>, tensor<5x6x4xf32>, tensor<30x4xf32>, tensor<5x6x4xf32>, tensor<1x30x4xf32>
}
