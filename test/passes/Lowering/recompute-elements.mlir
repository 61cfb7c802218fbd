// RUN: dist-opt %s --rt-recompute-elements | FileCheck %s

// What is a few instructions away is computed where it is read; what somebody
// else reads is stored in any case.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[X:[^:]+]]: tensor<512x512xf32>, %[[G:[^:]+]]: tensor<512x512xf32>
// CHECK: %[[T:.+]] = rt.fused(%[[X]]) {{.*}} -> tensor<512x512xf32>
// CHECK: rt.yield %{{.+}} : tensor<512x512xf32>
// CHECK: %[[R:.+]] = rt.fused(%[[T]], %[[G]], %[[X]]) {{.*}} -> tensor<512x512xf32>
// CHECK: ^bb0(%[[A:.+]]: tensor<512x512xf32>, %[[B:.+]]: tensor<512x512xf32>, %[[C:.+]]: tensor<512x512xf32>):
// CHECK: %[[S:.+]] = graph.mul %[[C]], %[[C]]
// CHECK: %[[P:.+]] = graph.add %[[S]], %[[C]]
// CHECK: graph.mul %[[S]], %[[P]]
// CHECK-NOT: graph.tanh
// CHECK: return %[[T]], %[[R]]
func.func @chain(%x: tensor<512x512xf32>, %g: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %0:3 = rt.fused(%x) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  ^bb0(%a: tensor<512x512xf32>):
    %1 = graph.mul %a, %a : tensor<512x512xf32>
    %2 = graph.add %1, %a : tensor<512x512xf32>
    %3 = graph.tanh %2 : tensor<512x512xf32>
    rt.yield %1, %2, %3 : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
  }
  %5 = rt.fused(%0#0, %0#1, %0#2, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>, %c: tensor<512x512xf32>, %d: tensor<512x512xf32>):
    %1 = graph.mul %a, %b : tensor<512x512xf32>
    %2 = graph.mul %1, %c : tensor<512x512xf32>
    %3 = graph.mul %2, %d : tensor<512x512xf32>
    rt.yield %3 : tensor<512x512xf32>
  }
  return %0#2, %5 : tensor<512x512xf32>, tensor<512x512xf32>
}

// A normalized value is its input, and two numbers a row: the sum, which nobody
// read before, is stored instead. The reduction runs once.
// CHECK-LABEL: func.func @norm
// CHECK-SAME: %[[X:[^:]+]]: tensor<512x512xf32>
// CHECK: %[[F:.+]] = rt.fused(%[[X]]) {{.*}} -> tensor<512xf32>
// CHECK: %[[SUM:.+]] = graph.reduce sum
// CHECK: rt.yield %[[SUM]]
// CHECK: rt.fused(%{{.+}}, %[[X]], %[[F]])
// CHECK-NOT: graph.reduce sum
// CHECK: graph.sub
// CHECK: return
func.func @norm(%x: tensor<512x512xf32>, %g: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = rt.fused(%x) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>):
    %1 = graph.reduce sum, %a {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512xf32>
    %2 = graph.broadcast %1 {dims = array<i64: 0>} : (tensor<512xf32>) -> tensor<512x512xf32>
    %3 = graph.sub %a, %2 : tensor<512x512xf32>
    rt.yield %3 : tensor<512x512xf32>
  }
  %5 = rt.fused(%0, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %1 = graph.mul %a, %b : tensor<512x512xf32>
    rt.yield %1 : tensor<512x512xf32>
  }
  return %5 : tensor<512x512xf32>
}

