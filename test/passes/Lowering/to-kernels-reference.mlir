// The library's plain loops run only where it has nothing else in f32 either. It
// is held to what it has on any machine with AVX-512, or less.
// RUN: env ONEDNN_MAX_CPU_ISA=AVX512_CORE dist-opt %s --graph-to-kernels=threads=2 | FileCheck %s
// RUN: env ONEDNN_MAX_CPU_ISA=AVX512_CORE dist-opt %s --graph-to-kernels="threads=2 widen=false" | FileCheck %s --check-prefix=AS-IS

// The window reaches beyond the pads: in bf16 there are but plain loops.
// CHECK-LABEL: func.func @narrow_input_grad
// CHECK-SAME: %[[G:.+]]: tensor<2x15x15x1xbf16>, %[[W:.+]]: tensor<1x16x3x3xbf16>
// CHECK-DAG: %[[WIDE_G:.+]] = graph.convert %[[G]] : (tensor<2x15x15x1xbf16>) -> tensor<2x15x15x1xf32>
// CHECK-DAG: %[[WIDE_W:.+]] = graph.convert %[[W]] : (tensor<1x16x3x3xbf16>) -> tensor<1x16x3x3xf32>
// CHECK: %[[X:.+]] = rt.library(%[[WIDE_G]], {{.+}}) {{.+}}kind = "conv_input_grad"
// CHECK-NOT: reference
// CHECK: graph.convert %[[X]] : (tensor<2x9x9x16xf32>) -> tensor<2x9x9x16xbf16>
// CHECK: return
// AS-IS-LABEL: func.func @narrow_input_grad
// AS-IS-NOT: graph.convert
// AS-IS: return
func.func @narrow_input_grad(%g: tensor<2x15x15x1xbf16>, %w: tensor<1x16x3x3xbf16>) -> tensor<2x9x9x16xbf16> {
  %0 = graph.conv_input_grad %g, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 4, 4>, pad_high = array<i64: 4, 4>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x15x15x1xbf16>, tensor<1x16x3x3xbf16>) -> tensor<2x9x9x16xbf16>
  return %0 : tensor<2x9x9x16xbf16>
}

// In f16 there is nothing at all.
// CHECK-LABEL: func.func @no_filter_grad
// CHECK: rt.library({{.+}}) {{.+}}kind = "conv_filter_grad"{{.+}}type = "f32"
// CHECK: graph.convert {{.+}} -> tensor<8x4x3x3xf16>
// AS-IS-LABEL: func.func @no_filter_grad
// AS-IS: graph.conv_filter_grad {{.+}} -> tensor<8x4x3x3xf16>
func.func @no_filter_grad(%x: tensor<2x8x8x4xf16>, %g: tensor<2x3x3x8xf16>) -> tensor<8x4x3x3xf16> {
  %0 = graph.conv_filter_grad %x, %g {strides = array<i64: 2, 2>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x8x8x4xf16>, tensor<2x3x3x8xf16>) -> tensor<8x4x3x3xf16>
  return %0 : tensor<8x4x3x3xf16>
}

// CHECK-LABEL: func.func @no_product
// CHECK: rt.library({{.+}}) {kind = "matmul"{{.+}}type = "f32"
// CHECK: graph.convert {{.+}} -> tensor<8x2xf16>
// AS-IS-LABEL: func.func @no_product
// AS-IS: graph.dot_general {{.+}} -> tensor<8x2xf16>
func.func @no_product(%x: tensor<8x4xf16>, %w: tensor<4x2xf16>) -> tensor<8x2xf16> {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf16>, tensor<4x2xf16>) -> tensor<8x2xf16>
  return %0 : tensor<8x2xf16>
}

// Many matrices with a vector each: it has more than plain loops where the vector is the left one.
// CHECK-LABEL: func.func @vectors
// CHECK: rt.library({{.+}}) {kind = "matmul", memories = [{{.*}}dims = array<i64: 3, 1, 16>{{.+}}dims = array<i64: 3, 16, 64>{{.+}}dims = array<i64: 3, 1, 64>
// CHECK-NOT: reference
// CHECK: return
func.func @vectors(%x: tensor<3x64x16xf32>, %v: tensor<3x16x1xf32>) -> tensor<3x64x1xf32> {
  %0 = graph.dot_general %x, %v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<3x64x16xf32>, tensor<3x16x1xf32>) -> tensor<3x64x1xf32>
  return %0 : tensor<3x64x1xf32>
}

// Of three dims there are but plain loops in f32, too: that is said.
// CHECK-LABEL: func.func @reference
// CHECK-NOT: graph.convert
// CHECK: rt.library({{.+}}) {{.+}}kind = "conv_input_grad"{{.+}}reference
// CHECK: return
func.func @reference(%g: tensor<2x15x15x15x1xf32>, %w: tensor<1x16x3x3x3xf32>) -> tensor<2x9x9x9x16xf32> {
  %0 = graph.conv_input_grad %g, %w {strides = array<i64: 1, 1, 1>, pad_low = array<i64: 4, 4, 4>, pad_high = array<i64: 4, 4, 4>, dilations = array<i64: 1, 1, 1>, groups = 1 : i64, input_layout = "N012C", filter_layout = "OI012", output_layout = "N012C"} : (tensor<2x15x15x15x1xf32>, tensor<1x16x3x3x3xf32>) -> tensor<2x9x9x9x16xf32>
  return %0 : tensor<2x9x9x9x16xf32>
}

// What the library is fast at stays.
// CHECK-LABEL: func.func @fast
// CHECK: rt.library(
// CHECK-NOT: reference
// CHECK: return
func.func @fast(%g: tensor<2x6x6x16xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<2x8x8x16xf32> {
  %0 = graph.conv_input_grad %g, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x6x6x16xf32>, tensor<16x16x3x3xf32>) -> tensor<2x8x8x16xf32>
  return %0 : tensor<2x8x8x16xf32>
}
