// RUN: dist-opt %s -split-input-file --graph-channels-last | FileCheck %s

// One transpose in (three channels), none until the flatten, one there.
// CHECK-LABEL: func @cnn
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x3x8x8xf32>, %[[W:[^:]+]]: tensor<4x3x3x3xf32>, %[[B:[^:]+]]: tensor<4xf32>
func.func @cnn(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> tensor<2x36xf32> {
  // CHECK: %[[T:.+]] = graph.transpose %[[X]] {permutation = array<i64: 0, 2, 3, 1>}
  // CHECK: %[[CONV:.+]] = graph.conv %[[T]], %[[W]]
  // CHECK-SAME: filter_layout = "OI01"
  // CHECK-SAME: input_layout = "N01C"
  // CHECK-SAME: output_layout = "N01C"
  // CHECK-SAME: -> tensor<2x6x6x4xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: %[[BIAS:.+]] = graph.broadcast %[[B]] {dims = array<i64: 3>} : (tensor<4xf32>) -> tensor<2x6x6x4xf32>
  %1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: %[[SUM:.+]] = graph.add %[[CONV]], %[[BIAS]]
  %2 = graph.add %0, %1 : tensor<2x4x6x6xf32>
  // CHECK: %[[RELU:.+]] = graph.relu %[[SUM]]
  %3 = graph.relu %2 : tensor<2x4x6x6xf32>
  // CHECK: %[[POOL:.+]], %{{.+}} = graph.max_pool %[[RELU]]
  // CHECK-SAME: strides = array<i64: 1, 2, 2, 1>
  // CHECK-SAME: window = array<i64: 1, 2, 2, 1>
  %4, %i = graph.max_pool %3 {window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<2x4x6x6xf32>) -> (tensor<2x4x3x3xf32>, tensor<2x4x3x3xi32>)
  // CHECK: %[[BACK:.+]] = graph.transpose %[[POOL]] {permutation = array<i64: 0, 3, 1, 2>}
  // CHECK: graph.reshape %[[BACK]]
  %5 = graph.reshape %4 : (tensor<2x4x3x3xf32>) -> tensor<2x36xf32>
  return %5 : tensor<2x36xf32>
}

// -----

// One channel: nothing moves, a reshape is enough. A global pool drops the dims
// whose order changed. The normalization's axis follows.
// CHECK-LABEL: func @one_channel
func.func @one_channel(%x: tensor<2x1x8x8xf32>, %w: tensor<4x1x3x3xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  // CHECK-NOT: graph.transpose
  // CHECK: graph.reshape %{{.+}} : (tensor<2x1x8x8xf32>) -> tensor<2x8x8x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: graph.batch_norm_inference
  // CHECK-SAME: axis = 3
  %1 = graph.batch_norm_inference %0, %s, %s, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: graph.reduce sum, %{{.+}} {dims = array<i64: 1, 2>} : (tensor<2x6x6x4xf32>) -> tensor<2x4xf32>
  %2 = graph.reduce sum, %1 {dims = array<i64: 2, 3>} : (tensor<2x4x6x6xf32>) -> tensor<2x4xf32>
  // CHECK-NOT: graph.transpose
  // CHECK: return
  return %2 : tensor<2x4xf32>
}

// -----

// A residual block: both branches and the scaled gate stay channels-last.
// CHECK-LABEL: func @residual
func.func @residual(%x: tensor<2x4x6x6xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32> {
  // CHECK: graph.transpose %{{.+}} {permutation = array<i64: 0, 2, 3, 1>}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NOT: graph.transpose
  // CHECK: graph.add %{{.+}} : tensor<2x6x6x4xf32>
  %1 = graph.add %0, %x : tensor<2x4x6x6xf32>
  // CHECK: %[[BACK:.+]] = graph.transpose %{{.+}} {permutation = array<i64: 0, 3, 1, 2>}
  // CHECK: return %[[BACK]]
  return %1 : tensor<2x4x6x6xf32>
}

// -----

// Exporters from channels-last frameworks transpose around each convolution.
// CHECK-LABEL: func @exported
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x6x6x4xf32>
func.func @exported(%x: tensor<2x6x6x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<2x6x6x4xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.conv %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %0 = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x6x6x4xf32>) -> tensor<2x4x6x6xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
  return %2 : tensor<2x6x6x4xf32>
}

// -----

// Channels-last and other orders are left alone, and so is a model without
// convolutions.
// CHECK-LABEL: func @left_alone
func.func @left_alone(%x: tensor<2x6x6x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<2x6x6x4xf32> {
  // CHECK-NEXT: graph.conv
  // CHECK-NEXT: graph.relu
  // CHECK-NEXT: return
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x6x6x4xf32>, tensor<4x4x1x1xf32>) -> tensor<2x6x6x4xf32>
  %1 = graph.relu %0 : tensor<2x6x6x4xf32>
  return %1 : tensor<2x6x6x4xf32>
}
