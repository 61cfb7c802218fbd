// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition,func.func(dist-simplify-collectives),test-transfer-volume)" -o /dev/null | FileCheck %s
// RUN: dist-opt %s --test-check-partition -o /dev/null | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// Products that other systems gathered, or summed wrongly.
dist.mesh @mesh ["x"=2, "y"=2, "z"=2]

// Eight devices, three axes (openxla/xla#4062): only the sum over the contracted
// dim is sent, and as each rank keeps a part of it, half of an all-reduce.
// CHECK: @dot_on_eight: reduce_scatter 1 x, 2048 bytes; 2048 bytes in all
func.func @dot_on_eight(%l: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>},
                        %r: tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"z"}]>})
    -> (tensor<64x64xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {"z"}]>}) {
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// A sum that is used whole and in parts (openxla/xla#40034): the all-reduce must
// not get lost on either way.
// CHECK: @sum_used_twice: all_gather 1 x, 64 bytes, all_reduce 1 x, 96 bytes, reduce_scatter 1 x, 64 bytes; 224 bytes in all
func.func @sum_used_twice(%x: tensor<64x32xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y", "z"}, {}]>},
                          %m: tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})
    -> (tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<32xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) {
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<32xf32>
  %1 = graph.tanh %0 : tensor<32xf32>
  %2 = graph.add %0, %m : tensor<32xf32>
  return %1, %2 : tensor<32xf32>, tensor<32xf32>
}

// The axes of a dim in another order than its partner's (pytorch/pytorch#166598):
// shards change places, nothing is gathered.
// CHECK: @axis_order: all_reduce 1 x, 3072 bytes, permute 1 x, 1024 bytes; 4096 bytes in all
func.func @axis_order(%l: tensor<32x64xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>},
                      %r: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"y", "x"}, {}]>})
    -> (tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = graph.dot_general %l, %r {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}

// Gradients of scaled dot-product attention, split over batch and heads
// (pytorch/pytorch#134050): everything stays where it is.
// CHECK: @attention_gradient: nothing is sent
func.func @attention_gradient(%q: tensor<4x4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>},
                              %k: tensor<4x4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>},
                              %dp: tensor<4x4x8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>})
    -> (tensor<4x4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>}) {
  %s = graph.dot_general %q, %k {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 3>} : (tensor<4x4x8x16xf32>, tensor<4x4x8x16xf32>) -> tensor<4x4x8x8xf32>
  %p = graph.softmax %s {axis = 3 : i64} : tensor<4x4x8x8xf32>
  %pd = graph.mul %p, %dp : tensor<4x4x8x8xf32>
  %sum = graph.reduce sum, %pd {dims = array<i64: 3>} : (tensor<4x4x8x8xf32>) -> tensor<4x4x8xf32>
  %b = graph.broadcast %sum {dims = array<i64: 0, 1, 2>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x8xf32>
  %c = graph.sub %dp, %b : tensor<4x4x8x8xf32>
  %ds = graph.mul %p, %c : tensor<4x4x8x8xf32>
  %dq = graph.dot_general %ds, %k {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>} : (tensor<4x4x8x8xf32>, tensor<4x4x8x16xf32>) -> tensor<4x4x8x16xf32>
  return %dq : tensor<4x4x8x16xf32>
}
