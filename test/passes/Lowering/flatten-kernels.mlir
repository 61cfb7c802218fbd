// RUN: dist-opt %s --graph-form-clusters=threads=2 --rt-flatten-kernels=threads=2 | FileCheck %s

// Where every element is computed from its own elements and scalars, dims do
// not matter: a filter that ends in 3x3 is one long loop.
// CHECK-LABEL: func.func @flat
// CHECK-SAME: %[[X:.+]]: tensor<64x32x3x3xf32>, %[[S:.+]]: tensor<f32>
// CHECK: %[[V:.+]] = graph.reshape %[[X]] : (tensor<64x32x3x3xf32>) -> tensor<18432xf32>
// CHECK: %[[F:.+]] = rt.fused(%[[V]], %[[S]]) domain [18432] row_dims 1 chunks 2
// CHECK: graph.broadcast %{{.+}} {dims = array<i64>} : (tensor<f32>) -> tensor<18432xf32>
// CHECK: graph.constant dense<2.000000e+00> : tensor<18432xf32>
// CHECK: %[[R:.+]] = graph.reshape %[[F]] : (tensor<18432xf32>) -> tensor<64x32x3x3xf32>
// CHECK: return %[[R]]
func.func @flat(%x: tensor<64x32x3x3xf32>, %s: tensor<f32>) -> tensor<64x32x3x3xf32> {
  %b = graph.broadcast %s {dims = array<i64>} : (tensor<f32>) -> tensor<64x32x3x3xf32>
  %0 = graph.mul %x, %b : tensor<64x32x3x3xf32>
  %c = graph.constant dense<2.0> : tensor<64x32x3x3xf32>
  %1 = graph.mul %0, %c : tensor<64x32x3x3xf32>
  return %1 : tensor<64x32x3x3xf32>
}

// A value a channel needs the dims.
// CHECK-LABEL: func.func @flat_n1
// CHECK: rt.fused(%{{.+}}) domain [64, 32, 3, 3]
func.func @flat_n1(%x: tensor<64x32x3x3xf32>, %s: tensor<32xf32>) -> tensor<64x32x3x3xf32> {
  %b = graph.broadcast %s {dims = array<i64: 1>} : (tensor<32xf32>) -> tensor<64x32x3x3xf32>
  %0 = graph.mul %x, %b : tensor<64x32x3x3xf32>
  return %0 : tensor<64x32x3x3xf32>
}

// With a number made of all elements the first dim stays: chunks are its rows.
// CHECK-LABEL: func.func @counted
// CHECK-SAME: %[[X:.+]]: tensor<64x32x3x3xf32>
// CHECK: %[[V:.+]] = graph.reshape %[[X]] : (tensor<64x32x3x3xf32>) -> tensor<64x288xf32>
// CHECK: %[[F:.+]]:2 = rt.fused(%[[V]]) domain [64, 288] row_dims 1 chunks 2 : {{.*}} -> (tensor<64x288xf32>, tensor<2xf32>)
// CHECK: graph.reduce sum, %{{.+}} {dims = array<i64: 0, 1>} : (tensor<64x288xf32>) -> tensor<f32>
// CHECK: graph.reshape %[[F]]#{{.}} : (tensor<64x288xf32>) -> tensor<64x32x3x3xf32>
func.func @counted(%x: tensor<64x32x3x3xf32>) -> (tensor<64x32x3x3xf32>, tensor<f32>) {
  %0 = graph.mul %x, %x : tensor<64x32x3x3xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 0, 1, 2, 3>} : (tensor<64x32x3x3xf32>) -> tensor<f32>
  return %0, %1 : tensor<64x32x3x3xf32>, tensor<f32>
}

// A sum of each row is another matter.
// CHECK-LABEL: func.func @row_sums
// CHECK: domain [64, 32, 3, 3]
func.func @row_sums(%x: tensor<64x32x3x3xf32>) -> (tensor<64x32x3x3xf32>, tensor<64xf32>) {
  %0 = graph.mul %x, %x : tensor<64x32x3x3xf32>
  %1 = graph.reduce sum, %0 {dims = array<i64: 1, 2, 3>} : (tensor<64x32x3x3xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64x32x3x3xf32>, tensor<64xf32>
}
