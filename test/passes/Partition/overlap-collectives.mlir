// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-overlap-collectives))" | FileCheck %s
dist.mesh @mesh ["data"=2]

// CHECK-LABEL: func @overlap
func.func @overlap(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[N:.+]] = graph.neg %arg0
  // CHECK: %[[T:.+]] = dist.all_reduce_start %[[N]]
  // CHECK: %[[E:.+]] = graph.exp %arg1
  // CHECK: %[[R:.+]] = dist.wait %[[T]]
  // CHECK: graph.add %[[R]], %[[E]]
  %0 = graph.neg %a : tensor<8xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.exp %b : tensor<8xf32>
  %3 = graph.add %1, %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// Nothing to overlap with.
// CHECK-LABEL: func @at_once
func.func @at_once(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: dist.all_reduce %
  %0 = dist.all_reduce %a over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
