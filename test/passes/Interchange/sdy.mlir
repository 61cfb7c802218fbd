// RUN: dist-opt %s --dist-export-sdy | FileCheck %s --check-prefix=SDY
// RUN: dist-opt %s --dist-export-sdy | dist-opt --dist-import-sdy -o %t.back
// RUN: dist-opt %s --pass-pipeline="builtin.module()" -o %t.here
// RUN: diff %t.here %t.back

// SDY: sdy.mesh @mesh = <["a"=2, "b"=4]>
dist.mesh @mesh ["a"=2, "b"=4]

// SDY-LABEL: @block
// SDY-SAME: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}, {?}], replicated={"b"}>}
// SDY-SAME: -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a", "b"}]>})
// SDY: graph.top_k
// SDY-SAME: sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>, <@mesh, [{}, {}], unreduced={"b"}>]>
// SDY: sdy.sharding_constraint %{{.+}} <@mesh, [{"a"}, {"b"}]> : tensor<8x16xf32>
func.func @block(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a", ?}, {?}], replicated = {"b"}>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a", "b"}]>}) {
  %v, %i = graph.top_k %x {k = 16 : i64, dist.shardings = [#dist.sharding<@mesh, [{"a"}, {}]>, #dist.sharding<@mesh, [{}, {}], unreduced = {"b"}>]} : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xi64>)
  %1 = dist.reshard %v to <@mesh, [{"a"}, {"b"}]> because "sdy.sharding_constraint" : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
