// RUN: dist-opt %s --graph-widen-contractions=types=bf16 | FileCheck %s
// RUN: dist-opt %s --graph-widen-contractions=types=none | FileCheck %s --check-prefix=NONE

// CHECK-LABEL: @product
// CHECK-DAG: %[[X:.*]] = graph.convert %arg0 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
// CHECK-DAG: %[[W:.*]] = graph.convert %arg1 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
// CHECK: %[[Y:.*]] = graph.dot_general %[[X]], %[[W]]
// CHECK-SAME: -> tensor<8x2xf32>
// CHECK: %[[N:.*]] = graph.convert %[[Y]] : (tensor<8x2xf32>) -> tensor<8x2xbf16>
// CHECK: graph.relu %[[N]] : tensor<8x2xbf16>
// NONE-LABEL: @product
// NONE-NOT: graph.convert
// NONE: -> tensor<8x2xbf16>
func.func @product(%x: tensor<8x4xbf16>, %w: tensor<4x2xbf16>) -> tensor<8x2xbf16> {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>}
    : (tensor<8x4xbf16>, tensor<4x2xbf16>) -> tensor<8x2xbf16>
  %1 = graph.relu %0 : tensor<8x2xbf16>
  return %1 : tensor<8x2xbf16>
}

// What is no contraction, or of another type, stays.
// CHECK-LABEL: @others
// CHECK-NOT: graph.convert
// CHECK: return
func.func @others(%a: tensor<8x4xbf16>, %x: tensor<8x4xf16>, %w: tensor<4x2xf16>) -> (tensor<8x4xbf16>, tensor<8x2xf16>) {
  %0 = graph.add %a, %a : tensor<8x4xbf16>
  %1 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>}
    : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  return %0, %1 : tensor<8x4xbf16>, tensor<8x2xf16>
}
