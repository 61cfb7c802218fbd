// RUN: dist-opt %s --dist-propagate-sharding -split-input-file | FileCheck %s
// RUN: dist-opt %s "--dist-propagate-sharding=strict-divisibility=true" -split-input-file -verify-diagnostics -o /dev/null

// What does not divide spreads like what does: 10 units over 4 ranks, in the
// weight, the activation and the bias.
// CHECK-LABEL: func.func @spreads(
// CHECK-SAME: tensor<10xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>}
dist.mesh @mesh ["model"=4]
// expected-error @+1 {{argument 1: dim 1 of 'tensor<3x10xf32>' has 10 elements, which 'model' cannot split into 4 equal parts; sizes that work are 8 and 12}}
func.func @spreads(
    %x: tensor<2x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w: tensor<3x10xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
    %b: tensor<10xf32>) -> tensor<2x10xf32> {
  // CHECK: graph.dot_general {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {"model"}]>]
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x3xf32>, tensor<3x10xf32>) -> tensor<2x10xf32>
  %1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<10xf32>) -> tensor<2x10xf32>
  %2 = graph.add %0, %1 : tensor<2x10xf32>
  return %2 : tensor<2x10xf32>
}

// -----
// Not into what a reshape merges or cuts: 10 rows of 2 are no 20 over 4.
// CHECK-LABEL: func.func @merged(
dist.mesh @mesh ["model"=4]
// expected-error @+1 {{argument 0: dim 0 of 'tensor<10x2xf32>' has 10 elements, which 'model' cannot split into 4 equal parts}}
func.func @merged(%x: tensor<10x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) -> tensor<20xf32> {
  // CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}]>]
  %0 = graph.reshape %x : (tensor<10x2xf32>) -> tensor<20xf32>
  return %0 : tensor<20xf32>
}
