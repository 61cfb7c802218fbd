// What is only waited for has no say in how an op is split, and need be neither
// whole nor reduced.
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced))" | FileCheck %s
// RUN: dist-opt %s --test-check-partition | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// EQUAL-NOT: diverges
// EQUAL-NOT: dist.all_
// EQUAL-NOT: dist.reduce_scatter
dist.mesh @mesh ["data"=2]

// The anchor is the larger one, and split over the same axis along another dim.
// CHECK-LABEL: func @split
// CHECK-NOT: dist.reshard
// CHECK: graph.after {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @split(%x: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                 %a: tensor<6x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}) -> tensor<4x2xf32> {
  %0 = graph.after %x, %a : tensor<4x2xf32>, tensor<6x8xf32>
  return %0 : tensor<4x2xf32>
}

// A partial sum is waited for as it is.
// CHECK-LABEL: func @unreduced
// CHECK: %[[S:.+]] = graph.reduce
// CHECK-NOT: dist.all_reduce
// CHECK: graph.after %{{.+}}, %[[S]]
// CHECK-NOT: dist.all_reduce
// CHECK: return
func.func @unreduced(%x: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x2xf32> {
  %s = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<4x2xf32>) -> tensor<2xf32>
  %0 = graph.after %x, %s : tensor<4x2xf32>, tensor<2xf32>
  return %0 : tensor<4x2xf32>
}

// Padded, too.
// CHECK-LABEL: func @padded
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @padded(%x: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                  %a: tensor<7x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x2xf32> {
  %0 = graph.after %x, %a : tensor<4x2xf32>, tensor<7x3xf32>
  return %0 : tensor<4x2xf32>
}
