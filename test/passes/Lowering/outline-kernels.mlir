// RUN: dist-opt %s --rt-outline-kernels | FileCheck %s

// Two equal bodies are one kernel, another is a second one.
// CHECK-DAG: rt.kernel @kernel_0 domain [8] row_dims 0 chunks 1 -> [tensor<8xf32>]
// CHECK-DAG: rt.kernel @kernel_1 domain [8] row_dims 0 chunks 1 -> [tensor<8xf32>]
// CHECK-NOT: rt.kernel @kernel_2
// CHECK-LABEL: func.func @f
// CHECK: %[[A:.+]] = rt.call @kernel_0(%{{.+}}) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: %[[B:.+]] = rt.call @kernel_0(%[[A]])
// CHECK: rt.call @kernel_1(%[[B]])
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = rt.fused(%x) domain [8] row_dims 0 chunks 1 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %y = graph.relu %a : tensor<8xf32>
    rt.yield %y : tensor<8xf32>
  }
  %1 = rt.fused(%0) domain [8] row_dims 0 chunks 1 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%b: tensor<8xf32>):
    %y = graph.relu %b : tensor<8xf32>
    rt.yield %y : tensor<8xf32>
  }
  %2 = rt.fused(%1) domain [8] row_dims 0 chunks 1 : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c: tensor<8xf32>):
    %y = graph.neg %c : tensor<8xf32>
    rt.yield %y : tensor<8xf32>
  }
  return %2 : tensor<8xf32>
}

// A constant of several numbers is memory, no kernel.
// CHECK-LABEL: func.func @constant
// CHECK: %[[C:.+]] = graph.constant
// CHECK: return %[[C]]
func.func @constant() -> tensor<2xi64> {
  %0 = graph.constant dense<[1, 2]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
