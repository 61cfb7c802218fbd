// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-import-shard
// What the shard dialect has and we have not.

// expected-error @below {{expected a grid of static shape; give its sizes}}
shard.grid @grid(shape = 2x?)

// -----

shard.grid @grid(shape = 2)
func.func @halo(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @grid split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  // expected-error @below {{halo sizes have no counterpart}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @grid(shape = 2)
func.func @offsets(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @grid split_axes = [[0]] sharded_dims_offsets = [0, 1, 4] : !shard.sharding
  // expected-error @below {{shards of given sizes have no counterpart}}
  %0 = shard.shard %x to %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

shard.grid @grid(shape = 2)
func.func @collective(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{this op has no counterpart; only grids, shardings and shard.shard are imported}}
  %0 = shard.all_reduce %x on @grid grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-note @below {{the first one}}
shard.grid @grid(shape = 2)
// expected-error @below {{expected one mesh, but got a second one}}
shard.grid @other(shape = 2)
