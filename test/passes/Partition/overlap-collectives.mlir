// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-overlap-collectives))" | FileCheck %s
dist.mesh @mesh ["data"=2]

// CHECK-LABEL: func @overlap
func.func @overlap(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[N:.+]] = graph.neg %arg0
  // CHECK: %[[T:.+]] = dist.all_reduce_start %[[N]]
  // CHECK: %[[E:.+]] = graph.exp %arg1
  // CHECK: %[[R:.+]] = dist.wait %[[T]]
  // CHECK: graph.add %[[R]], %[[E]]
  %0 = graph.neg %a : tensor<8xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.exp %b : tensor<8xf32>
  %3 = graph.add %1, %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// Nothing to overlap with.
// CHECK-LABEL: func @at_once
func.func @at_once(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: dist.all_reduce %
  %0 = dist.all_reduce %a over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// The distance: two contractions run while the gradient of the last layer is
// under way, one while that of the first is.
// CHECK-LABEL: func @buckets
func.func @buckets(%g: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: graph.exp
  // CHECK-NEXT: %[[T:.+]] = dist.all_reduce_start {{.*}}op_id = 4 : i64
  // CHECK-NEXT: graph.neg
  // CHECK-NEXT: graph.dot_general
  // CHECK-NEXT: %[[U:.+]] = dist.all_reduce_start {{.*}}op_id = 5 : i64
  // CHECK-NEXT: graph.dot_general
  // CHECK-NEXT: %[[A:.+]] = dist.wait %[[T]] {dist.origin = 7 : i64
  // CHECK-NEXT: graph.sub %{{.+}}, %[[A]]
  // CHECK-NEXT: %[[B:.+]] = dist.wait %[[U]]
  // CHECK-NEXT: graph.mul %{{.+}}, %[[B]]
  %0 = graph.exp %g : tensor<8x8xf32>
  %1 = graph.neg %g : tensor<8x8xf32>
  %2 = graph.dot_general %1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>}
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = dist.all_reduce %0 over @mesh ["data"] {reason = "r", origin = "o", op_id = 4 : i64, dist.origin = 7 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = dist.all_reduce %2 over @mesh ["data"] {reason = "r", origin = "o", op_id = 5 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = graph.dot_general %2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>}
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = graph.sub %w, %3 : tensor<8x8xf32>
  %7 = graph.mul %5, %4 : tensor<8x8xf32>
  return %6, %7 : tensor<8x8xf32>, tensor<8x8xf32>
}

// All forms; one that follows another waits for it. A max reduction stays one.
// CHECK-LABEL: func @forms
func.func @forms(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[T:.+]] = dist.reduce_scatter_start %arg0 over @mesh ["data"] by max {{.*}}dims = array<i64: 0>
  // CHECK: graph.exp
  // CHECK: %[[P:.+]] = dist.wait %[[T]]
  // CHECK: %[[N:.+]] = graph.neg %[[P]]
  // CHECK: %[[U:.+]] = dist.all_gather_start %[[N]]
  // CHECK: graph.exp
  // CHECK: dist.wait %[[U]]
  %0 = dist.reduce_scatter %a over @mesh ["data"] by max {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = graph.exp %b : tensor<8xf32>
  %2 = graph.neg %0 : tensor<4xf32>
  %3 = graph.exp %1 : tensor<8xf32>
  %4 = dist.all_gather %2 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<8xf32>
  return %4, %3 : tensor<8xf32>, tensor<8xf32>
}
