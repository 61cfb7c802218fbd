// RUN: dist-opt %s --test-explain -o /dev/null | FileCheck %s

// What a device has beside its variables, by when
// it is there. Columns: parameters, gradients, optimizer slots, other state,
// inputs, activations, communication buffers, peak.

dist.mesh @mesh ["data"=2]
graph.variable @a : tensor<64x2xf32> trainable = dense<0.5> : tensor<64x2xf32>
graph.variable @b : tensor<64x2xf32> trainable = dense<0.5> : tensor<64x2xf32>
graph.variable @m : tensor<64x2xf32> {group = "slot", slot_of = @a} = dense<0.0> : tensor<64x2xf32>
graph.variable @n : tensor<32x2xf32> trainable = dense<0.5> : tensor<32x2xf32>
graph.variable @o : tensor<32x2xf32> trainable = dense<0.5> : tensor<32x2xf32>

// An update is one kernel in place: what it computes on its way (%1 to %3) is
// nowhere, and a gradient in bf16 is as large as its buffer, not as the variable.
// CHECK: @update
// CHECK: peak
// CHECK-NEXT: {{^ *}}512 B {{ *}}256 B {{ *}}512 B {{ *}}0 B {{ *}}132 B {{ *}}0 B {{ *}}256 B {{ *}}1.4 KiB
func.func @update(
    %x: tensor<1x64xbf16> {graph.role = "input"}, %y: tensor<1x2xbf16> {graph.role = "input"},
    %a: tensor<64x2xf32> {graph.role = "variable", graph.variable = @a},
    %m: tensor<64x2xf32> {graph.role = "variable", graph.variable = @m})
    -> (tensor<64x2xf32> {graph.role = "variable", graph.variable = @a},
        tensor<64x2xf32> {graph.role = "variable", graph.variable = @m}) {
  %g = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<1x64xbf16>, tensor<1x2xbf16>) -> tensor<64x2xbf16>
  %r = dist.all_reduce %g over @mesh ["data"] {reason = "why", origin = "where"} : (tensor<64x2xbf16>) -> tensor<64x2xbf16>
  %1 = graph.convert %r : (tensor<64x2xbf16>) -> tensor<64x2xf32>
  %2 = graph.add %m, %1 : tensor<64x2xf32>
  %3 = graph.mul %2, %2 : tensor<64x2xf32>
  %4 = graph.sub %a, %3 : tensor<64x2xf32>
  return %4, %2 : tensor<64x2xf32>, tensor<64x2xf32>
}

// Two activations that are reduced one after the other are in no buffers at once.
// CHECK: @in_turns
// CHECK: peak
// CHECK-NEXT: {{^ *}}0 B {{ *}}0 B {{ *}}0 B {{ *}}0 B {{ *}}512 B {{ *}}0 B {{ *}}1.0 KiB {{ *}}1.5 KiB
func.func @in_turns(%x: tensor<64x2xf32> {graph.role = "input"}) -> tensor<64x2xf32> {
  %1 = graph.relu %x : tensor<64x2xf32>
  %2 = dist.all_reduce %1 over @mesh ["data"] {reason = "why", origin = "where"} : (tensor<64x2xf32>) -> tensor<64x2xf32>
  %3 = graph.relu %2 : tensor<64x2xf32>
  %4 = dist.all_reduce %3 over @mesh ["data"] {reason = "why", origin = "where"} : (tensor<64x2xf32>) -> tensor<64x2xf32>
  %5 = graph.relu %4 : tensor<64x2xf32>
  %6 = dist.all_reduce %5 over @mesh ["data"] {reason = "why", origin = "where"} : (tensor<64x2xf32>) -> tensor<64x2xf32>
  return %6 : tensor<64x2xf32>
}

// In turns, whole gradients are in a buffer of one until they are reduced: the
// parts stay.
// CHECK: @scattered
// CHECK: peak
// CHECK-NEXT: {{^ *}}512 B {{ *}}512 B {{ *}}0 B {{ *}}0 B {{ *}}264 B {{ *}}0 B {{ *}}512 B {{ *}}1.5 KiB
func.func @scattered(
    %x: tensor<1x64xf32> {graph.role = "input"}, %y: tensor<1x2xf32> {graph.role = "input"},
    %n: tensor<32x2xf32> {graph.role = "variable", graph.variable = @n},
    %o: tensor<32x2xf32> {graph.role = "variable", graph.variable = @o})
    -> (tensor<32x2xf32> {graph.role = "variable", graph.variable = @n},
        tensor<32x2xf32> {graph.role = "variable", graph.variable = @o}) {
  %g = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<1x2xf32>) -> tensor<64x2xf32>
  %p = dist.reduce_scatter %g over @mesh ["data"] {dims = array<i64: 0>, reason = "why", origin = "where"} : (tensor<64x2xf32>) -> tensor<32x2xf32>
  %h = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<1x2xf32>) -> tensor<64x2xf32>
  %q = dist.reduce_scatter %h over @mesh ["data"] {dims = array<i64: 0>, reason = "why", origin = "where"} : (tensor<64x2xf32>) -> tensor<32x2xf32>
  %1 = graph.sub %n, %p : tensor<32x2xf32>
  %2 = graph.sub %o, %q : tensor<32x2xf32>
  return %1, %2 : tensor<32x2xf32>, tensor<32x2xf32>
}

