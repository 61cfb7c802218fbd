// Of integers, quotients of partial sums do not add up: the sum is completed
// before. Products and differences wrap, and do.
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced))" | FileCheck %s
// RUN: dist-opt %s --test-check-partition | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// EQUAL-NOT: diverges
dist.mesh @mesh ["data"=2]

// CHECK-LABEL: func @mean
// CHECK: %[[S:.+]] = graph.reduce sum
// CHECK-NEXT: %[[R:.+]] = dist.all_reduce %[[S]]
// CHECK: graph.div %[[R]]
func.func @mean(%x: tensor<8x4xi64> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, %d: tensor<4xi64>) -> tensor<i64> {
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xi64>) -> tensor<4xi64>
  %1 = graph.div %0, %d : tensor<4xi64>
  %2 = graph.reduce sum, %1 {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<i64>
  return %2 : tensor<i64>
}

// Of floats the quotient is linear, and here smaller.
// CHECK-LABEL: func @mean_of_floats
// CHECK: graph.div
// CHECK: %[[S:.+]] = graph.reduce sum, {{.*}}dims = array<i64: 0>{{.*}} -> tensor<f32>
// CHECK-NEXT: dist.all_reduce %[[S]]
func.func @mean_of_floats(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, %d: tensor<4xf32>) -> tensor<f32> {
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %1 = graph.div %0, %d : tensor<4xf32>
  %2 = graph.reduce sum, %1 {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func @scaled
// CHECK: graph.mul
// CHECK: %[[S:.+]] = graph.reduce sum, {{.*}}dims = array<i64: 0>{{.*}} -> tensor<i64>
// CHECK-NEXT: dist.all_reduce %[[S]]
func.func @scaled(%x: tensor<8x4xi64> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, %d: tensor<4xi64>) -> tensor<i64> {
  %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<8x4xi64>) -> tensor<4xi64>
  %1 = graph.mul %0, %d : tensor<4xi64>
  %2 = graph.reduce sum, %1 {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<i64>
  return %2 : tensor<i64>
}
