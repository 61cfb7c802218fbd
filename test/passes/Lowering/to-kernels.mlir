// RUN: dist-opt %s --graph-to-kernels=threads=2 | FileCheck %s %if avx512 %{ --check-prefixes=CHECK,PACKS %}

// Bias and relu become part of the kernel, the transpose its strides.
// CHECK-LABEL: func.func @dense
// CHECK-SAME: %[[X:.+]]: tensor<8x4xf32>, %[[W:.+]]: tensor<2x4xf32>, %[[B:.+]]: tensor<2xf32>
// CHECK: %[[R:.+]] = rt.library(%[[X]], %[[W]], %[[B]]) {bias, kind = "matmul", memories = [{dims = array<i64: 8, 4>, strides = array<i64: 4, 1>, type = "f32"}, {dims = array<i64: 4, 2>, strides = array<i64: 1, 4>, type = "f32"}, {{.*}}], relu}
// CHECK: return %[[R]]
func.func @dense(%x: tensor<8x4xf32>, %w: tensor<2x4xf32>, %b: tensor<2xf32>) -> tensor<8x2xf32> {
  %t = graph.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %0 = graph.dot_general %x, %t {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<8x2xf32>
  %2 = graph.add %0, %1 : tensor<8x2xf32>
  %3 = graph.relu %2 : tensor<8x2xf32>
  return %3 : tensor<8x2xf32>
}

// A transpose behind a product is where the product writes; by columns, too:
// then the sides change places.
// CHECK-LABEL: func.func @transposed_results
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x3x8x4xf32>, %[[Y:[^:]+]]: tensor<2x3x4x16xf32>
// CHECK: rt.library(%[[X]], %[[Y]]) {kind = "matmul", memories = [{{.+}}, {{.+}}, {dims = array<i64: 2, 3, 8, 16>, strides = array<i64: 384, 16, 48, 1>, type = "f32"}]} : {{.+}} -> tensor<2x8x3x16xf32>
// CHECK: rt.library(%[[Y]], %[[X]]) {kind = "matmul", memories = [{dims = array<i64: 2, 3, 16, 4>, {{.+}}}, {dims = array<i64: 2, 3, 4, 8>, {{.+}}}, {dims = array<i64: 2, 3, 16, 8>, strides = array<i64: 384, 8, 24, 1>, type = "f32"}]} : {{.+}} -> tensor<2x16x3x8xf32>
// CHECK: %[[P:.+]] = rt.library({{.+}} -> tensor<2x3x8x16xf32>
// CHECK: graph.transpose %[[P]]
// CHECK: return
func.func @transposed_results(%x: tensor<2x3x8x4xf32>, %y: tensor<2x3x4x16xf32>) -> (tensor<2x8x3x16xf32>, tensor<2x16x3x8xf32>, tensor<2x8x16x3xf32>) {
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>} : (tensor<2x3x8x4xf32>, tensor<2x3x4x16xf32>) -> tensor<2x3x8x16xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x8x16xf32>) -> tensor<2x8x3x16xf32>
  %2 = graph.dot_general %x, %y {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>} : (tensor<2x3x8x4xf32>, tensor<2x3x4x16xf32>) -> tensor<2x3x8x16xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x3x8x16xf32>) -> tensor<2x16x3x8xf32>
  %4 = graph.dot_general %x, %y {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>} : (tensor<2x3x8x4xf32>, tensor<2x3x4x16xf32>) -> tensor<2x3x8x16xf32>
  %5 = graph.transpose %4 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x8x16xf32>) -> tensor<2x8x16x3xf32>
  return %1, %3, %5 : tensor<2x8x3x16xf32>, tensor<2x16x3x8xf32>, tensor<2x8x16x3xf32>
}

// The library has no kernel for f64 or integers: they stay and are generated.
// CHECK-LABEL: func.func @generated
// CHECK: graph.dot_general
// CHECK: graph.dot_general
// CHECK: return
func.func @generated(%x: tensor<8x4xf64>, %y: tensor<4x2xf64>, %a: tensor<8x4xi32>, %b: tensor<4x2xi32>) -> (tensor<8x2xf64>, tensor<8x2xi32>) {
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf64>, tensor<4x2xf64>) -> tensor<8x2xf64>
  %1 = graph.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xi32>, tensor<4x2xi32>) -> tensor<8x2xi32>
  return %0, %1 : tensor<8x2xf64>, tensor<8x2xi32>
}

// CHECK-LABEL: func.func @convolution
// CHECK: rt.library(%{{.+}}) {{.*}}kind = "conv"
// CHECK: return
func.func @convolution(%x: tensor<2x8x8x16xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<2x6x6x32xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x8x8x16xf32>, tensor<32x16x3x3xf32>) -> tensor<2x6x6x32xf32>
  return %0 : tensor<2x6x6x32xf32>
}

// A weight that the function leaves alone is packed where the library wants a
// layout of its own; one that it changes is read as it is.
graph.variable @w : tensor<512x512xf32> trainable {group = "parameter"} = dense<0.0> : tensor<512x512xf32>
// CHECK-LABEL: func.func @unchanged_weight
// CHECK-SAME: %[[X:.+]]: tensor<64x512xf32>, %[[W:.+]]: tensor<512x512xf32>
// PACKS: %[[P:.+]] = rt.library(%[[W]]) {kind = "reorder", {{.*}}packed_memory = 1 : i64}
// PACKS: rt.library(%[[X]], %[[P]]) {kind = "matmul"
// CHECK: return
func.func @unchanged_weight(%x: tensor<64x512xf32>, %w: tensor<512x512xf32> {graph.role = "variable", graph.variable = @w}) -> tensor<64x512xf32> {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  return %0 : tensor<64x512xf32>
}

// CHECK-LABEL: func.func @changed_weight
// CHECK-NOT: reorder
// CHECK: rt.library(%{{.+}}, %{{.+}}) {kind = "matmul"
func.func @changed_weight(%x: tensor<64x512xf32>, %w: tensor<512x512xf32> {graph.role = "variable", graph.variable = @w}) -> (tensor<64x512xf32>, tensor<512x512xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %1 = graph.neg %w : tensor<512x512xf32>
  return %0, %1 : tensor<64x512xf32>, tensor<512x512xf32>
}
