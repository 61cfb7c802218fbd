// What ops make of operands that other decisions have split otherwise: what one
// device gives.
// RUN: dist-opt %s --test-check-partition -split-input-file | FileCheck %s

// Rows added to zeros that are split over the same axis as the updates: parts
// of one sum, although the zeros are needed in another layout.
// CHECK: equal
// CHECK: @rows: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// CHECK: %[[ZERO:.+]] = graph.constant {{.*}} : tensor<8x3xf32>
// CHECK: %[[SUM:.+]] = graph.scatter_add_rows %[[ZERO]], {{.*}}unreduced = {"model"}
// CHECK: dist.reduce_scatter %[[SUM]]
dist.mesh @mesh ["model"=2]
func.func @rows(%i: tensor<16xi64>,
                %u: tensor<16x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
                %n: tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"model"}]>})
    -> (tensor<8x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) {
  %zero = graph.constant dense<0.0> : tensor<8x3xf32>
  %0 = graph.scatter_add_rows %zero, %i, %u, %n {num_rows = 8 : i64} : (tensor<8x3xf32>, tensor<16xi64>, tensor<16x3xf32>, tensor<8xi32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

// Zeros in a form of their own, scattered to along an axis that is needed whole.
// CHECK: equal
// CHECK: @broadcast: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
dist.mesh @mesh ["model"=2]
func.func @broadcast(%i: tensor<16xi64>,
                     %u: tensor<16x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>}) {
  %row = graph.constant dense<0.0> : tensor<4xf32>
  %zero = graph.broadcast %row {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %0 = graph.scatter_add %zero, %i, %u {axis = 0 : i64} : (tensor<8x4xf32>, tensor<16xi64>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
