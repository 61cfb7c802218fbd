// RUN: dist-opt %s --split-input-file --verify-diagnostics --dist-export-shard
// What we have and the shard dialect has not.

dist.mesh @mesh ["data"=2]
func.func @unreduced(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error @below {{unreduced values have no counterpart in the shard dialect; run dist-insert-all-reduce first}}
  %0 = graph.reduce sum, %x {dims = array<i64: 1>, dist.shardings = [#dist.sharding<@mesh, [{}], unreduced = {"data"}>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh ["data"=2]
func.func @open(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{open dims have no counterpart in the shard dialect; run dist-propagate-sharding first}}
  %0 = graph.exp %x {dist.shardings = [#dist.sharding<@mesh, [{"data", ?}, {}]>]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

dist.mesh @mesh ["data"=2]
func.func @partitioned(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{dist-export-shard: expected a module before dist-partition, but got a collective}}
  %0 = dist.all_reduce %x over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// expected-error @below {{dist-export-shard: expected a module with a dist.mesh}}
module {
}

// -----

dist.mesh @mesh ["data"=2]
// expected-error @below {{dist-export-shard: expected 'blocks' to have one block, but got 2}}
func.func @blocks(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}
