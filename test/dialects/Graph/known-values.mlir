// RUN: dist-opt %s --graph-fold | FileCheck %s

// The evaluator against numbers from elsewhere: ONNX's reference evaluator, and
// the definitions written out in NumPy.

// Strided, padded below only.
// CHECK-LABEL: func @conv_1d
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @conv_1d() -> (tensor<1x2x2xi1>) {
  %x = graph.constant dense<[[[1.000000000e+00, 2.000000000e+00, -3.000000000e+00, 0.000000000e+00, 0.000000000e+00], [0.000000000e+00, -2.000000000e+00, 0.000000000e+00, 2.000000000e+00, -1.000000000e+00]]]> : tensor<1x2x5xf32>
  %w = graph.constant dense<[[[2.000000000e+00, 0.000000000e+00, 1.000000000e+00], [-3.000000000e+00, -2.000000000e+00, 0.000000000e+00]], [[2.000000000e+00, -3.000000000e+00, -3.000000000e+00], [-2.000000000e+00, 1.000000000e+00, 2.000000000e+00]]]> : tensor<2x2x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<1x2x5xf32>, tensor<2x2x3xf32>) -> tensor<1x2x2xf32>
  %y0 = graph.constant dense<[[[2.000000000e+00, 1.000000000e+01], [-1.300000000e+01, 2.100000000e+01]]]> : tensor<1x2x2xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xi1>
  return %ok0 : tensor<1x2x2xi1>
}

// Uneven pads, strides and dilations.
// CHECK-LABEL: func @conv_2d
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @conv_2d() -> (tensor<1x1x3x3xi1>) {
  %x = graph.constant dense<[[[[-3.000000000e+00, 2.000000000e+00, -3.000000000e+00, 3.000000000e+00, 0.000000000e+00], [-1.000000000e+00, 0.000000000e+00, -3.000000000e+00, -1.000000000e+00, -2.000000000e+00], [0.000000000e+00, 2.000000000e+00, -1.000000000e+00, 1.000000000e+00, 1.000000000e+00], [1.000000000e+00, 2.000000000e+00, 0.000000000e+00, 3.000000000e+00, 1.000000000e+00]]]]> : tensor<1x1x4x5xf32>
  %w = graph.constant dense<[[[[-1.000000000e+00, -3.000000000e+00, -2.000000000e+00], [0.000000000e+00, -3.000000000e+00, -3.000000000e+00]]]]> : tensor<1x1x2x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 2>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 0, 2>, dilations = array<i64: 2, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<1x1x4x5xf32>, tensor<1x1x2x3xf32>) -> tensor<1x1x3x3xf32>
  %y0 = graph.constant dense<[[[[9.000000000e+00, 9.000000000e+00, 0.000000000e+00], [0.000000000e+00, -1.200000000e+01, 0.000000000e+00], [1.000000000e+00, -2.000000000e+00, 2.000000000e+00]]]]> : tensor<1x1x3x3xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xi1>
  return %ok0 : tensor<1x1x3x3xi1>
}

// Each group sees its own channels.
// CHECK-LABEL: func @conv_grouped
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @conv_grouped() -> (tensor<1x4x1x2xi1>) {
  %x = graph.constant dense<[[[[-1.000000000e+00, 3.000000000e+00], [2.000000000e+00, -2.000000000e+00]], [[-3.000000000e+00, -3.000000000e+00], [-1.000000000e+00, -2.000000000e+00]], [[-1.000000000e+00, 1.000000000e+00], [2.000000000e+00, 3.000000000e+00]], [[-2.000000000e+00, -3.000000000e+00], [1.000000000e+00, -1.000000000e+00]]]]> : tensor<1x4x2x2xf32>
  %w = graph.constant dense<[[[[0.000000000e+00], [3.000000000e+00]], [[2.000000000e+00], [3.000000000e+00]]], [[[3.000000000e+00], [-3.000000000e+00]], [[-2.000000000e+00], [-3.000000000e+00]]], [[[1.000000000e+00], [3.000000000e+00]], [[0.000000000e+00], [-3.000000000e+00]]], [[[3.000000000e+00], [-3.000000000e+00]], [[1.000000000e+00], [-2.000000000e+00]]]]> : tensor<4x2x2x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<1x4x2x2xf32>, tensor<4x2x2x1xf32>) -> tensor<1x4x1x2xf32>
  %y0 = graph.constant dense<[[[[-3.000000000e+00, -1.800000000e+01]], [[0.000000000e+00, 2.700000000e+01]], [[2.000000000e+00, 1.300000000e+01]], [[-1.300000000e+01, -7.000000000e+00]]]]> : tensor<1x4x1x2xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>) -> tensor<1x4x1x2xi1>
  return %ok0 : tensor<1x4x1x2xi1>
}

