// RUN: dist-opt %s --dist-export-shard | FileCheck %s --check-prefix=SHARD
// RUN: dist-opt %s --dist-export-shard | dist-opt --dist-import-shard | FileCheck %s --check-prefix=BACK
// RUN: dist-opt %s --dist-export-shard --dist-import-shard -o %t.back
// RUN: dist-opt %s --pass-pipeline="builtin.module()" -o %t.here
// RUN: diff %t.here %t.back

// SHARD: shard.grid @mesh(shape = 2x4) {axis_names = ["data", "model"]}
// BACK: dist.mesh @mesh ["data"=2, "model"=4]
dist.mesh @mesh ["data"=2, "model"=4]

// SHARD-LABEL: @block
// SHARD-SAME: %[[X:.+]]: tensor<8x16xf32>, %[[S:.+]]: tensor<f32>
// SHARD-SAME: -> tensor<8x16xf32>
// SHARD-DAG: %[[SX:.+]] = shard.sharding @mesh split_axes = {{\[\[}}0]] : !shard.sharding
// SHARD-DAG: %[[AX:.+]] = shard.shard %[[X]] to %[[SX]] : tensor<8x16xf32>
// SHARD: %[[E:.+]] = graph.exp %[[AX]] : tensor<8x16xf32>
// SHARD: %[[SE:.+]] = shard.sharding @mesh split_axes = {{\[\[}}0], [1]]
// SHARD: %[[AE:.+]] = shard.shard %[[E]] to %[[SE]] : tensor<8x16xf32>
// SHARD: %[[SR:.+]] = shard.sharding @mesh split_axes = {{\[\[}}], [0, 1]]
// SHARD: %[[R:.+]] = shard.shard %[[AE]] to %[[SR]] annotate_for_users : tensor<8x16xf32>
// SHARD: graph.neg %[[R]]
// SHARD: %[[SN:.+]] = shard.sharding @mesh split_axes = {{\[\[}}]]
// SHARD: %[[OUT:.+]] = shard.shard %{{.+}} to %{{.+}} annotate_for_users
// SHARD: return %[[OUT]]

// BACK-LABEL: @block
// BACK-SAME: %[[X:.+]]: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}
// BACK-SAME: -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
// BACK: graph.exp {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {"model"}]>]
// BACK: dist.reshard {{.*}} to <@mesh, [{}, {"data", "model"}]>
// BACK: graph.neg {{.*}}dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]
func.func @block(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, %s: tensor<f32>)
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  %0 = graph.exp %x {dist.shardings = [#dist.sharding<@mesh, [{"data"}, {"model"}]>]} : tensor<8x16xf32>
  %1 = dist.reshard %0 to <@mesh, [{}, {"data", "model"}]> because "shard.shard" : tensor<8x16xf32>
  %2 = graph.neg %1 {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
