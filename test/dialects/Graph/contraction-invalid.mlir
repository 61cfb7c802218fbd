// RUN: dist-opt %s --split-input-file --verify-diagnostics

func.func @dot_general_c1_range(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+2 {{'graph.dot_general' op expected dims of lhs in [0, 2), but got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c1_twice(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+2 {{'graph.dot_general' op expected dim 0 of rhs to be listed once}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c1_count(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+2 {{'graph.dot_general' op expected as many contracting dims of lhs as of rhs, but got 1 and 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c2(%x: tensor<2x3xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+2 {{'graph.dot_general' op expected contracting dims 1 of lhs and 0 of rhs to have equal sizes, but got 3 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x3xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c3(%x: tensor<2x3xf32>, %y: tensor<3x4xf64>) {
  // expected-error @+2 {{'graph.dot_general' op expected operands of one element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x3xf32>, tensor<3x4xf64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_result(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+2 {{'graph.dot_general' op inferred type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @conv_c1_letter(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected input_layout to name 'N', 'C' and the spatial dims from '0' once each for 4 dims, but got "NC0X"}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC0X", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c1_twice(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected filter_layout to name 'O', 'I' and the spatial dims from '0' once each for 4 dims, but got "OO01"}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OO01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c1_rank(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected input and filter with as many spatial dims, but got 2 and 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI0", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c2_entries(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected strides with an entry for each of 2 spatial dims, but got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c2_stride(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected strides of at least 1, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 0>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c2_dilation(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected dilations of at least 1, but got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: -1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c2_pad(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected pad_high of at least 0, but got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, -1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c2_groups(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected groups of at least 1, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 0 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c3_input(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected 8 input channels (4 of the filter x 2 groups), but got 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c3_output(%x: tensor<2x4x5x5xf32>, %y: tensor<6x1x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected groups to divide the 6 output channels, but got 4 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 4 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x1x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected the padded input to be at least as large as the dilated filter in spatial dim 1, but got 6 and 7}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 1>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 3>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_c5(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf16>) {
  // expected-error @+2 {{'graph.conv' op expected operands of one element type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf16>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_result(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op inferred type}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x5x5xf32>
  return
}

// -----

func.func @conv_input_grad_c6(%x: tensor<2x6x4x4xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'graph.conv_input_grad' op expected grad of the conv's result type 'tensor<2x6x3x3xf32>', but got 'tensor<2x6x4x4xf32>'}}
  %0 = graph.conv_input_grad %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x6x4x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x5x5xf32>
  return
}

// -----

func.func @conv_input_grad_c3(%x: tensor<2x6x3x3xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'graph.conv_input_grad' op expected 4 input channels (4 of the filter x 1 groups), but got 3}}
  %0 = graph.conv_input_grad %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x6x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<2x3x5x5xf32>
  return
}

// -----

func.func @conv_filter_grad_c6(%x: tensor<2x4x5x5xf32>, %y: tensor<2x5x3x3xf32>) {
  // expected-error @+1 {{'graph.conv_filter_grad' op expected grad of the conv's result type 'tensor<2x6x3x3xf32>', but got 'tensor<2x5x3x3xf32>'}}
  %0 = graph.conv_filter_grad %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<2x5x3x3xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv_dilation_overflow(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected dilations of at most 16777216, but got 9223372036854775807}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 9223372036854775807>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_groups_overflow(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'graph.conv' op expected 18446744073709551615 input channels (4 of the filter x 9223372036854775807 groups), but got 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 9223372036854775807 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x3x3xf32>
  return
}

// -----

func.func @conv_filter_overflow(%x: tensor<2x4x5x5xf32>, %y: tensor<6x4x3x4611686018427387904xf32>) {
  // expected-error @+2 {{'graph.conv' op expected sizes of the filter of at most 16777216, but got 4611686018427387904}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 16>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<2x4x5x5xf32>, tensor<6x4x3x4611686018427387904xf32>) -> tensor<2x6x3x3xf32>
  return
}
