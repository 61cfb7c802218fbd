// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-verify-unreduced,dist-insert-all-reduce,dist-pad-indivisible))" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-insert-reshards))" -o /dev/null

// Of a pipeline's program there are two meshes. An axis of microbatches splits nothing over the ranks of the other one:
// it was of size 0, by which sizes were divided.
dist.mesh @mesh ["stage"=2]
dist.mesh @microbatches ["microbatch"=3]
// CHECK-LABEL: func @of_microbatch
func.func @of_microbatch(%x: tensor<2x4xf32> {dist.sharding = #dist.sharding<@microbatches, [{"microbatch"}, {}]>})
    -> (tensor<2x4xf32> {dist.sharding = #dist.sharding<@microbatches, [{"microbatch"}, {}]>}) {
  // CHECK-NEXT: %[[N:.+]] = graph.neg %arg0 {{.*}} : tensor<2x4xf32>
  // CHECK-NEXT: return %[[N]]
  %0 = graph.neg %x {dist.shardings = [#dist.sharding<@microbatches, [{"microbatch"}, {}]>]} : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
