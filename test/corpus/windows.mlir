// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition,func.func(dist-simplify-collectives),test-transfer-volume)" -o /dev/null | FileCheck %s
// RUN: dist-opt %s --test-check-partition -o /dev/null | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// Windows that other systems gathered the batch for, or got wrong.
dist.mesh @mesh ["data"=4, "model"=2]

// A grouped convolution (openxla/xla#47945) and a strided one (jax-ml/jax#16894)
// over a split batch: nothing is sent.
// CHECK: @grouped_conv: nothing is sent
func.func @grouped_conv(%x: tensor<8x9x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>},
                        %w: tensor<8x2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}]>})
    -> (tensor<8x7x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>}) {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 2, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<8x9x4xf32>, tensor<8x2x3xf32>) -> tensor<8x7x8xf32>
  return %0 : tensor<8x7x8xf32>
}

// CHECK: @strided_conv: nothing is sent
func.func @strided_conv(%x: tensor<8x9x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>},
                        %w: tensor<8x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}]>})
    -> (tensor<8x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {"model"}]>}) {
  %0 = graph.conv %x, %w {strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<8x9x4xf32>, tensor<8x4x3xf32>) -> tensor<8x4x8xf32>
  return %0 : tensor<8x4x8xf32>
}

// The backward pass (pytorch/pytorch#191926): the filter's gradient is reduced over
// the batch, the input's over the filters.
// CHECK: @conv_backward: all_reduce 2 x, 576 bytes; 576 bytes in all
func.func @conv_backward(%x: tensor<8x9x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>},
                         %w: tensor<8x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}]>},
                         %dy: tensor<8x4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {"model"}]>})
    -> (tensor<8x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}]>},
        tensor<8x9x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {}]>}) {
  %dw = graph.conv_filter_grad %x, %dy {strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<8x9x4xf32>, tensor<8x4x8xf32>) -> tensor<8x4x3xf32>
  %dx = graph.conv_input_grad %dy, %w {strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1, input_layout = "N0C", filter_layout = "OI0", output_layout = "N0C"} : (tensor<8x4x8xf32>, tensor<8x4x3xf32>) -> tensor<8x9x4xf32>
  return %dw, %dx : tensor<8x4x3xf32>, tensor<8x9x4xf32>
}

// A pool over split batch and channels has a rule (jax-ml/jax#28090).
// CHECK: @pool: nothing is sent
func.func @pool(%x: tensor<8x8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {"model"}]>})
    -> (tensor<8x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {"model"}]>}) {
  %0 = graph.avg_pool %x {window = array<i64: 1, 2, 1>, strides = array<i64: 1, 2, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>, count_include_pad = false} : (tensor<8x8x4xf32>) -> tensor<8x4x4xf32>
  return %0 : tensor<8x4x4xf32>
}
