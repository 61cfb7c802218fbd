// RUN: dist-opt %s --dist-export-sdy | FileCheck %s --check-prefix=SDY
// RUN: dist-opt %s --dist-export-sdy | dist-opt --dist-import-sdy | FileCheck %s
// RUN: not dist-opt %s --dist-export-shard 2>&1 | FileCheck %s --check-prefix=SHARD
// SHARD: dist-export-shard: {{.*}}: priorities have no counterpart in the shard dialect; run dist-propagate-sharding first
dist.mesh @mesh ["a"=2, "b"=4]
// SDY-LABEL: @block
// SDY-SAME: #sdy.sharding<@mesh, [{"a"}p1, {?}p2], replicated={"b"}>
// CHECK-LABEL: @block
// CHECK-SAME: #dist.sharding<@mesh, [{"a"}p1, {?}p2], replicated = {"b"}>
func.func @block(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}p1, {?}p2], replicated = {"b"}>}) -> tensor<8x16xf32> {
  // SDY: sdy.sharding_constraint %{{.+}} <@mesh, [{"a", "b"}p3, {}]>
  // CHECK: dist.reshard %{{.+}} to <@mesh, [{"a", "b"}p3, {}]>
  %0 = dist.reshard %x to <@mesh, [{"a", "b"}p3, {}]> because "sdy.sharding_constraint" : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
