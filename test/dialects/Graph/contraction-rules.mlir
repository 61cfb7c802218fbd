// RUN: dist-opt %s --test-op-rules --verify-diagnostics -o /dev/null
// Derivatives and splits of contractions against the evaluator.

// A product of matrices: both free dims pass through, the shared one is summed.
func.func @matmul(%l: tensor<4x6xf64>, %r: tensor<6x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x6xf64>, tensor<6x2xf64>) -> tensor<4x2xf64>
  return
}

// Either operand may come transposed.
func.func @matmul_transposed(%l: tensor<6x4xf64>, %r: tensor<2x6xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<6x4xf64>, tensor<2x6xf64>) -> tensor<4x2xf64>
  return
}

// Batch dims anywhere, in different orders.
func.func @batched(%l: tensor<4x2x3x5xf64>, %r: tensor<2x5x4x6xf64>) {
  // expected-remark @+1 {{rules hold: 4 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 2, 0>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 1>} : (tensor<4x2x3x5xf64>, tensor<2x5x4x6xf64>) -> tensor<4x2x3x6xf64>
  return
}

// Two summed dims, paired crosswise.
func.func @two_contracted(%l: tensor<2x4x3xf64>, %r: tensor<3x5x4xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1, 2>, rhs_contract = array<i64: 2, 0>} : (tensor<2x4x3xf64>, tensor<3x5x4xf64>) -> tensor<2x5xf64>
  return
}

// No summed dim: an outer product.
func.func @outer(%l: tensor<4xf64>, %r: tensor<3xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64>, rhs_contract = array<i64>} : (tensor<4xf64>, tensor<3xf64>) -> tensor<4x3xf64>
  return
}

// No free dim.
func.func @inner(%l: tensor<4xf64>, %r: tensor<4xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
  return
}

// Integers wrap; they have no derivative.
func.func @integers(%l: tensor<4x6xi8>, %r: tensor<6x2xi8>) {
  // expected-remark @+1 {{rules hold: 3 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x6xi8>, tensor<6x2xi8>) -> tensor<4x2xi8>
  return
}

// f16 sums in f32.
func.func @half(%l: tensor<4x6xf16>, %r: tensor<6x2xf16>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 0 derivatives}}
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x6xf16>, tensor<6x2xf16>) -> tensor<4x2xf16>
  return
}

// One spatial dim, strided, padded on one side.
func.func @conv_1d(%x: tensor<2x2x5xf64>, %w: tensor<4x2x3xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<2x2x5xf64>, tensor<4x2x3xf64>) -> tensor<2x4x2xf64>
  return
}

// Channels last with the model's filter layout; uneven pads.
func.func @conv_2d(%x: tensor<2x4x3x2xf64>, %w: tensor<2x2x3x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 2, 1>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x4x3x2xf64>, tensor<2x2x3x2xf64>) -> tensor<2x5x3x2xf64>
  return
}

// Strides that leave a remainder: the last rows are never read.
func.func @conv_strided(%x: tensor<2x2x6x5xf64>, %w: tensor<2x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 3, 2>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "NC01", filter_layout = "01IO", output_layout = "NC01"} : (tensor<2x2x6x5xf64>, tensor<2x2x2x2xf64>) -> tensor<2x2x2x2xf64>
  return
}

// A dilated filter.
func.func @conv_dilated(%x: tensor<2x1x5x6xf64>, %w: tensor<2x1x2x3xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 1>, dilations = array<i64: 3, 2>, groups = 1, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x1x5x6xf64>, tensor<2x1x2x3xf64>) -> tensor<2x2x4x3xf64>
  return
}

// Groups: each sees its own channels, which are split with them.
func.func @conv_grouped(%x: tensor<2x3x3x4xf64>, %w: tensor<6x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 2, input_layout = "N01C", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x3x3x4xf64>, tensor<6x2x2x2xf64>) -> tensor<2x6x3x3xf64>
  return
}

