// RUN: dist-opt %s --test-op-rules --verify-diagnostics -o /dev/null
// Derivatives and splits of pools against the evaluator.

// Windows side by side, channels last.
func.func @max_pool_tiles(%x: tensor<2x4x4x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<2x4x4x2xf64>) -> (tensor<2x2x2x2xf64>, tensor<2x2x2x2xi32>)
  return
}

// Overlapping windows with pads.
func.func @max_pool_overlap(%x: tensor<2x2x5x4xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 1, 0>} : (tensor<2x2x5x4xf64>) -> (tensor<2x2x3x4xf64>, tensor<2x2x3x4xi32>)
  return
}

// Strides larger than the window leave elements out.
func.func @max_pool_gaps(%x: tensor<2x7x6xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 1>, strides = array<i64: 1, 3, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 1, 0>, pad_high = array<i64: 0, 1, 0>} : (tensor<2x7x6xf64>) -> (tensor<2x3x3xf64>, tensor<2x3x3xi32>)
  return
}

// A dilated window.
func.func @max_pool_dilated(%x: tensor<1x2x6x7xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 1, 2, 3>, strides = array<i64: 1, 1, 1, 2>, dilations = array<i64: 1, 1, 3, 2>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 0, 2>} : (tensor<1x2x6x7xf64>) -> (tensor<1x2x4x3xf64>, tensor<1x2x4x3xi32>)
  return
}

// Windows side by side, channels last.
func.func @max_pool_grad_tiles(%dy: tensor<2x2x2x2xf64>, %i: tensor<2x2x2x2xi32> {test.range = [0, 3]}) {
  // expected-remark @+1 {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.max_pool_grad %dy, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<2x2x2x2xf64>, tensor<2x2x2x2xi32>) -> tensor<2x4x4x2xf64>
  return
}

// Overlapping windows with pads.
func.func @max_pool_grad_overlap(%dy: tensor<2x2x3x4xf64>, %i: tensor<2x2x3x4xi32> {test.range = [0, 5]}) {
  // expected-remark @+1 {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.max_pool_grad %dy, %i {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 1, 0>} : (tensor<2x2x3x4xf64>, tensor<2x2x3x4xi32>) -> tensor<2x2x5x4xf64>
  return
}

// Strides larger than the window leave elements out.
func.func @max_pool_grad_gaps(%dy: tensor<2x3x3xf64>, %i: tensor<2x3x3xi32> {test.range = [0, 1]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.max_pool_grad %dy, %i {window = array<i64: 1, 2, 1>, strides = array<i64: 1, 3, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 1, 0>, pad_high = array<i64: 0, 1, 0>} : (tensor<2x3x3xf64>, tensor<2x3x3xi32>) -> tensor<2x7x6xf64>
  return
}

// A dilated window.
func.func @max_pool_grad_dilated(%dy: tensor<1x2x4x3xf64>, %i: tensor<1x2x4x3xi32> {test.range = [0, 5]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.max_pool_grad %dy, %i {window = array<i64: 1, 1, 2, 3>, strides = array<i64: 1, 1, 1, 2>, dilations = array<i64: 1, 1, 3, 2>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 0, 2>} : (tensor<1x2x4x3xf64>, tensor<1x2x4x3xi32>) -> tensor<1x2x6x7xf64>
  return
}

// Windows side by side, channels last.
func.func @avg_pool_tiles(%x: tensor<2x4x4x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, count_include_pad = false} : (tensor<2x4x4x2xf64>) -> tensor<2x2x2x2xf64>
  return
}

// Overlapping windows with pads.
func.func @avg_pool_overlap(%x: tensor<2x2x5x4xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 1, 0>, count_include_pad = false} : (tensor<2x2x5x4xf64>) -> tensor<2x2x3x4xf64>
  return
}

// Strides larger than the window leave elements out.
func.func @avg_pool_gaps(%x: tensor<2x7x6xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 2, 1>, strides = array<i64: 1, 3, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 1, 0>, pad_high = array<i64: 0, 1, 0>, count_include_pad = false} : (tensor<2x7x6xf64>) -> tensor<2x3x3xf64>
  return
}

// A dilated window.
func.func @avg_pool_dilated(%x: tensor<1x2x6x7xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 1, 2, 3>, strides = array<i64: 1, 1, 1, 2>, dilations = array<i64: 1, 1, 3, 2>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 0, 2>, count_include_pad = true} : (tensor<1x2x6x7xf64>) -> tensor<1x2x4x3xf64>
  return
}

