// RUN: dist-opt %s --dist-import-shard | FileCheck %s

// Axes without names are numbered.
// CHECK: dist.mesh @grid ["axis0"=2, "axis1"=3]
shard.grid @grid(shape = 2x3)

// A value has one sharding; another one of it is a reshard.
// CHECK-LABEL: @twice
// CHECK-SAME: %[[X:.+]]: tensor<6x6xf32> {dist.sharding = #dist.sharding<@grid, [{"axis0"}, {}]>}
func.func @twice(%x: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %s = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %t = shard.sharding @grid split_axes = [[], [1]] : !shard.sharding
  %0 = shard.shard %x to %s : tensor<6x6xf32>
  %1 = shard.shard %0 to %s annotate_for_users : tensor<6x6xf32>
  // CHECK: %[[R:.+]] = dist.reshard %[[X]] to <@grid, [{}, {"axis1"}]> because "shard.shard"
  // CHECK-NEXT: graph.exp %[[R]]
  %2 = shard.shard %1 to %t annotate_for_users : tensor<6x6xf32>
  %3 = graph.exp %2 : tensor<6x6xf32>
  return %3 : tensor<6x6xf32>
}
