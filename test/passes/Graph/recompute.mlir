// RUN: dist-opt %s --graph-recompute --cse --canonicalize | FileCheck %s
// RUN: dist-opt %s --graph-recompute=ops=act/ --cse | FileCheck %s --check-prefix=NAMED
// RUN: dist-opt %s --graph-recompute=memory-limit=1000000 | FileCheck %s --check-prefix=FITS

// Of %h, %a and %b only %h is kept: %a and %b are computed again from it, behind
// the cotangent that their first reader has to wait for. What is equal does not
// merge with what came before.
// CHECK-LABEL: @train_step
// CHECK: %[[H:.+]] = graph.dot_general
// CHECK: %[[A:.+]] = graph.exp %[[H]]
// CHECK: %[[B:.+]] = graph.sin %[[A]]
// CHECK: graph.cos %[[B]]
// CHECK: %[[G:.+]] = graph.neg
// CHECK-NEXT: %[[KEPT:.+]] = graph.after %[[H]], %[[G]]
// CHECK-NEXT: %[[A2:.+]] = graph.exp %[[KEPT]] {graph.recomputed}
// CHECK-NEXT: %[[B2:.+]] = graph.sin %[[A2]] {graph.recomputed}
// CHECK-NEXT: %[[G2:.+]] = graph.mul %[[G]], %[[B2]]
// CHECK-NEXT: %[[G3:.+]] = graph.mul %[[G2]], %[[A2]]
// CHECK-NEXT: graph.mul %[[G3]], %[[H]]
// CHECK-NOT: graph.cotangent

// Only what has such a name, from what is kept at its boundary.
// NAMED-LABEL: @train_step
// NAMED: %[[A:.+]] = graph.exp
// NAMED: graph.sin %[[A]]
// NAMED: graph.neg
// NAMED-NEXT: graph.after %[[A]]
// NAMED-NEXT: graph.sin
// NAMED-NEXT: graph.mul
// NAMED-NEXT: graph.mul {{.*}}, %[[A]]

// Nothing where the limit is met.
// FITS-LABEL: @train_step
// FITS-NOT: graph.after
// FITS: return
graph.variable @w : tensor<64x64xf32> trainable = dense<0.5> : tensor<64x64xf32>
func.func @train_step(%x: tensor<64x64xf32> {graph.role = "input"},
                      %w: tensor<64x64xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"},
        tensor<64x64xf32> {graph.role = "gradient", graph.variable = @w}) {
  %h = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = graph.exp %h : tensor<64x64xf32> loc("exp")
  %b = graph.sin %a : tensor<64x64xf32> loc("act/sin")
  %c = graph.cos %b : tensor<64x64xf32> loc("cos")
  %cc = graph.concat %c, %c {axis = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %loss = graph.reduce sum, %cc {dims = array<i64: 0, 1>} : (tensor<128x64xf32>) -> tensor<f32>
  %g0 = graph.sin %x {graph.cotangent} : tensor<64x64xf32>
  %g = graph.neg %g0 {graph.cotangent} : tensor<64x64xf32>
  %g1 = graph.mul %g, %b {graph.cotangent} : tensor<64x64xf32>
  %g2 = graph.mul %g1, %a {graph.cotangent} : tensor<64x64xf32>
  %g3 = graph.mul %g2, %h {graph.cotangent} : tensor<64x64xf32>
  %dw = graph.dot_general %x, %g3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %loss, %dw : tensor<f32>, tensor<64x64xf32>
}
