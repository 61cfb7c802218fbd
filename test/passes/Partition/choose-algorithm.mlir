// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{algorithm=ring}))" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{algorithm=ring},dist-choose-algorithm,dist-choose-algorithm{algorithm=reduce_to_one},dist-overlap-collectives))" | FileCheck %s --check-prefix=ONE
// RUN: not dist-opt %s --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{algorithm=tree}))" 2>&1 | FileCheck %s --check-prefix=TREE
// TREE: expected `algorithm` to be one of auto, ring, reduce_to_one, exchange, gather, parts, halving_doubling, but got 'tree'
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{algorithm=halving_doubling}))" | FileCheck %s --check-prefix=HALVES
dist.mesh @mesh ["data"=4]

// CHECK-LABEL: func @reduce
// CHECK: dist.all_reduce %arg0 over @mesh ["data"] by max using ring {
// HALVES-LABEL: func @reduce
// HALVES: dist.all_reduce %arg0 over @mesh ["data"] by max using halving_doubling {
// The other way to say it stays with what is started.
// ONE-LABEL: func @reduce
// ONE: dist.all_reduce_start %arg0 over @mesh ["data"] by max using reduce_to_one {
func.func @reduce(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.all_reduce %a over @mesh ["data"] by max {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.exp %b : tensor<8xf32>
  %2 = graph.add %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// Sums over microbatches are no transfers.
// CHECK-LABEL: func @sum_of_microbatches
// CHECK-NOT: using
// ONE-LABEL: func @sum_of_microbatches
dist.mesh @microbatches ["data"=4, "microbatch"=2]
func.func @sum_of_microbatches(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.all_reduce %a over @microbatches ["microbatch"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
