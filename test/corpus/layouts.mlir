// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition,func.func(dist-simplify-collectives),test-transfer-volume)" -o /dev/null | FileCheck %s
// RUN: dist-opt %s --test-check-partition -o /dev/null | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// Layouts that meet: where others replicated the whole value
// ("involuntary full rematerialization", openxla/xla#15207, jax-ml/jax#21562).
dist.mesh @mesh ["data"=2, "model"=4]

// From rows to columns: each rank sends what others keep. The sum follows its operand
// and not its reader, so that this is done twice: 3072 bytes would do.
// CHECK: @rows_to_columns: all_to_all 2 x, 6144 bytes; 6144 bytes in all
func.func @rows_to_columns(%x: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
                           %y: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
                           %z: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = graph.mul %y, %z : tensor<64x64xf32>
  %1 = graph.add %0, %x : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// Batch and model change places.
// CHECK: @axes_change_places: permute 1 x, 2048 bytes; 2048 bytes in all
func.func @axes_change_places(%x: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}, {}]>})
    -> (tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"model", "data"}, {}]>}) {
  %0 = graph.tanh %x : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// Heads come out of a split last dim and go back into it: the split passes through.
// CHECK: @heads: nothing is sent
func.func @heads(%x: tensor<8x16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {"model"}]>})
    -> (tensor<8x16x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}, {"model"}]>}) {
  %0 = graph.reshape %x : (tensor<8x16x32xf32>) -> tensor<8x16x4x8xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<8x16x4x8xf32>) -> tensor<8x4x16x8xf32>
  %2 = graph.softmax %1 {axis = 3 : i64} : tensor<8x4x16x8xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<8x4x16x8xf32>) -> tensor<8x16x4x8xf32>
  %4 = graph.reshape %3 : (tensor<8x16x4x8xf32>) -> tensor<8x16x32xf32>
  return %4 : tensor<8x16x32xf32>
}

// A dim that does not divide stays whole (pytorch/pytorch#144109): ten classes on
// four ranks. The hidden dim is summed.
// CHECK: @ten_classes: all_reduce 1 x, 240 bytes; 240 bytes in all
func.func @ten_classes(%h: tensor<8x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>},
                       %w: tensor<32x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {?}]>})
    -> (tensor<8x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = graph.dot_general %h, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x32xf32>, tensor<32x10xf32>) -> tensor<8x10xf32>
  return %0 : tensor<8x10xf32>
}
