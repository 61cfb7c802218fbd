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

// What a sum over rows gives stays as it is; the rest that the taker reads does
// not hang on it.
// CHECK-LABEL: func.func @beside_a_sum
// CHECK-SAME: %[[X:[^:]+]]: tensor<512x512xf32>
// CHECK: %[[S:.+]] = rt.fused(%[[X]]) {{.*}} -> tensor<512xf32>
// CHECK: rt.fused(%[[S]], %{{.+}}, %[[X]])
// CHECK-NOT: graph.reduce
// CHECK: return
func.func @beside_a_sum(%x: tensor<512x512xf32>, %g: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0:2 = rt.fused(%x) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512xf32>) {
  ^bb0(%a: tensor<512x512xf32>):
    %1 = graph.mul %a, %a : tensor<512x512xf32>
    %2 = graph.reduce sum, %1 {dims = array<i64: 0>} : (tensor<512x512xf32>) -> tensor<512xf32>
    rt.yield %1, %2 : tensor<512x512xf32>, tensor<512xf32>
  }
  %3 = rt.fused(%0#0, %0#1, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512xf32>, %c: tensor<512x512xf32>):
    %4 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<512xf32>) -> tensor<512x512xf32>
    %5 = graph.sub %a, %4 : tensor<512x512xf32>
    %6 = graph.mul %5, %c : tensor<512x512xf32>
    rt.yield %6 : tensor<512x512xf32>
  }
  return %3 : tensor<512x512xf32>
}

// Who reads by columns cannot compute by rows: the kernel before is left as it
// was, without the sum that was tried.
// CHECK-LABEL: func.func @by_columns
// CHECK: %[[F:.+]] = rt.fused(%{{.+}}) {{.*}} -> tensor<512x512xf32>
// CHECK: rt.fused(%[[F]], %{{[^,]+}}) {{.*}} -> tensor<512x512xf32>
// CHECK: graph.transpose
// CHECK: return
func.func @by_columns(%x: tensor<512x512xf32>, %g: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = rt.fused(%x) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>):
    %1 = graph.reduce sum, %a {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512xf32>
    %2 = graph.broadcast %1 {dims = array<i64: 0>} : (tensor<512xf32>) -> tensor<512x512xf32>
    %3 = graph.sub %a, %2 : tensor<512x512xf32>
    rt.yield %3 : tensor<512x512xf32>
  }
  %4 = rt.fused(%0, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %5 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %6 = graph.mul %5, %b : tensor<512x512xf32>
    rt.yield %6 : tensor<512x512xf32>
  }
  return %4 : tensor<512x512xf32>
}

dist.mesh @mesh ["data"=2]

// Who read what an all-reduce adds up in its place would make it copy that
// first.
// CHECK-LABEL: func.func @reduced_in_place
// CHECK: %[[S:.+]]:2 = rt.fused
// CHECK: dist.all_reduce %[[S]]#0
// CHECK: rt.fused(%[[S]]#1, %{{[^,]+}})
// CHECK: return
func.func @reduced_in_place(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>, %g: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %0:2 = rt.fused(%x, %y) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %1 = graph.mul %a, %b : tensor<512x512xf32>
    %2 = graph.mul %1, %1 : tensor<512x512xf32>
    rt.yield %1, %2 : tensor<512x512xf32>, tensor<512x512xf32>
  }
  %3 = dist.all_reduce %0#0 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %4 = rt.fused(%0#1, %g) domain [512, 512] row_dims 1 chunks 1 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %5 = graph.mul %a, %b : tensor<512x512xf32>
    rt.yield %5 : tensor<512x512xf32>
  }
  return %3, %4 : tensor<512x512xf32>, tensor<512x512xf32>
}

// A part of a variable, too, has its new value where the old one was.
// CHECK-LABEL: func.func @part_updated_before
// CHECK: %[[S:.+]]:2 = rt.fused
// CHECK: dist.all_gather %[[S]]#0
// CHECK: rt.fused(%[[S]]#1, %{{[^,]+}})
// CHECK: return
func.func @part_updated_before(%w: tensor<512x512xf32> {graph.variable = @w}, %g: tensor<256x512xf32>, %h: tensor<256x512xf32>)
    -> (tensor<256x512xf32>, tensor<512x512xf32> {graph.variable = @w}) {
  %0 = dist.all_slice %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<512x512xf32>) -> tensor<256x512xf32>
  %1:2 = rt.fused(%0, %g) domain [256, 512] row_dims 1 chunks 1 : (tensor<256x512xf32>, tensor<256x512xf32>) -> (tensor<256x512xf32>, tensor<256x512xf32>) {
  ^bb0(%a: tensor<256x512xf32>, %b: tensor<256x512xf32>):
    %2 = graph.sub %a, %b : tensor<256x512xf32>
    %3 = graph.mul %a, %a : tensor<256x512xf32>
    rt.yield %2, %3 : tensor<256x512xf32>, tensor<256x512xf32>
  }
  %4 = dist.all_gather %1#0 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<256x512xf32>) -> tensor<512x512xf32>
  %5 = rt.fused(%1#1, %h) domain [256, 512] row_dims 1 chunks 1 : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32> {
  ^bb0(%a: tensor<256x512xf32>, %b: tensor<256x512xf32>):
    %6 = graph.mul %a, %b : tensor<256x512xf32>
    rt.yield %6 : tensor<256x512xf32>
  }
  return %5, %4 : tensor<256x512xf32>, tensor<512x512xf32>
}
