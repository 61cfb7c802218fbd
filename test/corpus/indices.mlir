// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition,func.func(dist-simplify-collectives),test-transfer-volume)" -o /dev/null | FileCheck %s
// RUN: dist-opt %s --test-check-partition -o /dev/null | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// Indices, scans and slices.
dist.mesh @mesh ["data"=2, "model"=4]

// The gradient of an embedding: rows of many ranks meet in one table
// (openxla/xla#42481). It is a sum over the ranks that hold the rows.
// CHECK: @scatter_add: all_reduce 1 x, 1024 bytes; 1024 bytes in all
func.func @scatter_add(%rows: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                       %ids: tensor<16xi64> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
        tensor<16x8xf32>) {
  %z = graph.constant dense<0.0> : tensor<32x8xf32>
  %0 = graph.scatter_add %z, %ids, %rows {axis = 0 : i64} : (tensor<32x8xf32>, tensor<16xi64>, tensor<16x8xf32>) -> tensor<32x8xf32>
  %1 = graph.gather %z, %ids {axis = 0 : i64} : (tensor<32x8xf32>, tensor<16xi64>) -> tensor<16x8xf32>
  return %0, %1 : tensor<32x8xf32>, tensor<16x8xf32>
}

// A lookup in a table that is split along its rows: what each rank has of them is
// a sum of activations, and the gradient stays where the rows are (two ranks of a
// batch reduce their parts of it). The table itself never moves.
// CHECK: @lookup: all_reduce 1 x, 384 bytes; 384 bytes in all
func.func @lookup(%table: tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>},
                  %ids: tensor<16xi64> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %n = graph.iota {dim = 0 : i64} : tensor<32xi32>
  %0 = graph.gather_rows %table, %ids, %n {num_rows = 32 : i64} : (tensor<32x8xf32>, tensor<16xi64>, tensor<32xi32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
// CHECK: @lookup_gradient: all_reduce 1 x, 256 bytes; 256 bytes in all
func.func @lookup_gradient(%rows: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
                           %ids: tensor<16xi64> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}]>}) {
  %n = graph.iota {dim = 0 : i64} : tensor<32xi32>
  %z = graph.constant dense<0.0> : tensor<32x8xf32>
  %0 = graph.scatter_add_rows %z, %ids, %rows, %n {num_rows = 32 : i64} : (tensor<32x8xf32>, tensor<16xi64>, tensor<16x8xf32>, tensor<32xi32>) -> tensor<32x8xf32>
  return %0 : tensor<32x8xf32>
}

// A running sum along a split dim needs it whole (jax-ml/jax#21403); along another
// dim it needs nothing.
// CHECK: @cumsum: all_gather 1 x, 192 bytes; 192 bytes in all
func.func @cumsum(%x: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>})
    -> (tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>}) {
  %0 = graph.cumsum %x {axis = 1 : i64} : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
// CHECK: @cumsum_beside: nothing is sent
func.func @cumsum_beside(%x: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = graph.cumsum %x {axis = 1 : i64} : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// A slice of another dim than the split one (openxla/xla PR 44796): nothing.
// CHECK: @slice_beside: nothing is sent
func.func @slice_beside(%x: tensor<16x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<16x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = graph.slice %x {starts = array<i64: 0, 2>, limits = array<i64: 16, 8>, strides = array<i64: 1, 2>} : (tensor<16x8xf32>) -> tensor<16x3xf32>
  return %0 : tensor<16x3xf32>
}
