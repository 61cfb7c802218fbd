// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-hierarchical-collectives{between-processes=true}))" -split-input-file | FileCheck %s

dist.mesh @mesh ["host"=2, "data"=2, "more"=2] {processes = {host = 2 : i64}}

// What is within processes comes first, however many axes, and whatever it costs.
// CHECK-LABEL: func @levels
// CHECK: %[[S:.+]] = dist.reduce_scatter %arg0 over @mesh ["more"] {dims = array<i64: 0>
// CHECK: %[[T:.+]] = dist.reduce_scatter %[[S]] over @mesh ["data"] {dims = array<i64: 0>
// CHECK: %[[R:.+]] = dist.all_reduce %[[T]] over @mesh ["host"]
// CHECK: %[[G:.+]] = dist.all_gather %[[R]] over @mesh ["data"] {dims = array<i64: 0>, of_gradients
// CHECK: dist.all_gather %[[G]] over @mesh ["more"] {dims = array<i64: 0>, of_gradients
func.func @levels(%a: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = dist.all_reduce %a over @mesh ["host", "data", "more"] by sum {reason = "r", origin = "o"} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// All within, or all between.
// CHECK-LABEL: func @within
// CHECK-NEXT: dist.all_reduce %arg0 over @mesh ["data", "more"]
// CHECK-NEXT: dist.all_reduce %{{.+}} over @mesh ["host"]
// CHECK-NEXT: return
func.func @within(%a: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = dist.all_reduce %a over @mesh ["data", "more"] by sum {reason = "r", origin = "o"} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  %1 = dist.all_reduce %0 over @mesh ["host"] by sum {reason = "r", origin = "o"} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// All of one process.
dist.mesh @mesh ["host"=2, "data"=2]
// CHECK-LABEL: func @together
// CHECK-NEXT: dist.all_reduce %arg0 over @mesh ["host", "data"]
// CHECK-NEXT: return
func.func @together(%a: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = dist.all_reduce %a over @mesh ["host", "data"] by sum {reason = "r", origin = "o"} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
