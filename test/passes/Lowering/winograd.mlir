// RUN: dist-opt %s --split-input-file --graph-to-kernels="threads=2 vector-bits=512" | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: dist-opt %s --split-input-file --graph-to-kernels="threads=2 vector-bits=512 convolution=winograd" | FileCheck %s --check-prefixes=CHECK,WINOGRAD
// RUN: dist-opt %s --split-input-file --graph-to-kernels="threads=2 vector-bits=512 convolution=direct" | FileCheck %s --check-prefixes=DIRECT
// RUN: dist-opt %s --split-input-file --graph-to-kernels="threads=2 vector-bits=256 convolution=winograd" | FileCheck %s --check-prefixes=AVX2
// RUN: dist-opt %s --split-input-file --graph-to-kernels="threads=2 vector-bits=512 narrow-speed=2" | FileCheck %s --check-prefixes=CHECK,SLOW
// The library of a CPU that has no bf16 is not asked, however fast it were.
// RUN: %if avx512 %{ dist-opt %s --split-input-file --graph-to-kernels="threads=2 vector-bits=512 narrow-speed=8" | FileCheck %s --check-prefixes=CHECK,FAST %}
// RUN: not dist-opt %s --split-input-file --graph-to-kernels=convolution=fast 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: expected convolution to be auto, direct or winograd, but got fast

// Bias and relu are the kernel's; the block of 32 tiles times 64 channels and
// its products are its scratch, one a chunk.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:.+]]: tensor<8x32x32x64xf32>, %[[W:.+]]: tensor<64x64x3x3xf32>, %[[B:.+]]: tensor<64xf32>
// CHECK-NEXT: %[[U:.+]] = rt.fused(%[[W]]) domain [4] row_dims 1 chunks 2 : (tensor<64x64x3x3xf32>) -> tensor<36x1x64x64xf32> {
// CHECK-NEXT: ^bb0(%[[FILTER:.+]]: tensor<64x64x3x3xf32>):
// CHECK-NEXT: %[[T:.+]] = rt.winograd_filter %[[FILTER]] {lanes = 16 : i64, strides = array<i64: 576, 9, 3, 1>}
// CHECK-NEXT: rt.yield %[[T]]
// CHECK: %[[Y:.+]]:2 = rt.fused(%[[X]], %[[U]], %[[B]]) domain [16] row_dims 1 chunks 2
// CHECK-SAME: -> (tensor<8x32x32x64xf32>, tensor<2x148608xf32>)
// CHECK: rt.winograd %{{.+}}, %{{.+}}, %{{.+}} {lanes = 16 : i64, pad_low = array<i64: 1, 1>, relu, tiles = 32 : i64}
// CHECK: return %[[Y]]#0
// DIRECT-LABEL: func.func @forward
// DIRECT-NOT: rt.fused
// DIRECT: rt.library({{.*}}kind = "conv"
// AVX2-LABEL: func.func @forward
// AVX2: rt.winograd_filter {{.*}}lanes = 8 : i64{{.*}} -> tensor<36x4x64x16xf32>
func.func @forward(%x: tensor<8x32x32x64xf32>, %w: tensor<64x64x3x3xf32>, %b: tensor<64xf32>) -> tensor<8x32x32x64xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x32x32x64xf32>, tensor<64x64x3x3xf32>) -> tensor<8x32x32x64xf32>
  %1 = graph.broadcast %b {dims = array<i64: 3>} : (tensor<64xf32>) -> tensor<8x32x32x64xf32>
  %2 = graph.add %0, %1 : tensor<8x32x32x64xf32>
  %3 = graph.relu %2 : tensor<8x32x32x64xf32>
  return %3 : tensor<8x32x32x64xf32>
}

// -----

