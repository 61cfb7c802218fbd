// RUN: dist-opt %s --graph-to-kernels=threads=2 | FileCheck %s

// A relu's derivative looks at its result, so that its operand can go.
// CHECK-LABEL: func.func @relu_derivative
// CHECK: %[[Y:.+]] = graph.relu
// CHECK: graph.compare gt, %[[Y]],
func.func @relu_derivative(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi1>) {
  %y = graph.relu %x : tensor<8xf32>
  %z = graph.constant dense<0.0> : tensor<8xf32>
  %p = graph.compare gt, %x, %z : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  return %y, %p : tensor<8xf32>, tensor<8xi1>
}

// Behind a pool the mask is that of the pool's result; and the sum of a pool's
// gradient is the sum of what the pool is given.
// CHECK-LABEL: func.func @relu_pool
// CHECK-SAME: %[[Y:.+]]: tensor<2x8x8x4xf32>, %[[G:.+]]: tensor<2x4x4x4xf32>
// CHECK: %[[R:.+]], %[[I:.+]] = graph.max_pool %[[Y]]
// CHECK: %[[P:.+]] = graph.compare gt, %[[R]], %{{.+}} : (tensor<2x4x4x4xf32>
// CHECK: %[[M:.+]] = graph.select %[[P]], %[[G]], %{{.+}} : (tensor<2x4x4x4xi1>
// CHECK: %[[D:.+]] = graph.max_pool_grad %[[M]], %[[I]]
// CHECK: %[[S:.+]] = graph.reduce sum, %[[M]]
// CHECK: return %[[D]], %[[S]]
func.func @relu_pool(%y: tensor<2x8x8x4xf32>, %g: tensor<2x4x4x4xf32>) -> (tensor<2x8x8x4xf32>, tensor<4xf32>) {
  %r, %i = graph.max_pool %y {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x8x8x4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>)
  %d = graph.max_pool_grad %g, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>) -> tensor<2x8x8x4xf32>
  %z = graph.constant dense<0.0> : tensor<2x8x8x4xf32>
  %p = graph.compare gt, %y, %z : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xi1>
  %m = graph.select %p, %d, %z : (tensor<2x8x8x4xi1>, tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32>
  %s = graph.reduce sum, %m {dims = array<i64: 0, 1, 2>} : (tensor<2x8x8x4xf32>) -> tensor<4xf32>
  return %m, %s : tensor<2x8x8x4xf32>, tensor<4xf32>
}

// The mask of another tensor, and a gradient with other readers, stay.
// CHECK-LABEL: func.func @relu_pool_n1
// CHECK: graph.max_pool_grad
// CHECK: graph.select %{{.+}} : (tensor<2x8x8x4xi1>
func.func @relu_pool_n1(%x: tensor<2x8x8x4xf32>, %y: tensor<2x8x8x4xf32>, %g: tensor<2x4x4x4xf32>) -> tensor<2x8x8x4xf32> {
  %r, %i = graph.max_pool %y {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x8x8x4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>)
  %d = graph.max_pool_grad %g, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>) -> tensor<2x8x8x4xf32>
  %z = graph.constant dense<0.0> : tensor<2x8x8x4xf32>
  %p = graph.compare gt, %x, %z : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xi1>
  %m = graph.select %p, %d, %z : (tensor<2x8x8x4xi1>, tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32>
  return %m : tensor<2x8x8x4xf32>
}

// CHECK-LABEL: func.func @relu_pool_n2
// CHECK: %[[D:.+]] = graph.max_pool_grad
// CHECK: graph.select %{{.+}}, %[[D]]
func.func @relu_pool_n2(%y: tensor<2x8x8x4xf32>, %g: tensor<2x4x4x4xf32>) -> (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) {
  %r, %i = graph.max_pool %y {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x8x8x4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>)
  %d = graph.max_pool_grad %g, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>) -> tensor<2x8x8x4xf32>
  %z = graph.constant dense<0.0> : tensor<2x8x8x4xf32>
  %p = graph.compare gt, %y, %z : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xi1>
  %m = graph.select %p, %d, %z : (tensor<2x8x8x4xi1>, tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xf32>
  return %m, %d : tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>
}

// A sum over part of a window, and windows that choose in the padding, stay.
// CHECK-LABEL: func.func @pool_sum_n1
// CHECK: %[[D:.+]] = graph.max_pool_grad
// CHECK: graph.reduce sum, %[[D]]
func.func @pool_sum_n1(%i: tensor<2x4x4x4xi32>, %g: tensor<2x4x4x4xf32>) -> tensor<8x4xf32> {
  %d = graph.max_pool_grad %g, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>) -> tensor<2x8x8x4xf32>
  %s = graph.reduce sum, %d {dims = array<i64: 0, 1>} : (tensor<2x8x8x4xf32>) -> tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @pool_sum_n2
// CHECK: %[[D:.+]] = graph.max_pool_grad
// CHECK: graph.reduce sum, %[[D]]
func.func @pool_sum_n2(%i: tensor<2x4x4x4xi32>, %g: tensor<2x4x4x4xf32>) -> tensor<4xf32> {
  %d = graph.max_pool_grad %g, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, pad_low = array<i64: 0, 1, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi32>) -> tensor<2x7x8x4xf32>
  %s = graph.reduce sum, %d {dims = array<i64: 0, 1, 2>} : (tensor<2x7x8x4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}