// As many groups as channels.
func.func @conv_depthwise(%x: tensor<2x3x3x4xf64>, %w: tensor<2x2x1x4xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, pad_high = array<i64: 1, 0>, dilations = array<i64: 1, 1>, groups = 4, input_layout = "N01C", filter_layout = "01IO", output_layout = "N01C"} : (tensor<2x3x3x4xf64>, tensor<2x2x1x4xf64>) -> tensor<2x3x3x4xf64>
  return
}

// A filter of one tap: spatial dims pass through.
func.func @conv_pointwise(%x: tensor<2x2x4x4xf64>, %w: tensor<2x4x1x1xf64>) {
  // expected-remark @+1 {{rules hold: 5 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x2x4x4xf64>, tensor<2x4x1x1xf64>) -> tensor<2x2x4x2xf64>
  return
}

// Three spatial dims.
func.func @conv_3d(%x: tensor<1x2x3x2x4xf64>, %w: tensor<2x2x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1, 2>, pad_low = array<i64: 0, 1, 1>, pad_high = array<i64: 1, 0, 1>, dilations = array<i64: 1, 1, 1>, groups = 1, input_layout = "NC012", filter_layout = "OI012", output_layout = "N012C"} : (tensor<1x2x3x2x4xf64>, tensor<2x2x2x2x2xf64>) -> tensor<1x3x2x3x2xf64>
  return
}

// One spatial dim, strided, padded on one side.
func.func @input_grad_1d(%dy: tensor<2x4x2xf64>, %w: tensor<4x2x3xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<2x4x2xf64>, tensor<4x2x3xf64>) -> tensor<2x2x5xf64>
  return
}

// Channels last with the model's filter layout; uneven pads.
func.func @input_grad_2d(%dy: tensor<2x5x3x2xf64>, %w: tensor<2x2x3x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 2, 1>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x5x3x2xf64>, tensor<2x2x3x2xf64>) -> tensor<2x4x3x2xf64>
  return
}

// Strides that leave a remainder: the last rows are never read.
func.func @input_grad_strided(%dy: tensor<2x2x2x2xf64>, %w: tensor<2x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 3, 2>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "NC01", filter_layout = "01IO", output_layout = "NC01"} : (tensor<2x2x2x2xf64>, tensor<2x2x2x2xf64>) -> tensor<2x2x6x5xf64>
  return
}

// A dilated filter.
func.func @input_grad_dilated(%dy: tensor<2x2x4x3xf64>, %w: tensor<2x1x2x3xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 1>, dilations = array<i64: 3, 2>, groups = 1, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x2x4x3xf64>, tensor<2x1x2x3xf64>) -> tensor<2x1x5x6xf64>
  return
}

// Groups: each sees its own channels, which are split with them.
func.func @input_grad_grouped(%dy: tensor<2x6x3x3xf64>, %w: tensor<6x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 2, input_layout = "N01C", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x6x3x3xf64>, tensor<6x2x2x2xf64>) -> tensor<2x3x3x4xf64>
  return
}

// As many groups as channels.
func.func @input_grad_depthwise(%dy: tensor<2x3x3x4xf64>, %w: tensor<2x2x1x4xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, pad_high = array<i64: 1, 0>, dilations = array<i64: 1, 1>, groups = 4, input_layout = "N01C", filter_layout = "01IO", output_layout = "N01C"} : (tensor<2x3x3x4xf64>, tensor<2x2x1x4xf64>) -> tensor<2x3x3x4xf64>
  return
}

// A filter of one tap: spatial dims pass through.
func.func @input_grad_pointwise(%dy: tensor<2x2x4x2xf64>, %w: tensor<2x4x1x1xf64>) {
  // expected-remark @+1 {{rules hold: 5 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x2x4x2xf64>, tensor<2x4x1x1xf64>) -> tensor<2x2x4x4xf64>
  return
}

