// Weights are of any axis that is the mesh's first.
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,dist-split-portions{axis=rows weights=1,2},dist-partition)" | FileCheck %s

// CHECK-LABEL: func.func @f_portion0(
// CHECK-SAME: tensor<2xf32> {dist.entry_index = 0 : i64, dist.global_type = tensor<6xf32>
// CHECK-LABEL: func.func @f_portion1(
// CHECK-SAME: tensor<4xf32> {dist.entry_index = 0 : i64, dist.global_type = tensor<6xf32>
// CHECK-SAME: dist.portion = {axis = "rows", position = 1 : i64, weights = array<i64: 1, 2>}
dist.mesh @mesh ["rows"=2]
func.func @f(%x: tensor<6xf32> {dist.sharding = #dist.sharding<@mesh, [{"rows"}]>}) { return }