// Small values stay in the caches: there an exp takes longer than to store it.
// CHECK-LABEL: func.func @cached
// CHECK: graph.exp
// CHECK: rt.fused
// CHECK-NOT: graph.exp
// CHECK: return
func.func @cached(%x: tensor<64x64xf32>, %g: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = rt.fused(%x) domain [64, 64] row_dims 1 chunks 1 : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    %1 = graph.exp %a : tensor<64x64xf32>
    rt.yield %1 : tensor<64x64xf32>
  }
  %1 = rt.fused(%0, %g) domain [64, 64] row_dims 1 chunks 1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
    %2 = graph.mul %a, %b : tensor<64x64xf32>
    rt.yield %2 : tensor<64x64xf32>
  }
  return %1 : tensor<64x64xf32>
}

// A sum over rows is known when all rows are done: nobody computes it again.
// CHECK-LABEL: func.func @outer_reduction
// CHECK: graph.reduce sum
// CHECK: rt.fused
// CHECK-NOT: graph.reduce
// CHECK: return
func.func @outer_reduction(%x: tensor<512x512xf32>, %g: tensor<512xf32>) -> tensor<512xf32> {
  %0 = rt.fused(%x) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512x512xf32>):
    %1 = graph.reduce sum, %a {dims = array<i64: 0>} : (tensor<512x512xf32>) -> tensor<512xf32>
    rt.yield %1 : tensor<512xf32>
  }
  %1 = rt.fused(%0, %g) domain [512] row_dims 1 chunks 1 : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>, %b: tensor<512xf32>):
    %2 = graph.mul %a, %b : tensor<512xf32>
    rt.yield %2 : tensor<512xf32>
  }
  return %1 : tensor<512xf32>
}

graph.variable @w : tensor<512x512xf32> trainable {group = "parameter"} = dense<0.0> : tensor<512x512xf32>

// The update itself reads the old value; so weight decay is its own affair.
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[W:[^:]+]]: tensor<512x512xf32>
// CHECK: %[[N:.+]] = rt.fused(%{{.+}}, %[[W]]) {{.*}} -> tensor<512x512xf32>
// CHECK: graph.mul
// CHECK: graph.sub
// CHECK: return %{{.+}}, %[[N]]
func.func @update(%w: tensor<512x512xf32> {graph.variable = @w}, %g: tensor<512x512xf32>)
    -> (tensor<512x512xbf16>, tensor<512x512xf32> {graph.variable = @w}) {
  %0:2 = rt.fused(%w) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>) -> (tensor<512x512xbf16>, tensor<512x512xf32>) {
  ^bb0(%a: tensor<512x512xf32>):
    %1 = graph.convert %a : (tensor<512x512xf32>) -> tensor<512x512xbf16>
    %2 = graph.mul %a, %a : tensor<512x512xf32>
    rt.yield %1, %2 : tensor<512x512xbf16>, tensor<512x512xf32>
  }
  %1 = rt.fused(%0#1, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %2 = graph.sub %a, %b : tensor<512x512xf32>
    rt.yield %2 : tensor<512x512xf32>
  }
  return %0#0, %1 : tensor<512x512xbf16>, tensor<512x512xf32>
}

// Where the variable has its new value by then, what was made of the old one is
// stored: else the old one would have to be copied.
// CHECK-LABEL: func.func @updated_before
// CHECK: %[[S:.+]]:2 = rt.fused
// CHECK: rt.fused(%[[S]]#1
// CHECK: return
func.func @updated_before(%w: tensor<512x512xf32> {graph.variable = @w}, %g: tensor<512x512xf32>)
    -> (tensor<512x512xf32>, tensor<512x512xf32> {graph.variable = @w}) {
  %0:2 = rt.fused(%w, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %1 = graph.sub %a, %b : tensor<512x512xf32>
    %2 = graph.mul %a, %a : tensor<512x512xf32>
    rt.yield %1, %2 : tensor<512x512xf32>, tensor<512x512xf32>
  }
  %1 = rt.fused(%0#1, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %2 = graph.sub %a, %b : tensor<512x512xf32>
    rt.yield %2 : tensor<512x512xf32>
  }
  return %1, %0#0 : tensor<512x512xf32>, tensor<512x512xf32>
}
