// RUN: dist-opt %s --graph-join-pieces=least-pieces=3 -split-input-file | FileCheck %s
// RUN: dist-opt %s --graph-join-pieces -split-input-file | FileCheck %s --check-prefix=FEW

// Pieces come in their order, with zeros between, and what else is added is.
// CHECK-LABEL: func.func @pieces
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<1x3xf32>, %[[B:[a-z0-9]+]]: tensor<1x3xf32>, %[[C:[a-z0-9]+]]: tensor<1x3xf32>, %[[X:[a-z0-9]+]]: tensor<8x3xf32>
// CHECK-DAG: %[[Z1:.+]] = graph.constant dense<0.000000e+00> : tensor<1x3xf32>
// CHECK-DAG: %[[Z4:.+]] = graph.constant dense<0.000000e+00> : tensor<4x3xf32>
// CHECK: %[[J:.+]] = graph.concat %[[B]], %[[Z1]], %[[A]], %[[C]], %[[Z4]] {axis = 0 : i64}
// CHECK-NEXT: %[[S:.+]] = graph.add %[[J]], %[[X]]
// CHECK-NEXT: return %[[S]]
// Few stay as they are.
// FEW-LABEL: func.func @pieces
// FEW-NOT: graph.concat
// FEW: return
func.func @pieces(%a: tensor<1x3xf32>, %b: tensor<1x3xf32>, %c: tensor<1x3xf32>, %x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.pad %a, %zero {low = array<i64: 2, 0>, high = array<i64: 5, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %1 = graph.pad %b, %zero {low = array<i64: 0, 0>, high = array<i64: 7, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %2 = graph.pad %c, %zero {low = array<i64: 3, 0>, high = array<i64: 4, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %3 = graph.add %0, %x : tensor<8x3xf32>
  %4 = graph.add %3, %1 : tensor<8x3xf32>
  %5 = graph.add %2, %4 : tensor<8x3xf32>
  return %5 : tensor<8x3xf32>
}

// -----

// What overlaps a piece is added.
// CHECK-LABEL: func.func @overlap
// CHECK: %[[P:.+]] = graph.pad %[[A:[a-z0-9]+]], {{.*}}high = array<i64: 5, 0>
// CHECK: %[[J:.+]] = graph.concat
// CHECK-NEXT: %[[S:.+]] = graph.add %[[J]], %[[P]]
// CHECK-NEXT: return %[[S]]
func.func @overlap(%a: tensor<1x3xf32>, %b: tensor<1x3xf32>) -> tensor<8x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.pad %a, %zero {low = array<i64: 1, 0>, high = array<i64: 6, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %1 = graph.pad %b, %zero {low = array<i64: 0, 0>, high = array<i64: 7, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %2 = graph.pad %b, %zero {low = array<i64: 2, 0>, high = array<i64: 5, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %3 = graph.pad %a, %zero {low = array<i64: 2, 0>, high = array<i64: 5, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %4 = graph.add %0, %1 : tensor<8x3xf32>
  %5 = graph.add %4, %2 : tensor<8x3xf32>
  %6 = graph.add %5, %3 : tensor<8x3xf32>
  return %6 : tensor<8x3xf32>
}

// -----

// A sum that something else reads stays, and is a term.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: graph.concat
// CHECK: return
func.func @shared(%a: tensor<1x3xf32>, %b: tensor<1x3xf32>) -> (tensor<8x3xf32>, tensor<8x3xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.pad %a, %zero {low = array<i64: 1, 0>, high = array<i64: 6, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %1 = graph.pad %b, %zero {low = array<i64: 0, 0>, high = array<i64: 7, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %2 = graph.pad %b, %zero {low = array<i64: 2, 0>, high = array<i64: 5, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %3 = graph.add %0, %1 : tensor<8x3xf32>
  %4 = graph.add %3, %2 : tensor<8x3xf32>
  return %3, %4 : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

// Padding by another number, within a piece, or along several dims is no piece.
// CHECK-LABEL: func.func @other
// CHECK-NOT: graph.concat
// CHECK: return
func.func @other(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>, %c: tensor<1x2xf32>) -> tensor<8x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.pad %a, %zero {low = array<i64: 0, 0>, high = array<i64: 5, 0>, interior = array<i64: 1, 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %1 = graph.pad %b, %one {low = array<i64: 4, 0>, high = array<i64: 3, 0>, interior = array<i64: 0, 0>} : (tensor<1x3xf32>, tensor<f32>) -> tensor<8x3xf32>
  %2 = graph.pad %c, %zero {low = array<i64: 6, 1>, high = array<i64: 1, 0>, interior = array<i64: 0, 0>} : (tensor<1x2xf32>, tensor<f32>) -> tensor<8x3xf32>
  %3 = graph.add %0, %1 : tensor<8x3xf32>
  %4 = graph.add %3, %2 : tensor<8x3xf32>
  return %4 : tensor<8x3xf32>
}
