// RUN: dist-opt %s --test-check-partition | FileCheck %s
// RUN: not dist-opt %s --test-check-partition=mutate=mask 2>&1 | FileCheck %s --check-prefix=MASK

// A table of 11 rows split over 2 ranks is gathered whole; indices of which a
// rank has padding are places that exist.
// CHECK: equal
// CHECK: @table: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// MASK: has index 1048576 for a dim of size 11

dist.mesh @mesh ["model"=2]
func.func @table(
    %t: tensor<11x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
    %i: tensor<5xi64> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>}) -> (tensor<5x3xf32>, tensor<11x3xf32>) {
  %0 = graph.gather %t, %i {axis = 0 : i64} : (tensor<11x3xf32>, tensor<5xi64>) -> tensor<5x3xf32>
  %zero = graph.constant dense<0.0> : tensor<11x3xf32>
  %1 = graph.scatter_add %zero, %i, %0 {axis = 0 : i64} : (tensor<11x3xf32>, tensor<5xi64>, tensor<5x3xf32>) -> tensor<11x3xf32>
  return %0, %1 : tensor<5x3xf32>, tensor<11x3xf32>
}
