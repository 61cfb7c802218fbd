// Parts of an axis are axes of their own; Shardy's way to write one is read, too.
// RUN: dist-opt %s --verify-roundtrip | FileCheck %s
// CHECK: dist.mesh @mesh ["data"=2, "model:(1)2"=2, "model:(2)4"=4]
dist.mesh @mesh ["data"=2, "model:(1)2"=2, "model:(2)4"=4]
// CHECK-LABEL: func @parts
// CHECK-SAME: [{"model:(2)4", ?}, {"data"}p2], unreduced = {"model:(1)2"}
func.func @parts(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"model":(2)4, ?}p0, {"data"}p2], unreduced = {"model":(1)2}>}) {
  return
}