// Three spatial dims.
// CHECK-LABEL: func @conv_3d
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @conv_3d() -> (tensor<1x1x1x3x2xi1>) {
  %x = graph.constant dense<[[[[[-1.000000000e+00, -2.000000000e+00], [0.000000000e+00, 1.000000000e+00], [-1.000000000e+00, 2.000000000e+00]], [[-1.000000000e+00, -3.000000000e+00], [3.000000000e+00, -2.000000000e+00], [-2.000000000e+00, 0.000000000e+00]]]]]> : tensor<1x1x2x3x2xf32>
  %w = graph.constant dense<[[[[[1.000000000e+00, -2.000000000e+00], [3.000000000e+00, 0.000000000e+00]], [[0.000000000e+00, 1.000000000e+00], [-2.000000000e+00, 3.000000000e+00]]]]]> : tensor<1x1x2x2x2xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 1>, pad_high = array<i64: 0, 1, 0>, dilations = array<i64: 1, 1, 1>, groups = 1 : i64, input_layout = "NC012", filter_layout = "OI012", output_layout = "NC012"} : (tensor<1x1x2x3x2xf32>, tensor<1x1x2x2x2xf32>) -> tensor<1x1x1x3x2xf32>
  %y0 = graph.constant dense<[[[[[1.000000000e+01, -1.200000000e+01], [-3.000000000e+00, -3.000000000e+00], [0.000000000e+00, -5.000000000e+00]]]]]> : tensor<1x1x1x3x2xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<1x1x1x3x2xf32>, tensor<1x1x1x3x2xf32>) -> tensor<1x1x1x3x2xi1>
  return %ok0 : tensor<1x1x1x3x2xi1>
}

// The transpose of the conv as a map of its input.
// CHECK-LABEL: func @conv_input_grad
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @conv_input_grad() -> (tensor<1x1x4xi1>) {
  %dy = graph.constant dense<[[[-2.000000000e+00, 2.000000000e+00, 1.000000000e+00], [-3.000000000e+00, -2.000000000e+00, 0.000000000e+00]]]> : tensor<1x2x3xf32>
  %w = graph.constant dense<[[[3.000000000e+00, 1.000000000e+00]], [[3.000000000e+00, 2.000000000e+00]]]> : tensor<2x1x2xf32>
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>, dilations = array<i64: 2>, groups = 1 : i64, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<1x2x3xf32>, tensor<2x1x2xf32>) -> tensor<1x1x4xf32>
  %y0 = graph.constant dense<[[[0.000000000e+00, -5.000000000e+00, -2.000000000e+00, 1.000000000e+00]]]> : tensor<1x1x4xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> tensor<1x1x4xi1>
  return %ok0 : tensor<1x1x4xi1>
}

// The transpose of the conv as a map of its filter.
// CHECK-LABEL: func @conv_filter_grad
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @conv_filter_grad() -> (tensor<2x1x2xi1>) {
  %x = graph.constant dense<[[[0.000000000e+00, 1.000000000e+00, -2.000000000e+00, -2.000000000e+00]]]> : tensor<1x1x4xf32>
  %dy = graph.constant dense<[[[-2.000000000e+00, 2.000000000e+00, 1.000000000e+00], [-3.000000000e+00, -2.000000000e+00, 0.000000000e+00]]]> : tensor<1x2x3xf32>
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>, dilations = array<i64: 2>, groups = 1 : i64, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<1x1x4xf32>, tensor<1x2x3xf32>) -> tensor<2x1x2xf32>
  %y0 = graph.constant dense<[[[1.000000000e+00, -8.000000000e+00]], [[0.000000000e+00, 1.000000000e+00]]]> : tensor<2x1x2xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<2x1x2xf32>, tensor<2x1x2xf32>) -> tensor<2x1x2xi1>
  return %ok0 : tensor<2x1x2xi1>
}

