// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=bf16})" | FileCheck %s
// RUN: sed 's/"host"\], role/"data"], role/; s/over @mesh \["host"\]/over @mesh ["data"]/' %s | not dist-opt --pass-pipeline="builtin.module(dist-compress-collectives{method=bf16})" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: --compress: no gradient is summed between processes; train with a strategy that splits the batch
dist.mesh @mesh ["host"=2, "data"=2] {processes = {host = 2 : i64}}
graph.variable @w : tensor<8x3xf32> trainable = dense<1.0> : tensor<8x3xf32>
graph.variable @v : tensor<64xf32> trainable = dense<1.0> : tensor<64xf32>

// Only what passes between processes is compressed: of a shard of the sum within one,
// whose rest is in shards, too.
// CHECK: graph.variable @"compression/error/w" : tensor<8x3xf32> {{.*}}sharding = #dist.sharding<@mesh, {{\[}}{"data"}, {}], unreduced = {"host"}>
// CHECK-NOT: graph.variable @"compression/error/v"
// CHECK-LABEL: func @train_step
// CHECK-SAME: compressed = 1 : i64, gradients = 1 : i64
// CHECK: dist.reduce_scatter {{.*}} : (tensor<8x3xf32>) -> tensor<4x3xf32>
// CHECK: dist.all_reduce {{.*}} over @mesh ["host"] {{.*}} : (tensor<4x3xbf16>) -> tensor<4x3xbf16>
// CHECK: dist.all_gather {{.*}} : (tensor<4x3xf32>) -> tensor<8x3xf32>
// CHECK: dist.all_reduce {{.*}} over @mesh ["data"] {{.*}} : (tensor<64xf32>) -> tensor<64xf32>
func.func @train_step(%g: tensor<8x3xf32>, %h: tensor<64xf32>) -> (tensor<8x3xf32> {graph.variable = @w}, tensor<64xf32> {graph.variable = @v}) {
  %0 = dist.reduce_scatter %g over @mesh ["data"] {dims = array<i64: 0>, reason = "sum", origin = "w", dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}], unreduced = {"host"}>]} : (tensor<8x3xf32>) -> tensor<4x3xf32>
  %1 = dist.all_reduce %0 over @mesh ["host"] {reason = "sum", origin = "w"} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = dist.all_gather %1 over @mesh ["data"] {dims = array<i64: 0>, reason = "sum", origin = "w"} : (tensor<4x3xf32>) -> tensor<8x3xf32>
  %3 = dist.all_reduce %h over @mesh ["data"] {reason = "sum", origin = "v"} : (tensor<64xf32>) -> tensor<64xf32>
  return %2, %3 : tensor<8x3xf32>, tensor<64xf32>
}
