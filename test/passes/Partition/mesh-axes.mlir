// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-number-ops),dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition)" | FileCheck %s
// RUN: dist-opt %s --test-check-partition -o /dev/null | FileCheck %s --check-prefix=EQUAL

// Axes of one rank split nothing and ask for nothing; three axes are one reduction.
dist.mesh @mesh ["x"=2, "y"=2, "z"=3, "one"=1]
// EQUAL: equal

// CHECK-LABEL: func @maximum
func.func @maximum(%x: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"z", "x", "y"}]>}) -> tensor<f32> {
  // CHECK: graph.reduce max
  // CHECK-NEXT: dist.all_reduce %{{.+}} over @mesh ["x", "y", "z"] by max
  // CHECK-NEXT: return
  %0 = graph.reduce max, %x {dims = array<i64: 0>} : (tensor<12xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// The axis of one rank could stand behind either factor of the merged dim.
// CHECK-LABEL: func @merged_dim
func.func @merged_dim(%x: tensor<2x4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"one", "x"}, {}]>})
    -> (tensor<8x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"y", "x", "one"}, {}]>}) {
  // CHECK-NEXT: graph.reshape {{.*}} : (tensor<1x2x6xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: return
  %0 = graph.reshape %x : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// CHECK-LABEL: func @sum_over_one
func.func @sum_over_one(%x: tensor<12xf32> {dist.sharding = #dist.sharding<@mesh, [{"one"}]>})
    -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  // CHECK-NEXT: graph.reduce sum
  // CHECK-NEXT: return
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<12xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
