// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-overlap-collectives))" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-overlap-collectives{max-bytes=64}))" | FileCheck %s --check-prefix=LIMIT
dist.mesh @mesh ["data"=2]

// Without a limit all weights are gathered at the start, in the order in which
// they are needed; with room for one of
// them, each while the layer before it computes.
// CHECK-LABEL: func @layers
// CHECK: dist.all_gather_start %arg1
// CHECK-NEXT: dist.all_gather_start %arg2
// CHECK-NEXT: dist.all_gather_start %arg3
// CHECK: dist.wait
// LIMIT-LABEL: func @layers
// LIMIT: %[[A:.+]] = dist.all_gather_start %arg1
// LIMIT-NEXT: graph.exp
// LIMIT-NEXT: %[[W:.+]] = dist.wait %[[A]]
// LIMIT-NEXT: graph.mul %{{.+}}, %[[W]]
// LIMIT-NEXT: %[[B:.+]] = dist.all_gather_start %arg2
// LIMIT-NEXT: graph.neg
// LIMIT-NEXT: %[[V:.+]] = dist.wait %[[B]]
// LIMIT-NEXT: graph.mul %{{.+}}, %[[V]]
// LIMIT-NEXT: %[[C:.+]] = dist.all_gather_start %arg3
// LIMIT-NEXT: graph.neg
// LIMIT-NEXT: dist.wait %[[C]]
func.func @layers(%x: tensor<16xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<16xf32> {
  %0 = graph.exp %x : tensor<16xf32>
  %1 = dist.all_gather %a over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<16xf32>
  %2 = graph.mul %0, %1 : tensor<16xf32>
  %3 = graph.neg %2 : tensor<16xf32>
  %4 = dist.all_gather %b over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<16xf32>
  %5 = graph.mul %3, %4 : tensor<16xf32>
  %6 = graph.neg %5 : tensor<16xf32>
  %7 = dist.all_gather %c over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<16xf32>
  %8 = graph.mul %6, %7 : tensor<16xf32>
  return %8 : tensor<16xf32>
}