// Three spatial dims.
func.func @input_grad_3d(%dy: tensor<1x3x2x3x2xf64>, %w: tensor<2x2x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1, 2>, pad_low = array<i64: 0, 1, 1>, pad_high = array<i64: 1, 0, 1>, dilations = array<i64: 1, 1, 1>, groups = 1, input_layout = "NC012", filter_layout = "OI012", output_layout = "N012C"} : (tensor<1x3x2x3x2xf64>, tensor<2x2x2x2x2xf64>) -> tensor<1x2x3x2x4xf64>
  return
}

// One spatial dim, strided, padded on one side.
func.func @filter_grad_1d(%x: tensor<2x2x5xf64>, %dy: tensor<2x4x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 2>, pad_low = array<i64: 1>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<2x2x5xf64>, tensor<2x4x2xf64>) -> tensor<4x2x3xf64>
  return
}

// Channels last with the model's filter layout; uneven pads.
func.func @filter_grad_2d(%x: tensor<2x4x3x2xf64>, %dy: tensor<2x5x3x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 2, 1>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x4x3x2xf64>, tensor<2x5x3x2xf64>) -> tensor<2x2x3x2xf64>
  return
}

// Strides that leave a remainder: the last rows are never read.
func.func @filter_grad_strided(%x: tensor<2x2x6x5xf64>, %dy: tensor<2x2x2x2xf64>) {
  // expected-remark @+1 {{rules hold: 3 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 3, 2>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "NC01", filter_layout = "01IO", output_layout = "NC01"} : (tensor<2x2x6x5xf64>, tensor<2x2x2x2xf64>) -> tensor<2x2x2x2xf64>
  return
}

// A dilated filter.
func.func @filter_grad_dilated(%x: tensor<2x1x5x6xf64>, %dy: tensor<2x2x4x3xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1, 2>, pad_low = array<i64: 1, 2>, pad_high = array<i64: 1, 1>, dilations = array<i64: 3, 2>, groups = 1, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x1x5x6xf64>, tensor<2x2x4x3xf64>) -> tensor<2x1x2x3xf64>
  return
}

// Groups: each sees its own channels, which are split with them.
func.func @filter_grad_grouped(%x: tensor<2x3x3x4xf64>, %dy: tensor<2x6x3x3xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 2, input_layout = "N01C", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x3x3x4xf64>, tensor<2x6x3x3xf64>) -> tensor<6x2x2x2xf64>
  return
}

// As many groups as channels.
func.func @filter_grad_depthwise(%x: tensor<2x3x3x4xf64>, %dy: tensor<2x3x3x4xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, pad_high = array<i64: 1, 0>, dilations = array<i64: 1, 1>, groups = 4, input_layout = "N01C", filter_layout = "01IO", output_layout = "N01C"} : (tensor<2x3x3x4xf64>, tensor<2x3x3x4xf64>) -> tensor<2x2x1x4xf64>
  return
}

// A filter of one tap: spatial dims pass through.
func.func @filter_grad_pointwise(%x: tensor<2x2x4x4xf64>, %dy: tensor<2x2x4x2xf64>) {
  // expected-remark @+1 {{rules hold: 5 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x2x4x4xf64>, tensor<2x2x4x2xf64>) -> tensor<2x4x1x1xf64>
  return
}

// Three spatial dims.
func.func @filter_grad_3d(%x: tensor<1x2x3x2x4xf64>, %dy: tensor<1x3x2x3x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1, 1, 2>, pad_low = array<i64: 0, 1, 1>, pad_high = array<i64: 1, 0, 1>, dilations = array<i64: 1, 1, 1>, groups = 1, input_layout = "NC012", filter_layout = "OI012", output_layout = "N012C"} : (tensor<1x2x3x2x4xf64>, tensor<1x3x2x3x2xf64>) -> tensor<2x2x2x2x2xf64>
  return
}