// The gradient is the convolution with the turned filter, whose input channels
// are the output's; the low pad is what is left of 2.
// CHECK-LABEL: func.func @gradient
// CHECK: rt.winograd_filter %{{.+}} {lanes = 16 : i64, rotate, strides = array<i64: 9, 576, 3, 1>} : (tensor<128x64x3x3xf32>) -> tensor<36x1x128x64xf32>
// CHECK: rt.winograd %{{.+}}, %{{.+}} {lanes = 16 : i64, pad_low = array<i64: 2, 2>, tiles = 32 : i64}
// CHECK-SAME: (tensor<8x30x30x128xf32>, tensor<36x1x128x64xf32>) -> (tensor<8x32x32x64xf32>
// DIRECT-LABEL: func.func @gradient
// DIRECT: rt.library({{.*}}kind = "conv_input_grad"
func.func @gradient(%g: tensor<8x30x30x128xf32>, %w: tensor<128x64x3x3xf32>) -> tensor<8x32x32x64xf32> {
  %0 = graph.conv_input_grad %g, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x30x30x128xf32>, tensor<128x64x3x3xf32>) -> tensor<8x32x32x64xf32>
  return %0 : tensor<8x32x32x64xf32>
}

// -----

// Each chunk has sums of its own over its tiles; they are added up in order.
// CHECK-LABEL: func.func @filter_gradient
// CHECK-SAME: %[[X:.+]]: tensor<8x32x32x64xf32>, %[[G:.+]]: tensor<8x30x30x128xf32>
// CHECK: %[[S:.+]]:2 = rt.fused(%[[X]], %[[G]]) domain [16] row_dims 1 chunks 2
// CHECK-SAME: -> (tensor<2x36x64x128xf32>, tensor<2x222336xf32>)
// CHECK: rt.winograd_products %{{.+}}, %{{.+}} {columns = 64 : i64, lanes = 16 : i64, pad_low = array<i64: 0, 0>, tiles = 32 : i64}
// CHECK: rt.fused(%[[S]]#0) domain [64] row_dims 1 chunks 2
// CHECK: rt.winograd_filter_grad %{{.+}} {lanes = 16 : i64, strides = array<i64: 576, 9, 3, 1>} : (tensor<2x36x64x128xf32>) -> tensor<128x64x3x3xf32>
// DIRECT-LABEL: func.func @filter_gradient
// DIRECT: rt.library({{.*}}kind = "conv_filter_grad"
func.func @filter_gradient(%x: tensor<8x32x32x64xf32>, %g: tensor<8x30x30x128xf32>) -> tensor<128x64x3x3xf32> {
  %0 = graph.conv_filter_grad %x, %g {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x32x32x64xf32>, tensor<8x30x30x128xf32>) -> tensor<128x64x3x3xf32>
  return %0 : tensor<128x64x3x3xf32>
}

// -----

// Few tiles: in a step, the filter's factors would be written to be read once or
// twice. They are made as they are read, panel by panel, and so are the sums of
// its gradient, whose rows are panels of input channels.
// CHECK-LABEL: func.func @few_tiles
// CHECK-SAME: %[[X:.+]]: tensor<8x4x4x512xf32>, %[[G:.+]]: tensor<8x4x4x512xf32>, %[[W:.+]]: tensor<512x512x3x3xf32>, %[[B:.+]]: tensor<512xf32>
// CHECK-NEXT: rt.fused(%[[X]], %[[W]], %[[B]]) domain [2] row_dims 1 chunks 2 : {{.*}} -> (tensor<8x4x4x512xf32>, tensor<2x158400xf32>)
// CHECK: rt.winograd_panels %{{.+}}, %{{.+}}, %{{.+}} {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, relu, strides = array<i64: 4608, 9, 3, 1>, tiles = 4 : i64}
// CHECK: rt.fused(%[[G]], %[[W]]) domain [2] row_dims 1 chunks 2
// CHECK: rt.winograd_panels %{{.+}}, %{{.+}} {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, rotate, strides = array<i64: 9, 4608, 3, 1>, tiles = 4 : i64}
// CHECK: rt.fused(%[[X]], %[[G]]) domain [16] row_dims 1 chunks 2 : {{.*}} -> (tensor<512x512x3x3xf32>, tensor<2x232128xf32>)
// CHECK: rt.winograd_panels_grad %{{.+}}, %{{.+}} {columns = 64 : i64, depth = 32 : i64, lanes = 16 : i64, pad_low = array<i64: 1, 1>, strides = array<i64: 4608, 9, 3, 1>, tiles = 8 : i64}
// DIRECT-LABEL: func.func @few_tiles
// DIRECT-NOT: rt.fused
func.func @few_tiles(%x: tensor<8x4x4x512xf32>, %g: tensor<8x4x4x512xf32>, %w: tensor<512x512x3x3xf32>, %b: tensor<512xf32>) -> (tensor<8x4x4x512xf32>, tensor<8x4x4x512xf32>, tensor<512x512x3x3xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x4x4x512xf32>, tensor<512x512x3x3xf32>) -> tensor<8x4x4x512xf32>
  %1 = graph.broadcast %b {dims = array<i64: 3>} : (tensor<512xf32>) -> tensor<8x4x4x512xf32>
  %2 = graph.add %0, %1 : tensor<8x4x4x512xf32>
  %3 = graph.relu %2 : tensor<8x4x4x512xf32>
  %4 = graph.conv_input_grad %g, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x4x4x512xf32>, tensor<512x512x3x3xf32>) -> tensor<8x4x4x512xf32>
  %5 = graph.conv_filter_grad %x, %g {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x4x4x512xf32>, tensor<8x4x4x512xf32>) -> tensor<512x512x3x3xf32>
  return %3, %4, %5 : tensor<8x4x4x512xf32>, tensor<8x4x4x512xf32>, tensor<512x512x3x3xf32>
}

