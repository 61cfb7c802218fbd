// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// CHECK-LABEL: func @dot_general
func.func @dot_general(%x: tensor<32x784xf32>, %w: tensor<784x10xf32>) -> tensor<32x10xf32> {
  // CHECK: graph.dot_general %{{.+}}, %{{.+}} {{{.*}}lhs_contract = array<i64: 1>{{.*}}rhs_contract = array<i64: 0>} : (tensor<32x784xf32>, tensor<784x10xf32>) -> tensor<32x10xf32>
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x784xf32>, tensor<784x10xf32>) -> tensor<32x10xf32>
  return %0 : tensor<32x10xf32>
}

// Batch dims come first, in the order of lhs_batch.
// CHECK-LABEL: func @dot_general_batch
func.func @dot_general_batch(%x: tensor<4x2x3x5xf32>, %y: tensor<2x5x4x6xf32>) -> tensor<4x2x3x6xf32> {
  // CHECK: graph.dot_general {{.*}} -> tensor<4x2x3x6xf32>
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 2, 0>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 1>} : (tensor<4x2x3x5xf32>, tensor<2x5x4x6xf32>) -> tensor<4x2x3x6xf32>
  return %0 : tensor<4x2x3x6xf32>
}

// CHECK-LABEL: func @conv
func.func @conv(%x: tensor<8x28x28x3xf32>, %w: tensor<16x3x3x3xf32>) -> tensor<8x14x14x16xf32> {
  // CHECK: graph.conv %{{.+}}, %{{.+}} {{{.*}}filter_layout = "OI01"{{.*}}} : (tensor<8x28x28x3xf32>, tensor<16x3x3x3xf32>) -> tensor<8x14x14x16xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<8x28x28x3xf32>, tensor<16x3x3x3xf32>) -> tensor<8x14x14x16xf32>
  return %0 : tensor<8x14x14x16xf32>
}

// The size that the stride loses is the result type's to say.
// CHECK-LABEL: func @conv_input_grad
func.func @conv_input_grad(%dy: tensor<8x16x14x14xf32>, %w: tensor<16x3x3x3xf32>) -> tensor<8x3x28x28xf32> {
  // CHECK: graph.conv_input_grad {{.*}} : (tensor<8x16x14x14xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x28x28xf32>
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 2, 2>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "NC01", filter_layout = "OI01", output_layout = "NC01"} : (tensor<8x16x14x14xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x28x28xf32>
  return %0 : tensor<8x3x28x28xf32>
}

// CHECK-LABEL: func @conv_filter_grad
func.func @conv_filter_grad(%x: tensor<8x3x28xf32>, %dy: tensor<8x16x26xf32>) -> tensor<16x3x3xf32> {
  // CHECK: graph.conv_filter_grad {{.*}} : (tensor<8x3x28xf32>, tensor<8x16x26xf32>) -> tensor<16x3x3xf32>
  %0 = graph.conv_filter_grad %x, %dy {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<8x3x28xf32>, tensor<8x16x26xf32>) -> tensor<16x3x3xf32>
  return %0 : tensor<16x3x3xf32>
}