// Windows side by side, channels last.
func.func @avg_pool_grad_tiles(%dy: tensor<2x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool_grad %dy {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>, count_include_pad = false} : (tensor<2x2x2x2xf64>) -> tensor<2x4x4x2xf64>
  return
}

// Overlapping windows with pads.
func.func @avg_pool_grad_overlap(%dy: tensor<2x2x3x4xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool_grad %dy {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 1, 0>, count_include_pad = false} : (tensor<2x2x3x4xf64>) -> tensor<2x2x5x4xf64>
  return
}

// Strides larger than the window leave elements out.
func.func @avg_pool_grad_gaps(%dy: tensor<2x3x3xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool_grad %dy {window = array<i64: 1, 2, 1>, strides = array<i64: 1, 3, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 1, 0>, pad_high = array<i64: 0, 1, 0>, count_include_pad = false} : (tensor<2x3x3xf64>) -> tensor<2x7x6xf64>
  return
}

// A dilated window.
func.func @avg_pool_grad_dilated(%dy: tensor<1x2x4x3xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool_grad %dy {window = array<i64: 1, 1, 2, 3>, strides = array<i64: 1, 1, 1, 2>, dilations = array<i64: 1, 1, 3, 2>, pad_low = array<i64: 0, 0, 1, 1>, pad_high = array<i64: 0, 0, 0, 2>, count_include_pad = true} : (tensor<1x2x4x3xf64>) -> tensor<1x2x6x7xf64>
  return
}

// A window too large to unroll.
func.func @max_pool_large(%x: tensor<2x9x10xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 6, 7>, strides = array<i64: 1, 3, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 2, 1>, pad_high = array<i64: 0, 1, 0>} : (tensor<2x9x10xf64>) -> (tensor<2x3x3xf64>, tensor<2x3x3xi32>)
  return
}

// Signed integers; padding is never the largest.
func.func @max_pool_i8(%x: tensor<2x4x4xi8>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 2, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 1, 1>, pad_high = array<i64: 0, 1, 1>} : (tensor<2x4x4xi8>) -> (tensor<2x3x3xi8>, tensor<2x3x3xi32>)
  return
}

// Unsigned integers.
func.func @max_pool_ui8(%x: tensor<2x4x4xui8>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 2, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} : (tensor<2x4x4xui8>) -> (tensor<2x2x2xui8>, tensor<2x2x2xi32>)
  return
}

// bf16.
func.func @max_pool_bf16(%x: tensor<2x4x4xbf16>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 2, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} : (tensor<2x4x4xbf16>) -> (tensor<2x2x2xbf16>, tensor<2x2x2xi32>)
  return
}

// Many windows over one element.
func.func @max_pool_grad_large(%dy: tensor<2x7x5xf64>, %i: tensor<2x7x5xi32> {test.range = [0, 41]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.max_pool_grad %dy, %i {window = array<i64: 1, 6, 7>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 2, 1>, pad_high = array<i64: 0, 1, 0>} : (tensor<2x7x5xf64>, tensor<2x7x5xi32>) -> tensor<2x9x10xf64>
  return
}

// A window too large to unroll.
func.func @avg_pool_large(%x: tensor<2x9x10xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 6, 7>, strides = array<i64: 1, 3, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 2, 1>, pad_high = array<i64: 0, 1, 0>, count_include_pad = false} : (tensor<2x9x10xf64>) -> tensor<2x3x3xf64>
  return
}

// Many windows over one element.
func.func @avg_pool_grad_large(%dy: tensor<2x7x5xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.avg_pool_grad %dy {window = array<i64: 1, 6, 7>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 2, 1>, pad_high = array<i64: 0, 1, 0>, count_include_pad = false} : (tensor<2x7x5xf64>) -> tensor<2x9x10xf64>
  return
}

// f16 sums in f32.
func.func @avg_pool_f16(%x: tensor<2x4x4xf16>) {
  // expected-remark @+1 {{rules hold: 1 factors, 1 linear sets, 0 derivatives}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 2, 2>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>, count_include_pad = true} : (tensor<2x4x4xf16>) -> tensor<2x2x2xf16>
  return
}