// -----

// What is prepared once is read from memory, whole for each block of tiles: that
// is worth it for 32 images, not for one, whose only block leaves a thread idle.
graph.variable @w : tensor<512x512x3x3xf32> trainable {group = "parameter"} = dense<0.0> : tensor<512x512x3x3xf32>
// CHECK-LABEL: func.func @prepared
// CHECK: rt.winograd %
// AUTO: rt.library({{.*}}kind = "conv"
// WINOGRAD: rt.winograd %
func.func @prepared(%x: tensor<32x4x4x512xf32>, %one: tensor<1x4x4x512xf32>, %w: tensor<512x512x3x3xf32> {graph.role = "variable", graph.variable = @w}) -> (tensor<32x4x4x512xf32>, tensor<1x4x4x512xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<32x4x4x512xf32>, tensor<512x512x3x3xf32>) -> tensor<32x4x4x512xf32>
  %1 = graph.conv %one, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<1x4x4x512xf32>, tensor<512x512x3x3xf32>) -> tensor<1x4x4x512xf32>
  return %0, %1 : tensor<32x4x4x512xf32>, tensor<1x4x4x512xf32>
}

// -----

// Few channels leave too little to gain, 8 fill no vector.
// CHECK-LABEL: func.func @few_channels
// AUTO: rt.library({{.*}}kind = "conv"
// WINOGRAD: rt.winograd_filter {{.*}} -> tensor<36x1x32x32xf32>
// WINOGRAD: rt.winograd %
// CHECK: rt.library({{.*}}kind = "conv"
// AVX2-LABEL: func.func @few_channels
// AVX2: rt.winograd_filter {{.*}} -> tensor<36x2x32x16xf32>
// AVX2: rt.winograd_filter {{.*}} -> tensor<36x1x32x8xf32>
func.func @few_channels(%x: tensor<8x32x32x32xf32>, %w: tensor<32x32x3x3xf32>, %v: tensor<8x32x3x3xf32>) -> (tensor<8x32x32x32xf32>, tensor<8x32x32x8xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x32x32x32xf32>, tensor<32x32x3x3xf32>) -> tensor<8x32x32x32xf32>
  %1 = graph.conv %x, %v {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x32x32x32xf32>, tensor<8x32x3x3xf32>) -> tensor<8x32x32x8xf32>
  return %0, %1 : tensor<8x32x32x32xf32>, tensor<8x32x32x8xf32>
}

// -----

