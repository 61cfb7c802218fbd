// Where a reshape can use a part of an axis only, the axis is cut if it may be:
// nothing is gathered then.
// RUN: dist-opt %s --dist-propagate-sharding=cut-axes=model | FileCheck %s
// RUN: dist-opt %s --dist-propagate-sharding=cut-axes=model --test-check-partition | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s --dist-partition-pipeline=cut-axes=model | FileCheck %s --check-prefix=LOCAL
// RUN: dist-opt %s --dist-propagate-sharding=cut-axes=data | FileCheck %s --check-prefix=WHOLE
// EQUAL: equal

// CHECK: dist.mesh @mesh ["data"=2, "model:(1)2"=2, "model:(2)2"=2]
// WHOLE: dist.mesh @mesh ["data"=2, "model"=4]
dist.mesh @mesh ["data"=2, "model"=4]

// CHECK-LABEL: func @merged
// CHECK-SAME: tensor<16x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model:(1)2", "model:(2)2"}, {}]>}
// CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model:(1)2"}, {"model:(2)2"}, {}]>]
// CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"model:(1)2", "model:(2)2"}, {}]>]
// WHOLE-LABEL: func @merged
// WHOLE: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {}, {}]>]
// LOCAL-LABEL: func @merged
// LOCAL-NOT: dist.all
// LOCAL: return
func.func @merged(%x: tensor<16x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<16x3xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {?}]>}) {
  %0 = graph.reshape %x : (tensor<16x3xf32>) -> tensor<2x8x3xf32>
  %1 = graph.exp %0 : tensor<2x8x3xf32>
  %2 = graph.reshape %1 : (tensor<2x8x3xf32>) -> tensor<16x3xf32>
  return %2 : tensor<16x3xf32>
}

// 6 heads are no multiple of what is left of 4 ranks, 8 are: not cut.
// CHECK-LABEL: func @no_part_fits
// CHECK: graph.reshape {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]
func.func @no_part_fits(%x: tensor<24xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>}) -> tensor<3x8xf32> {
  %0 = graph.reshape %x : (tensor<24xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
