// Shardy's sub-axes: the mesh becomes as fine as the module needs it, and whole
// again in Shardy's text.
// RUN: dist-opt %s --dist-import-sdy | FileCheck %s
// RUN: dist-opt %s --dist-import-sdy --dist-export-sdy | FileCheck %s --check-prefix=BACK
// RUN: dist-opt %s --dist-import-sdy --dist-export-shard --dist-import-shard | FileCheck %s --check-prefix=CHECK
// RUN: dist-opt %s --dist-import-sdy --test-check-partition | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal

// CHECK: dist.mesh @mesh ["a:(1)2"=2, "a:(2)2"=2, "a:(4)2"=2, "b"=2]
// BACK: sdy.mesh @mesh = <["a"=8, "b"=2]>
sdy.mesh @mesh = <["a"=8, "b"=2]>

// CHECK-LABEL: @parts
// CHECK-SAME: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a:(2)2", "a:(4)2"}, {"a:(1)2"}]>}
// CHECK-SAME: tensor<16x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a:(1)2", "a:(2)2", "a:(4)2"}, {"b"}]>}
// BACK-LABEL: @parts
// BACK-SAME: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(2)4}, {"a":(1)2}]>}
// BACK-SAME: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}
func.func @parts(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(2)4}, {"a":(1)2}]>},
                 %y: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<16x16xf32> {
  // CHECK: dist.reshard %{{.+}} to <@mesh, [{"a:(4)2"}, {"a:(2)2", "a:(1)2"}]> because
  // BACK: sdy.sharding_constraint %{{.+}} <@mesh, [{"a":(4)2}, {"a":(2)2, "a":(1)2}]>
  %0 = sdy.sharding_constraint %x <@mesh, [{"a":(4)2}, {"a":(2)2, "a":(1)2}]> : tensor<16x16xf32>
  %1 = graph.add %0, %y : tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}