// Padding is not the largest of negative elements; the first of equals gives the position.
// CHECK-LABEL: func @max_pool
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @max_pool() -> (tensor<1x1x2x3xi1>, tensor<1x1x2x3xi1>) {
  %x = graph.constant dense<[[[[-7.000000000e+00, -8.000000000e+00, -5.000000000e+00, -7.000000000e+00, -3.000000000e+00], [-4.000000000e+00, -7.000000000e+00, -6.000000000e+00, -8.000000000e+00, -3.000000000e+00], [-4.000000000e+00, -8.000000000e+00, -3.000000000e+00, -8.000000000e+00, -3.000000000e+00], [-4.000000000e+00, -3.000000000e+00, -4.000000000e+00, -6.000000000e+00, -4.000000000e+00]]]]> : tensor<1x1x4x5xf32>
  %0:2 = graph.max_pool %x {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 0>, pad_high = array<i64: 0, 0, 0, 1>} : (tensor<1x1x4x5xf32>) -> (tensor<1x1x2x3xf32>, tensor<1x1x2x3xi32>)
  %y0 = graph.constant dense<[[[[-4.000000000e+00, -5.000000000e+00, -3.000000000e+00], [-3.000000000e+00, -3.000000000e+00, -3.000000000e+00]]]]> : tensor<1x1x2x3xf32>
  %ok0 = graph.compare eq, %0#0, %y0 : (tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>) -> tensor<1x1x2x3xi1>
  %y1 = graph.constant dense<[[[[4, 2, 2], [5, 2, 0]]]]> : tensor<1x1x2x3xi32>
  %ok1 = graph.compare eq, %0#1, %y1 : (tensor<1x1x2x3xi32>, tensor<1x1x2x3xi32>) -> tensor<1x1x2x3xi1>
  return %ok0, %ok1 : tensor<1x1x2x3xi1>, tensor<1x1x2x3xi1>
}

// Padding does not count.
// CHECK-LABEL: func @avg_pool_padded
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @avg_pool_padded() -> (tensor<1x1x2x3xi1>) {
  %x = graph.constant dense<[[[[-1.200000000e+01, -1.800000000e+01, 0.000000000e+00, -1.200000000e+01, 1.200000000e+01], [6.000000000e+00, -1.200000000e+01, -6.000000000e+00, -1.800000000e+01, 1.200000000e+01], [6.000000000e+00, -1.800000000e+01, 1.200000000e+01, -1.800000000e+01, 1.200000000e+01], [6.000000000e+00, 1.200000000e+01, 6.000000000e+00, -6.000000000e+00, 6.000000000e+00]]]]> : tensor<1x1x4x5xf32>
  %0 = graph.avg_pool %x {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 0>, pad_high = array<i64: 0, 0, 0, 1>, count_include_pad = false} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>
  %y0 = graph.constant dense<[[[[-9.000000000e+00, -9.000000000e+00, 1.200000000e+01], [0.000000000e+00, -5.000000000e+00, 1.000000000e+01]]]]> : tensor<1x1x2x3xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>) -> tensor<1x1x2x3xi1>
  return %ok0 : tensor<1x1x2x3xi1>
}

// Padding counts.
// CHECK-LABEL: func @avg_pool_with_pads
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @avg_pool_with_pads() -> (tensor<1x1x2x3xi1>) {
  %x = graph.constant dense<[[[[-1.200000000e+01, -1.800000000e+01, 0.000000000e+00, -1.200000000e+01, 1.200000000e+01], [6.000000000e+00, -1.200000000e+01, -6.000000000e+00, -1.800000000e+01, 1.200000000e+01], [6.000000000e+00, -1.800000000e+01, 1.200000000e+01, -1.800000000e+01, 1.200000000e+01], [6.000000000e+00, 1.200000000e+01, 6.000000000e+00, -6.000000000e+00, 6.000000000e+00]]]]> : tensor<1x1x4x5xf32>
  %0 = graph.avg_pool %x {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 0>, pad_high = array<i64: 0, 0, 0, 1>, count_include_pad = true} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>
  %y0 = graph.constant dense<[[[[-6.000000000e+00, -6.000000000e+00, 4.000000000e+00], [0.000000000e+00, -5.000000000e+00, 5.000000000e+00]]]]> : tensor<1x1x2x3xf32>
  %ok0 = graph.compare eq, %0, %y0 : (tensor<1x1x2x3xf32>, tensor<1x1x2x3xf32>) -> tensor<1x1x2x3xi1>
  return %ok0 : tensor<1x1x2x3xi1>
}

