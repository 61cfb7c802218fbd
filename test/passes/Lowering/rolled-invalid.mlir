// Where one op stands for all microbatches, nothing takes it for what one rank
// does once.
// RUN: not dist-opt %s --graph-form-clusters 2>&1 | FileCheck %s
// RUN: not dist-opt %s --rt-plan-memory 2>&1 | FileCheck %s
// RUN: not dist-opt %s --test-check-simplify 2>&1 | FileCheck %s
// CHECK: error: 'dist.all_slice' op stands for all microbatches; run dist-unroll-microbatches before
dist.mesh @mesh []
dist.mesh @microbatches ["microbatch"=2]
func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = dist.all_slice %x over @microbatches ["microbatch"] {dims = array<i64: 0>, dist.microbatch, reason = "a test", origin = "x"} : (tensor<4xf32>) -> tensor<2xf32>
  %1 = graph.exp %0 {dist.microbatch} : tensor<2xf32>
  return %1 : tensor<2xf32>
}