// Strides, dilations, other windows and layouts have other kernels.
// CHECK-LABEL: func.func @other
// CHECK-NOT: rt.winograd
// CHECK: return
func.func @other(%x: tensor<8x32x32x64xf32>, %c: tensor<8x64x32x32xf32>, %w: tensor<64x64x3x3xf32>, %n: tensor<64x64x5x5xf32>) -> (tensor<8x16x16x64xf32>, tensor<8x28x28x64xf32>, tensor<8x28x28x64xf32>, tensor<8x64x30x30xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x32x32x64xf32>, tensor<64x64x3x3xf32>) -> tensor<8x16x16x64xf32>
  %1 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 2, 2>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x32x32x64xf32>, tensor<64x64x3x3xf32>) -> tensor<8x28x28x64xf32>
  %2 = graph.conv %x, %n {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x32x32x64xf32>, tensor<64x64x5x5xf32>) -> tensor<8x28x28x64xf32>
  %3 = graph.conv %c, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<8x64x32x32xf32>, tensor<64x64x3x3xf32>) -> tensor<8x64x30x30xf32>
  return %0, %1, %2, %3 : tensor<8x16x16x64xf32>, tensor<8x28x28x64xf32>, tensor<8x28x28x64xf32>, tensor<8x64x30x30xf32>
}

// -----

// Narrow images are read and written as they are, the arithmetic between is
// f32: faster than a library that multiplies bf16 twice as fast as f32, slower
// than one that has tiles of registers for it.
// CHECK-LABEL: func.func @narrow
// SLOW: rt.winograd_filter %{{.+}} : (tensor<128x128x3x3xbf16>) -> tensor<36x2x128x64xf32>
// SLOW: rt.winograd %{{.+}} : (tensor<32x16x16x128xbf16>, tensor<36x2x128x64xf32>) -> (tensor<32x16x16x128xbf16>, tensor<222336xf32>)
// SLOW: rt.winograd_filter %{{.+}}rotate
// SLOW: rt.winograd_products %{{.+}} : (tensor<32x16x16x128xbf16>, tensor<32x16x16x128xbf16>) -> (tensor<36x128x128xf32>
// SLOW: rt.winograd_filter_grad %{{.+}} -> tensor<128x128x3x3xbf16>
// FAST-NOT: rt.winograd
// FAST: rt.library({{.*}}kind = "conv_filter_grad"
// WINOGRAD: rt.winograd %
func.func @narrow(%x: tensor<32x16x16x128xbf16>, %w: tensor<128x128x3x3xbf16>, %g: tensor<32x16x16x128xbf16>) -> (tensor<32x16x16x128xbf16>, tensor<32x16x16x128xbf16>, tensor<128x128x3x3xbf16>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<32x16x16x128xbf16>, tensor<128x128x3x3xbf16>) -> tensor<32x16x16x128xbf16>
  %1 = graph.conv_input_grad %g, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<32x16x16x128xbf16>, tensor<128x128x3x3xbf16>) -> tensor<32x16x16x128xbf16>
  %2 = graph.conv_filter_grad %x, %g {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<32x16x16x128xbf16>, tensor<32x16x16x128xbf16>) -> tensor<128x128x3x3xbf16>
  return %0, %1, %2 : tensor<32x16x16x128xbf16>, tensor<32x16x16x128xbf16>, tensor<128x128x3x3xbf16>
}

// -----

// From 32 channels on, a prediction of one image, too: the weights' factors are
// made once.
// AUTO-LABEL: func.func @few_channels
// AUTO: rt.winograd_filter {{.+}} -> tensor<36x1x32x64xf32>
// AUTO: rt.winograd %{{.+}}, %{{.+}} {lanes = 16 : i64, pad_low = array<i64: 0, 0>, tiles = 8 : i64}
// DIRECT-LABEL: func.func @few_channels
// DIRECT: rt.library({{.*}}kind = "conv"
func.func @few_channels(%x: tensor<1x13x13x32xf32>, %w: tensor<64x32x3x3xf32> {graph.role = "variable", graph.variable = @w}) -> tensor<1x11x11x64xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<1x13x13x32xf32>, tensor<64x32x3x3xf32>) -> tensor<1x11x11x64xf32>
  return %0 : tensor<1x11x11x64xf32>
}
graph.variable @w : tensor<64x32x3x3xf32> trainable = dense<0.0> : tensor<64x32x3x3xf32>

// -----

// Fewer are not measured.
// AUTO-LABEL: func.func @fewer_channels
// AUTO: rt.library({{.*}}kind = "conv"
func.func @fewer_channels(%x: tensor<8x28x28x16xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<8x26x26x16xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x28x28x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x26x26x16xf32>
  return %0 : tensor<8x26x26x16xf32>
}
