// RUN: dist-opt %s --rt-outline-kernels | FileCheck %s

// Two equal bodies are one kernel, another is a second one.
// CHECK-DAG: rt.kernel @kernel_0 domain [8] row_dims 0 chunks 1 -> [tensor<8xf32>]
// CHECK-DAG: rt.kernel @kernel_1 domain [8] row_dims 0 chunks 1 -> [tensor<8xf32>]
// CHECK-DAG: rt.kernel @kernel_2 domain [2, 8]
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

// Two microbatches are pieces of the data, read where they lie: one kernel. A
// kernel that only copies its piece is none. What is no piece (every other
// column) is read by index.
// CHECK-LABEL: func.func @pieces
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1x8xf32>
// CHECK-DAG: %[[P0:.+]] = graph.slice %[[X]] {limits = array<i64: 2, 1, 8>, starts = array<i64: 0, 0, 0>
// CHECK-DAG: %[[R0:.+]] = graph.reshape %[[P0]]
// CHECK-DAG: %[[P1:.+]] = graph.slice %[[X]] {limits = array<i64: 4, 1, 8>, starts = array<i64: 2, 0, 0>
// CHECK-DAG: %[[R1:.+]] = graph.reshape %[[P1]]
// CHECK-DAG: %[[A:.+]] = rt.call @[[SAME:.+]](%[[R0]]) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-DAG: %[[B:.+]] = rt.call @[[SAME]](%[[R1]])
// CHECK-DAG: %[[C:.+]] = graph.slice %[[X]] {limits = array<i64: 1, 1, 8>
// CHECK-DAG: %[[D:.+]] = rt.call @{{.+}}(%[[X]]) : (tensor<4x1x8xf32>) -> tensor<4x1x4xf32>
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @pieces(%x: tensor<4x1x8xf32>)
    -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<1x1x8xf32>, tensor<4x1x4xf32>) {
  %0 = rt.fused(%x) domain [2, 8] row_dims 0 chunks 1 : (tensor<4x1x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<4x1x8xf32>):
    %s = graph.slice %a {starts = array<i64: 0, 0, 0>, limits = array<i64: 2, 1, 8>, strides = array<i64: 1, 1, 1>} : (tensor<4x1x8xf32>) -> tensor<2x1x8xf32>
    %r = graph.reshape %s : (tensor<2x1x8xf32>) -> tensor<2x8xf32>
    %y = graph.neg %r : tensor<2x8xf32>
    rt.yield %y : tensor<2x8xf32>
  }
  %1 = rt.fused(%x) domain [2, 8] row_dims 0 chunks 1 : (tensor<4x1x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<4x1x8xf32>):
    %s = graph.slice %a {starts = array<i64: 2, 0, 0>, limits = array<i64: 4, 1, 8>, strides = array<i64: 1, 1, 1>} : (tensor<4x1x8xf32>) -> tensor<2x1x8xf32>
    %r = graph.reshape %s : (tensor<2x1x8xf32>) -> tensor<2x8xf32>
    %y = graph.neg %r : tensor<2x8xf32>
    rt.yield %y : tensor<2x8xf32>
  }
  %2 = rt.fused(%x) domain [1, 1, 8] row_dims 0 chunks 1 : (tensor<4x1x8xf32>) -> tensor<1x1x8xf32> {
  ^bb0(%a: tensor<4x1x8xf32>):
    %s = graph.slice %a {starts = array<i64: 0, 0, 0>, limits = array<i64: 1, 1, 8>, strides = array<i64: 1, 1, 1>} : (tensor<4x1x8xf32>) -> tensor<1x1x8xf32>
    rt.yield %s : tensor<1x1x8xf32>
  }
  %3 = rt.fused(%x) domain [4, 1, 4] row_dims 0 chunks 1 : (tensor<4x1x8xf32>) -> tensor<4x1x4xf32> {
  ^bb0(%a: tensor<4x1x8xf32>):
    %s = graph.slice %a {starts = array<i64: 0, 0, 0>, limits = array<i64: 4, 1, 8>, strides = array<i64: 1, 1, 2>} : (tensor<4x1x8xf32>) -> tensor<4x1x4xf32>
    %y = graph.neg %s : tensor<4x1x4xf32>
    rt.yield %y : tensor<4x1x4xf32>
  }
  return %0, %1, %2, %3 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<1x1x8xf32>, tensor<4x1x4xf32>
}

// A variable is written where it lies: its parts are read by index.
graph.variable @w : tensor<4x8xf32> = dense<0.0> : tensor<4x8xf32>
// CHECK-LABEL: func.func @part_of_variable
// CHECK: %[[V:.+]] = rt.call @{{.+}}(%{{.+}}) : (tensor<4x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: return %[[V]]
func.func @part_of_variable(%w: tensor<4x8xf32> {graph.variable = @w}) -> tensor<2x8xf32> {
  %0 = rt.fused(%w) domain [2, 8] row_dims 0 chunks 1 : (tensor<4x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %s = graph.slice %a {starts = array<i64: 2, 0>, limits = array<i64: 4, 8>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %y = graph.neg %s : tensor<2x8xf32>
    rt.yield %y : tensor<2x8xf32>
  }
  return %0 : tensor<2x8xf32>
}

// So are pieces of what a kernel computes, of which every step of a sequence
// reads its own.
// CHECK-LABEL: func.func @steps
// CHECK: %[[ALL:.+]] = rt.call @{{.+}}(%{{.+}}) : (tensor<3x8xf32>) -> tensor<3x8xf32>
// CHECK-DAG: %[[P0:.+]] = graph.slice %[[ALL]] {limits = array<i64: 1, 8>, starts = array<i64: 0, 0>
// CHECK-DAG: %[[P2:.+]] = graph.slice %[[ALL]] {limits = array<i64: 3, 8>, starts = array<i64: 2, 0>
// CHECK-DAG: rt.call @[[STEP:.+]](%[[P0]]) : (tensor<1x8xf32>) -> tensor<1x8xf32>
// CHECK-DAG: rt.call @[[STEP]](%[[P2]])
func.func @steps(%x: tensor<3x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  %all = rt.fused(%x) domain [3, 8] row_dims 0 chunks 1 : (tensor<3x8xf32>) -> tensor<3x8xf32> {
  ^bb0(%a: tensor<3x8xf32>):
    %y = graph.relu %a : tensor<3x8xf32>
    rt.yield %y : tensor<3x8xf32>
  }
  %0 = rt.fused(%all) domain [1, 8] row_dims 0 chunks 1 : (tensor<3x8xf32>) -> tensor<1x8xf32> {
  ^bb0(%a: tensor<3x8xf32>):
    %s = graph.slice %a {starts = array<i64: 0, 0>, limits = array<i64: 1, 8>, strides = array<i64: 1, 1>} : (tensor<3x8xf32>) -> tensor<1x8xf32>
    %y = graph.neg %s : tensor<1x8xf32>
    rt.yield %y : tensor<1x8xf32>
  }
  %1 = rt.fused(%all) domain [1, 8] row_dims 0 chunks 1 : (tensor<3x8xf32>) -> tensor<1x8xf32> {
  ^bb0(%a: tensor<3x8xf32>):
    %s = graph.slice %a {starts = array<i64: 2, 0>, limits = array<i64: 3, 8>, strides = array<i64: 1, 1>} : (tensor<3x8xf32>) -> tensor<1x8xf32>
    %y = graph.neg %s : tensor<1x8xf32>
    rt.yield %y : tensor<1x8xf32>
  }
  return %0, %1 : tensor<1x8xf32>, tensor<1x8xf32>
}
