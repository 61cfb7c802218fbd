// Channels of convolutions in groups are split group by group, without a gather,
// also of the gradients.
// RUN: dist-opt %s --test-check-partition | FileCheck %s
// CHECK: equal
// CHECK: @depthwise: {{[1-9][0-9]*}} values compared
// CHECK: @grouped: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
dist.mesh @mesh ["model"=2]

// CHECK-LABEL: func @depthwise
// CHECK-NOT: dist.all_
// CHECK: graph.conv {{.*}}groups = 2
// CHECK: graph.conv_input_grad {{.*}}groups = 2
// CHECK: graph.conv_filter_grad {{.*}}groups = 2
// CHECK-NOT: dist.all_
// CHECK: return
func.func @depthwise(%x: tensor<2x5x5x4xf32>, %w: tensor<4x1x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}, {}]>})
    -> (tensor<2x3x3x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"model"}]>},
        tensor<2x5x5x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {"model"}]>},
        tensor<4x1x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}, {}]>}) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 4 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x5x5x4xf32>, tensor<4x1x3x3xf32>) -> tensor<2x3x3x4xf32>
  %1 = graph.conv_input_grad %0, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 4 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x3x3x4xf32>, tensor<4x1x3x3xf32>) -> tensor<2x5x5x4xf32>
  %2 = graph.conv_filter_grad %x, %0 {strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 4 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x5x5x4xf32>, tensor<2x3x3x4xf32>) -> tensor<4x1x3x3xf32>
  return %0, %1, %2 : tensor<2x3x3x4xf32>, tensor<2x5x5x4xf32>, tensor<4x1x3x3xf32>
}

// Two groups of three channels each, of which a rank has one.
// CHECK-LABEL: func @grouped
// CHECK-NOT: dist.all_
// CHECK: graph.conv {{.*}}groups = 1
// CHECK: graph.conv_input_grad {{.*}}groups = 1
// CHECK: graph.conv_filter_grad {{.*}}groups = 1
// CHECK-NOT: dist.all_
// CHECK: return
func.func @grouped(%x: tensor<2x6x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}, {}]>}, %w: tensor<4x3x2xf32>)
    -> (tensor<2x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}, {}]>},
        tensor<2x6x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}, {}]>},
        tensor<4x3x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}]>}) {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 2 : i64, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<2x6x7xf32>, tensor<4x3x2xf32>) -> tensor<2x4x6xf32>
  %1 = graph.conv_input_grad %0, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 2 : i64, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<2x4x6xf32>, tensor<4x3x2xf32>) -> tensor<2x6x7xf32>
  %2 = graph.conv_filter_grad %x, %0 {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 2 : i64, input_layout = "NC0", filter_layout = "OI0", output_layout = "NC0"} : (tensor<2x6x7xf32>, tensor<2x4x6xf32>) -> tensor<4x3x2xf32>
  return %0, %1, %2 : tensor<2x4x6xf32>, tensor<2x6x7xf32>, tensor<4x3x2xf32>
}
