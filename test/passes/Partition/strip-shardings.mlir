// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-strip-shardings))" | FileCheck %s
dist.mesh @mesh ["data"=2]

// CHECK-LABEL: func @strip
// CHECK-SAME: dist.sharding
func.func @strip(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<4xf32> {
  // CHECK: graph.exp %{{.+}} : tensor<4xf32>
  %0 = graph.exp %x {dist.origin = 0 : i64, dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
