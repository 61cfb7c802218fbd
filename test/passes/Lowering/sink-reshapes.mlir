// RUN: dist-opt %s --pass-pipeline="builtin.module(graph-sink-reshapes)" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(graph-sink-reshapes,canonicalize,graph-form-clusters)" | FileCheck %s --check-prefix=KERNEL

// All that follows element by element is computed in the rows, with scalars and
// constants made anew; what is of another shape by nature is not.
// CHECK-LABEL: func @update
// CHECK-SAME: (%[[W:.+]]: tensor<64x64xf32>, %[[RATE:.+]]: tensor<f32>,
// CHECK: %[[G:.+]] = graph.scatter_rows
// CHECK: %[[S:.+]] = graph.broadcast %[[RATE]] {dims = array<i64>} : (tensor<f32>) -> tensor<4x1024xf32>
// CHECK: %[[P:.+]] = graph.mul %[[G]], %[[S]] : tensor<4x1024xf32>
// CHECK: %[[C:.+]] = graph.constant dense<2.000000e+00> : tensor<4x1024xf32>
// CHECK: %[[Q:.+]] = graph.mul %[[P]], %[[C]] : tensor<4x1024xf32>
// CHECK: %[[V:.+]] = graph.reshape %[[W]] : (tensor<64x64xf32>) -> tensor<4x1024xf32>
// CHECK: %[[N:.+]] = graph.sub %[[V]], %[[Q]] : tensor<4x1024xf32>
// CHECK: %[[R:.+]] = graph.reshape %[[N]] : (tensor<4x1024xf32>) -> tensor<64x64xf32>
// CHECK: %[[SUM:.+]] = graph.reduce sum, %[[N]] {dims = array<i64: 0, 1>} : (tensor<4x1024xf32>) -> tensor<f32>
// CHECK: %[[COLUMNS:.+]] = graph.reduce sum, %[[R]] {dims = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<64xf32>
// CHECK: return %[[R]], %[[SUM]], %[[COLUMNS]]

// One kernel, to whose rows the gradient is never stored.
// KERNEL-LABEL: func @update
// KERNEL: rt.fused({{.*}}) domain [4, 1024] row_dims 1
// KERNEL-SAME: -> (tensor<4x1024xf32>, tensor<f32>)
// KERNEL: graph.scatter_rows
// KERNEL: graph.sub
// KERNEL: graph.reduce sum
func.func @update(%w: tensor<64x64xf32>, %rate: tensor<f32>, %u: tensor<4x20xf32>, %i: tensor<4x20xi16>) -> (tensor<64x64xf32>, tensor<f32>, tensor<64xf32>) {
  %0 = graph.scatter_rows %u, %i {size = 1024 : i64} : (tensor<4x20xf32>, tensor<4x20xi16>) -> tensor<4x1024xf32>
  %1 = graph.reshape %0 : (tensor<4x1024xf32>) -> tensor<64x64xf32>
  %2 = graph.broadcast %rate {dims = array<i64>} : (tensor<f32>) -> tensor<64x64xf32>
  %3 = graph.mul %1, %2 : tensor<64x64xf32>
  %c = graph.constant dense<2.0> : tensor<64x64xf32>
  %4 = graph.mul %3, %c : tensor<64x64xf32>
  %5 = graph.sub %w, %4 : tensor<64x64xf32>
  %6 = graph.reduce sum, %5 {dims = array<i64: 0, 1>} : (tensor<64x64xf32>) -> tensor<f32>
  %7 = graph.reduce sum, %5 {dims = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<64xf32>
  return %5, %6, %7 : tensor<64x64xf32>, tensor<f32>, tensor<64xf32>
}

// Already in rows: what follows it is, too.
// CHECK-LABEL: func @in_rows
// CHECK: %[[A:.+]] = graph.neg %{{.+}} : tensor<4x32xf32>
// CHECK: %[[B:.+]] = graph.abs %[[A]] : tensor<4x32xf32>
// CHECK-NEXT: %[[F:.+]] = graph.reshape %[[B]] : (tensor<4x32xf32>) -> tensor<128xf32>
// CHECK-NEXT: return %[[F]]
func.func @in_rows(%u: tensor<4x2xf32>, %i: tensor<4x2xi16>) -> tensor<128xf32> {
  %0 = graph.scatter_rows %u, %i {size = 32 : i64} : (tensor<4x2xf32>, tensor<4x2xi16>) -> tensor<4x32xf32>
  %1 = graph.neg %0 : tensor<4x32xf32>
  %2 = graph.reshape %1 : (tensor<4x32xf32>) -> tensor<128xf32>
  %3 = graph.abs %2 : tensor<128xf32>
  return %3 : tensor<128xf32>
}

// Of nothing that makes rows, reshapes stay where they are.
// CHECK-LABEL: func @other
// CHECK-NEXT: %[[R:.+]] = graph.reshape
// CHECK-NEXT: graph.neg %[[R]] : tensor<128xf32>
func.func @other(%x: tensor<4x32xf32>) -> tensor<128xf32> {
  %0 = graph.reshape %x : (tensor<4x32xf32>) -> tensor<128xf32>
  %1 = graph.neg %0 : tensor<128xf32>
  return %1 : tensor<128xf32>
}