// Rows sum to 1.
// CHECK-LABEL: func @softmax
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @softmax() -> (tensor<2x3xi1>) {
  %x = graph.constant dense<[[0.000000000e+00, 0.000000000e+00, 3.000000000e+00], [2.000000000e+00, -2.000000000e+00, -1.000000000e+00]]> : tensor<2x3xf32>
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<2x3xf32>
  %y0 = graph.constant dense<[[4.527850077e-02, 4.527850077e-02, 9.094430208e-01], [9.362395406e-01, 1.714782603e-02, 4.661262035e-02]]> : tensor<2x3xf32>
  %d0 = graph.sub %0, %y0 : tensor<2x3xf32>
  %a0 = graph.abs %d0 : tensor<2x3xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<2x3xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  return %ok0 : tensor<2x3xi1>
}

// Its logarithm, by columns.
// CHECK-LABEL: func @log_softmax
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @log_softmax() -> (tensor<2x3xi1>) {
  %x = graph.constant dense<[[0.000000000e+00, 0.000000000e+00, 3.000000000e+00], [2.000000000e+00, -2.000000000e+00, -1.000000000e+00]]> : tensor<2x3xf32>
  %0 = graph.log_softmax %x {axis = 0 : i64} : tensor<2x3xf32>
  %y0 = graph.constant dense<[[-2.126928091e+00, -1.269280612e-01, -1.814995520e-02], [-1.269280612e-01, -2.126928091e+00, -4.018149853e+00]]> : tensor<2x3xf32>
  %d0 = graph.sub %0, %y0 : tensor<2x3xf32>
  %a0 = graph.abs %d0 : tensor<2x3xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<2x3xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  return %ok0 : tensor<2x3xi1>
}

// The label's log probability, negated.
// CHECK-LABEL: func @cross_entropy
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @cross_entropy() -> (tensor<2xi1>) {
  %x = graph.constant dense<[[0.000000000e+00, 0.000000000e+00, 3.000000000e+00], [2.000000000e+00, -2.000000000e+00, -1.000000000e+00]]> : tensor<2x3xf32>
  %l = graph.constant dense<[2, 0]> : tensor<2xi64>
  %0 = graph.cross_entropy %x, %l : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  %y0 = graph.constant dense<[9.492293000e-02, 6.588391960e-02]> : tensor<2xf32>
  %d0 = graph.sub %0, %y0 : tensor<2xf32>
  %a0 = graph.abs %d0 : tensor<2xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<2xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %ok0 : tensor<2xi1>
}

// NaN for a label that names no class.
// CHECK-LABEL: func @cross_entropy_no_label
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @cross_entropy_no_label() -> (tensor<2xi1>) {
  %x = graph.constant dense<[[0.000000000e+00, 0.000000000e+00, 3.000000000e+00], [2.000000000e+00, -2.000000000e+00, -1.000000000e+00]]> : tensor<2x3xf32>
  %l = graph.constant dense<[3, -1]> : tensor<2xi64>
  %0 = graph.cross_entropy %x, %l : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  %ok0 = graph.is_nan %0 : (tensor<2xf32>) -> tensor<2xi1>
  return %ok0 : tensor<2xi1>
}

// With mean and 1/std of each row.
// CHECK-LABEL: func @layer_norm
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @layer_norm() -> (tensor<2x4xi1>, tensor<2xi1>, tensor<2xi1>) {
  %x = graph.constant dense<[[-1.000000000e+00, -3.000000000e+00, -1.000000000e+00, -3.000000000e+00], [3.000000000e+00, -1.000000000e+00, 1.000000000e+00, -2.000000000e+00]]> : tensor<2x4xf32>
  %s = graph.constant dense<[1.000000000e+00, 2.000000000e+00, 5.000000000e-01, -1.000000000e+00]> : tensor<4xf32>
  %b = graph.constant dense<[0.000000000e+00, 1.000000000e+00, 0.000000000e+00, 2.000000000e+00]> : tensor<4xf32>
  %0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-2 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  %y0 = graph.constant dense<[[9.950371385e-01, -9.900742769e-01, 4.975185692e-01, 2.995037079e+00], [1.430140257e+00, -3.001275063e-01, 1.950191259e-01, 3.170114756e+00]]> : tensor<2x4xf32>
  %d0 = graph.sub %0#0, %y0 : tensor<2x4xf32>
  %a0 = graph.abs %d0 : tensor<2x4xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<2x4xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  %y1 = graph.constant dense<[-2.000000000e+00, 2.500000000e-01]> : tensor<2xf32>
  %d1 = graph.sub %0#1, %y1 : tensor<2xf32>
  %a1 = graph.abs %d1 : tensor<2xf32>
  %t1 = graph.constant dense<2.0e-6> : tensor<2xf32>
  %ok1 = graph.compare lt, %a1, %t1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %y2 = graph.constant dense<[9.950371385e-01, 5.200510025e-01]> : tensor<2xf32>
  %d2 = graph.sub %0#2, %y2 : tensor<2xf32>
  %a2 = graph.abs %d2 : tensor<2xf32>
  %t2 = graph.constant dense<2.0e-6> : tensor<2xf32>
  %ok2 = graph.compare lt, %a2, %t2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %ok0, %ok1, %ok2 : tensor<2x4xi1>, tensor<2xi1>, tensor<2xi1>
}