// Beside computation, a whole one is read until the wait, and its part is there
// from the start on.
// CHECK: @scattered_ahead
// CHECK: peak
// CHECK-NEXT: {{^ *}}512 B {{ *}}1.5 KiB {{ *}}0 B {{ *}}0 B {{ *}}264 B {{ *}}0 B {{ *}}0 B {{ *}}2.3 KiB
func.func @scattered_ahead(
    %x: tensor<1x64xf32> {graph.role = "input"}, %y: tensor<1x2xf32> {graph.role = "input"},
    %n: tensor<32x2xf32> {graph.role = "variable", graph.variable = @n},
    %o: tensor<32x2xf32> {graph.role = "variable", graph.variable = @o})
    -> (tensor<32x2xf32> {graph.role = "variable", graph.variable = @n},
        tensor<32x2xf32> {graph.role = "variable", graph.variable = @o}) {
  %g = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<1x2xf32>) -> tensor<64x2xf32>
  %s = dist.reduce_scatter_start %g over @mesh ["data"] {dims = array<i64: 0>, reason = "why", origin = "where"} : (tensor<64x2xf32>) -> !dist.token<tensor<32x2xf32>>
  %h = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<1x2xf32>) -> tensor<64x2xf32>
  %t = dist.reduce_scatter_start %h over @mesh ["data"] {dims = array<i64: 0>, reason = "why", origin = "where"} : (tensor<64x2xf32>) -> !dist.token<tensor<32x2xf32>>
  %p = dist.wait %s : (!dist.token<tensor<32x2xf32>>) -> tensor<32x2xf32>
  %1 = graph.sub %n, %p : tensor<32x2xf32>
  %q = dist.wait %t : (!dist.token<tensor<32x2xf32>>) -> tensor<32x2xf32>
  %2 = graph.sub %o, %q : tensor<32x2xf32>
  return %1, %2 : tensor<32x2xf32>, tensor<32x2xf32>
}

// Gradients of microbatches are there until they are added, with their sum; a
// sum kept in a variable is reduced in a buffer of its own.
// CHECK: @microbatches
// CHECK: peak
// CHECK-NEXT: {{^ *}}512 B {{ *}}1.5 KiB {{ *}}0 B {{ *}}0 B {{ *}}264 B {{ *}}0 B {{ *}}0 B {{ *}}2.3 KiB
func.func @microbatches(
    %x: tensor<1x64xf32> {graph.role = "input"}, %y: tensor<1x2xf32> {graph.role = "input"},
    %a: tensor<64x2xf32> {graph.role = "variable", graph.variable = @a})
    -> (tensor<64x2xf32> {graph.role = "variable", graph.variable = @a}) {
  %g = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<1x2xf32>) -> tensor<64x2xf32>
  %h = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<1x64xf32>, tensor<1x2xf32>) -> tensor<64x2xf32>
  %s = graph.add %g, %h : tensor<64x2xf32>
  %1 = graph.sub %a, %s : tensor<64x2xf32>
  return %1 : tensor<64x2xf32>
}
// CHECK: @kept
// CHECK: peak
// CHECK-NEXT: {{^ *}}512 B {{ *}}512 B {{ *}}512 B {{ *}}0 B {{ *}}0 B {{ *}}0 B {{ *}}512 B {{ *}}1.5 KiB
func.func @kept(
    %a: tensor<64x2xf32> {graph.role = "variable", graph.variable = @a},
    %m: tensor<64x2xf32> {graph.role = "variable", graph.variable = @m})
    -> (tensor<64x2xf32> {graph.role = "variable", graph.variable = @a}) {
  %r = dist.all_reduce %m over @mesh ["data"] {reason = "why", origin = "where"} : (tensor<64x2xf32>) -> tensor<64x2xf32>
  %1 = graph.sub %a, %r : tensor<64x2xf32>
  return %1 : tensor<64x2xf32>
}
