// A convolution of one dim with a filter a channel is the library's of two dims,
// where it has a kernel for such; else it stays one of one dim.
// RUN: env ONEDNN_MAX_CPU_ISA=AVX512_CORE dist-opt %s --graph-to-kernels=threads=2 | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK: rt.library({{.+}}) {dilations = array<i64: 1, 1>, groups = 32 : i64, kind = "conv", memories = [{dims = array<i64: 2, 32, 64, 1>, strides = array<i64: 2048, 1, 32, 32>
// CHECK-SAME: pad_high = array<i64: 1, 0>, pad_low = array<i64: 1, 0>, strides = array<i64: 1, 1>
func.func @forward(%x: tensor<2x64x32xf32>, %w: tensor<32x1x3xf32>) -> tensor<2x64x32xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, dilations = array<i64: 1>, groups = 32 : i64, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<2x64x32xf32>, tensor<32x1x3xf32>) -> tensor<2x64x32xf32>
  return %0 : tensor<2x64x32xf32>
}

// CHECK-LABEL: func.func @input_grad
// CHECK: kind = "conv_input_grad", memories = [{dims = array<i64: 2, 32, 64, 1>
func.func @input_grad(%g: tensor<2x64x32xf32>, %w: tensor<32x1x3xf32>) -> tensor<2x64x32xf32> {
  %0 = graph.conv_input_grad %g, %w {strides = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, dilations = array<i64: 1>, groups = 32 : i64, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<2x64x32xf32>, tensor<32x1x3xf32>) -> tensor<2x64x32xf32>
  return %0 : tensor<2x64x32xf32>
}

// CHECK-LABEL: func.func @filter_grad
// CHECK: kind = "conv_filter_grad", memories = [{dims = array<i64: 2, 32, 64, 1>
func.func @filter_grad(%x: tensor<2x64x32xf32>, %g: tensor<2x64x32xf32>) -> tensor<32x1x3xf32> {
  %0 = graph.conv_filter_grad %x, %g {strides = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, dilations = array<i64: 1>, groups = 32 : i64, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<32x1x3xf32>
  return %0 : tensor<32x1x3xf32>
}

// Two filters a channel.
// CHECK-LABEL: func.func @two_each
// CHECK: kind = "conv", memories = [{dims = array<i64: 2, 32, 64>
func.func @two_each(%x: tensor<2x64x32xf32>, %w: tensor<64x1x3xf32>) -> tensor<2x64x64xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, dilations = array<i64: 1>, groups = 32 : i64, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<2x64x32xf32>, tensor<64x1x3xf32>) -> tensor<2x64x64xf32>
  return %0 : tensor<2x64x64xf32>
}

// Pads as wide as a window that looks back alone has: for these gradients the kernel is of one dim.
// CHECK-LABEL: func.func @back
// CHECK: kind = "conv_filter_grad", memories = [{dims = array<i64: 2, 32, 64>
func.func @back(%x: tensor<2x64x32xf32>, %g: tensor<2x67x32xf32>) -> tensor<32x1x4xf32> {
  %0 = graph.conv_filter_grad %x, %g {strides = array<i64: 1>, pad_low = array<i64: 3>, pad_high = array<i64: 3>, dilations = array<i64: 1>, groups = 32 : i64, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<2x64x32xf32>, tensor<2x67x32xf32>) -> tensor<32x1x4xf32>
  return %0 : tensor<32x1x4xf32>
}