// Two groups, each with its own statistics; the last example does not count.
// CHECK-LABEL: func @batch_norm
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @batch_norm() -> (tensor<4x2x2xi1>, tensor<2x2xi1>, tensor<2x2xi1>, tensor<2xi1>) {
  %x = graph.constant dense<[[[0.000000000e+00, -3.000000000e+00], [1.000000000e+00, 3.000000000e+00]], [[-2.000000000e+00, 3.000000000e+00], [-1.000000000e+00, 1.000000000e+00]], [[-1.000000000e+00, -3.000000000e+00], [2.000000000e+00, -3.000000000e+00]], [[2.000000000e+00, -1.000000000e+00], [-2.000000000e+00, 3.000000000e+00]]]> : tensor<4x2x2xf32>
  %s = graph.constant dense<[1.000000000e+00, 2.000000000e+00]> : tensor<2xf32>
  %b = graph.constant dense<[0.000000000e+00, 1.000000000e+00]> : tensor<2xf32>
  %m = graph.constant dense<[true, true, true, false]> : tensor<4xi1>
  %0:4 = graph.batch_norm %x, %s, %b, mask %m {axis = 1 : i64, epsilon = 1.0e-2 : f64, groups = 2 : i64} : (tensor<4x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xi1>) -> (tensor<4x2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>)
  %y0 = graph.constant dense<[[[2.180103660e-01, -1.090051770e+00], [1.000000000e+00, 3.821382523e+00]], [[-6.540310979e-01, 1.526072502e+00], [-1.821382523e+00, 1.000000000e+00]], [[9.950371385e-01, -9.950371385e-01], [2.998402119e+00, -9.984019995e-01]], [[3.980148554e+00, 9.950371385e-01], [-1.990411282e-01, 3.797762871e+00]]]> : tensor<4x2x2xf32>
  %d0 = graph.sub %0#0, %y0 : tensor<4x2x2xf32>
  %a0 = graph.abs %d0 : tensor<4x2x2xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<4x2x2xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<4x2x2xf32>, tensor<4x2x2xf32>) -> tensor<4x2x2xi1>
  %y1 = graph.constant dense<[[-5.000000000e-01, 1.000000000e+00], [-2.000000000e+00, -5.000000000e-01]]> : tensor<2x2xf32>
  %d1 = graph.sub %0#1, %y1 : tensor<2x2xf32>
  %a1 = graph.abs %d1 : tensor<2x2xf32>
  %t1 = graph.constant dense<2.0e-6> : tensor<2x2xf32>
  %ok1 = graph.compare lt, %a1, %t1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %y2 = graph.constant dense<[[5.250000000e+00, 2.000000000e+00], [1.000000000e+00, 6.250000000e+00]]> : tensor<2x2xf32>
  %d2 = graph.sub %0#2, %y2 : tensor<2x2xf32>
  %a2 = graph.abs %d2 : tensor<2x2xf32>
  %t2 = graph.constant dense<2.0e-6> : tensor<2x2xf32>
  %ok2 = graph.compare lt, %a2, %t2 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
  %y3 = graph.constant dense<[4.000000000e+00, 2.000000000e+00]> : tensor<2xf32>
  %d3 = graph.sub %0#3, %y3 : tensor<2xf32>
  %a3 = graph.abs %d3 : tensor<2xf32>
  %t3 = graph.constant dense<2.0e-6> : tensor<2xf32>
  %ok3 = graph.compare lt, %a3, %t3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %ok0, %ok1, %ok2, %ok3 : tensor<4x2x2xi1>, tensor<2x2xi1>, tensor<2x2xi1>, tensor<2xi1>
}

