// RUN: dist-opt %s --test-check-partition | FileCheck %s

// Each function is partitioned as annotated and compared, value by value, with
// the whole one on simulated ranks.
// CHECK: equal
// CHECK-NOT: diverges
// CHECK: module

dist.mesh @mesh ["data"=2, "model"=2]

// CHECK-LABEL: func @column_then_row
func.func @column_then_row(
    %x: tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<6x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
    %w2: tensor<12x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
        tensor<6x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) {
  // One all-reduce forward; the first product needs none.
  // CHECK: graph.dot_general
  // CHECK-NOT: = dist.
  // CHECK: graph.dot_general
  // CHECK: dist.all_reduce
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
  %1 = graph.relu %0 : tensor<8x12xf32>
  %2 = graph.dot_general %1, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %3 = graph.tanh %2 : tensor<8x6xf32>
  %4 = graph.dot_general %3, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<8x12xf32>) -> tensor<6x12xf32>
  return %3, %4 : tensor<8x6xf32>, tensor<6x12xf32>
}

// CHECK-LABEL: func @conv_channels
func.func @conv_channels(
    %x: tensor<4x6x6x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}, {}]>},
    %f1: tensor<4x2x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}, {}]>},
    %f2: tensor<2x4x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}, {}, {}]>})
    -> (tensor<4x1x1x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}, {}]>},
        tensor<2x4x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
        tensor<4x6x6x2xf32>) {
  // Output channels split, then the same as input channels, then the filter's
  // gradient, which sums over the batch.
  %0 = graph.conv %x, %f1 {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<4x6x6x2xf32>, tensor<4x2x3x3xf32>) -> tensor<4x4x4x4xf32>
  %r = graph.relu %0 : tensor<4x4x4x4xf32>
  %1 = graph.conv %r, %f2 {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<4x4x4x4xf32>, tensor<2x4x3x3xf32>) -> tensor<4x2x2x2xf32>
  %p, %i = graph.max_pool %1 {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<4x2x2x2xf32>) -> (tensor<4x1x1x2xf32>, tensor<4x1x1x2xi32>)
  %g = graph.max_pool_grad %p, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<4x1x1x2xf32>, tensor<4x1x1x2xi32>) -> tensor<4x2x2x2xf32>
  // CHECK: graph.conv_filter_grad
  %fg = graph.conv_filter_grad %r, %g {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<4x4x4x4xf32>, tensor<4x2x2x2xf32>) -> tensor<2x4x3x3xf32>
  %rg = graph.conv_input_grad %g, %f2 {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<4x2x2x2xf32>, tensor<2x4x3x3xf32>) -> tensor<4x4x4x4xf32>
  %xg = graph.conv_input_grad %rg, %f1 {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<4x4x4x4xf32>, tensor<4x2x3x3xf32>) -> tensor<4x6x6x2xf32>
  return %p, %fg, %xg : tensor<4x1x1x2xf32>, tensor<2x4x3x3xf32>, tensor<4x6x6x2xf32>
}

// Statistics of each replica: groups follow the split of the batch.
// CHECK-LABEL: func @batch_norm
func.func @batch_norm(
    %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %s: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %b: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<8x4xf32>, tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  // CHECK: graph.batch_norm {{.*}}groups = 1
  // CHECK-NOT: = dist.
  // CHECK: return
  %y, %mean, %variance, %count = graph.batch_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3, groups = 2 : i64} : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>)
  return %y, %mean : tensor<8x4xf32>, tensor<2x4xf32>
}

// The loss, and its gradient through a one-hot encoding.
// CHECK-LABEL: func @loss
func.func @loss(
    %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>},
    %labels: tensor<8xi32> {graph.role = "label", dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
    %mask: tensor<8xi1> {graph.role = "mask", dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
    %count: tensor<f32> {graph.role = "count", dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  %0 = graph.cross_entropy %x, %labels : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8xf32>
  %zero = graph.constant dense<0.0> : tensor<8xf32>
  %1 = graph.select %mask, %0, %zero : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.reduce sum, %1 {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
  %3 = graph.div %2, %count : tensor<f32>
  return %3 : tensor<f32>
}

// An embedding and its gradient.
// CHECK-LABEL: func @embedding
func.func @embedding(
    %table: tensor<10x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
    %ids: tensor<8xi64> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<8x4xf32>, tensor<10x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = graph.gather %table, %ids {axis = 0 : i64} : (tensor<10x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %zero = graph.constant dense<0.0> : tensor<10x4xf32>
  %1 = graph.scatter_add %zero, %ids, %0 {axis = 0 : i64} : (tensor<10x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<10x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<10x4xf32>
}

// Attention heads: batched products, a merged dim, a maximum over a split dim.
// CHECK-LABEL: func @heads
func.func @heads(
    %q: tensor<4x4x6x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}, {}, {}]>},
    %k: tensor<4x4x6x2xf32>)
    -> (tensor<4x6x8xf32>, tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = graph.dot_general %q, %k {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 3>} : (tensor<4x4x6x2xf32>, tensor<4x4x6x2xf32>) -> tensor<4x4x6x6xf32>
  %1 = graph.softmax %0 {axis = 3 : i64} : tensor<4x4x6x6xf32>
  %2 = graph.dot_general %1, %k {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>} : (tensor<4x4x6x6xf32>, tensor<4x4x6x2xf32>) -> tensor<4x4x6x2xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<4x4x6x2xf32>) -> tensor<4x6x4x2xf32>
  %4 = graph.reshape %3 : (tensor<4x6x4x2xf32>) -> tensor<4x6x8xf32>
  // CHECK: graph.reduce max
  // CHECK: dist.all_reduce {{.*}} by max
  %5 = graph.reduce max, %4 {dims = array<i64: 0, 2>} : (tensor<4x6x8xf32>) -> tensor<6xf32>
  return %4, %5 : tensor<4x6x8xf32>, tensor<6xf32>
}

// Layouts that must change: a dim moves, dims are joined and cut.
// CHECK-LABEL: func @layouts
func.func @layouts(
    %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}, {}]>},
    %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model", "data"}]>},
        tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
        tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %0 = graph.add %x, %y : tensor<8x4xf32>
  %1 = graph.concat %x, %y {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %2 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<16x4xf32>, tensor<4xf32>
}