// Given statistics.
// CHECK-LABEL: func @batch_norm_inference
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @batch_norm_inference() -> (tensor<4x2x2xi1>) {
  %x = graph.constant dense<[[[0.000000000e+00, -3.000000000e+00], [1.000000000e+00, 3.000000000e+00]], [[-2.000000000e+00, 3.000000000e+00], [-1.000000000e+00, 1.000000000e+00]], [[-1.000000000e+00, -3.000000000e+00], [2.000000000e+00, -3.000000000e+00]], [[2.000000000e+00, -1.000000000e+00], [-2.000000000e+00, 3.000000000e+00]]]> : tensor<4x2x2xf32>
  %s = graph.constant dense<[1.000000000e+00, 2.000000000e+00]> : tensor<2xf32>
  %b = graph.constant dense<[0.000000000e+00, 1.000000000e+00]> : tensor<2xf32>
  %m = graph.constant dense<[5.000000000e-01, -1.000000000e+00]> : tensor<2xf32>
  %v = graph.constant dense<[2.000000000e+00, 2.500000000e-01]> : tensor<2xf32>
  %0 = graph.batch_norm_inference %x, %s, %b, %m, %v {axis = 1 : i64, epsilon = 1.0e-2 : f64} : (tensor<4x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2x2xf32>
  %y0 = graph.constant dense<[[[-3.526728153e-01, -2.468709707e+00], [8.844645500e+00, 1.668929100e+01]], [[-1.763364077e+00, 1.763364077e+00], [1.000000000e+00, 8.844645500e+00]], [[-1.058018446e+00, -2.468709707e+00], [1.276696873e+01, -6.844645500e+00]], [[1.058018446e+00, -1.058018446e+00], [-2.922322750e+00, 1.668929100e+01]]]> : tensor<4x2x2xf32>
  %d0 = graph.sub %0, %y0 : tensor<4x2x2xf32>
  %a0 = graph.abs %d0 : tensor<4x2x2xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<4x2x2xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<4x2x2xf32>, tensor<4x2x2xf32>) -> tensor<4x2x2xi1>
  return %ok0 : tensor<4x2x2xi1>
}

// Numbers that must never change: resumed training depends on them.
// CHECK-LABEL: func @random_uniform
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @random_uniform() -> (tensor<4xi1>) {
  %s = graph.constant dense<3> : tensor<i64>
  %0 = graph.random_uniform %s {seed = 7 : i64} : (tensor<i64>) -> tensor<4xf32>
  %y0 = graph.constant dense<[8.485510945e-01, 9.841382504e-01, 8.101565838e-01, 4.767707586e-01]> : tensor<4xf32>
  %d0 = graph.sub %0, %y0 : tensor<4xf32>
  %a0 = graph.abs %d0 : tensor<4xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<4xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %ok0 : tensor<4xi1>
}

// Positions have 64 bits. Row 1431655765 of three begins at 2^32 - 1: its first
// number is the last of the old ones, and what follows is not what stands at 0
// and 1, but numbers of its own; so are those of rows that are 2^32 apart.
// CHECK-LABEL: func @random_uniform_far
// CHECK-NOT: false
// CHECK: graph.constant dense<true>
// CHECK-NOT: false
// CHECK: return
func.func @random_uniform_far() -> (tensor<9xi1>) {
  %s = graph.constant dense<3> : tensor<i64>
  %r = graph.constant dense<[0, 1431655765, 4294967296]> : tensor<3xi64>
  %0 = graph.random_uniform %s rows %r {seed = 7 : i64, dim = 0 : i64} : (tensor<i64>, tensor<3xi64>) -> tensor<3x3xf32>
  %1 = graph.reshape %0 : (tensor<3x3xf32>) -> tensor<9xf32>
  %y0 = graph.constant dense<[8.485510945e-01, 9.841382504e-01, 8.101565838e-01, 4.485704899e-01, 2.393257022e-01, 2.995464802e-01, 3.838865161e-01, 5.073841810e-01, 7.695229053e-01]> : tensor<9xf32>
  %d0 = graph.sub %1, %y0 : tensor<9xf32>
  %a0 = graph.abs %d0 : tensor<9xf32>
  %t0 = graph.constant dense<2.0e-6> : tensor<9xf32>
  %ok0 = graph.compare lt, %a0, %t0 : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  return %ok0 : tensor<9xi1>
}
