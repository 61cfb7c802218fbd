// RUN: dist-opt %s --graph-recompute=memory-limit=100000 | FileCheck %s

// The programs of unequal devices compute the same again, what the largest one
// wants, although the small one meets the limit as it is: else their
// collectives' order would no longer be one.
// CHECK-LABEL: @train_step_portion0
// CHECK: graph.after
// CHECK-NEXT: graph.sin {{.*}} {graph.recomputed}
// CHECK-LABEL: @train_step_portion1
// CHECK: graph.after
// CHECK-NEXT: graph.sin {{.*}} {graph.recomputed}

// What is no share decides for itself.
// CHECK-LABEL: @alone
// CHECK-NOT: graph.after
// CHECK: return
graph.variable @w : tensor<64x64xf32> trainable = dense<0.5> : tensor<64x64xf32>
func.func @train_step_portion0(%x: tensor<64x64xf32> {graph.role = "input"},
                      %w: tensor<64x64xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"},
        tensor<64x64xf32> {graph.role = "gradient", graph.variable = @w})
    attributes {dist.entry = "train_step", dist.portion = {axis = "data", position = 0 : i64, weights = array<i64: 4, 1>}} {
  %h = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = graph.exp %h : tensor<64x64xf32>
  %b = graph.sin %a : tensor<64x64xf32>
  %c = graph.cos %b : tensor<64x64xf32>
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
func.func @train_step_portion1(%x: tensor<16x64xf32> {graph.role = "input"},
                      %w: tensor<64x64xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"},
        tensor<64x64xf32> {graph.role = "gradient", graph.variable = @w})
    attributes {dist.entry = "train_step", dist.portion = {axis = "data", position = 1 : i64, weights = array<i64: 4, 1>}} {
  %h = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %a = graph.exp %h : tensor<16x64xf32>
  %b = graph.sin %a : tensor<16x64xf32>
  %c = graph.cos %b : tensor<16x64xf32>
  %cc = graph.concat %c, %c {axis = 0 : i64} : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  %loss = graph.reduce sum, %cc {dims = array<i64: 0, 1>} : (tensor<32x64xf32>) -> tensor<f32>
  %g0 = graph.sin %x {graph.cotangent} : tensor<16x64xf32>
  %g = graph.neg %g0 {graph.cotangent} : tensor<16x64xf32>
  %g1 = graph.mul %g, %b {graph.cotangent} : tensor<16x64xf32>
  %g2 = graph.mul %g1, %a {graph.cotangent} : tensor<16x64xf32>
  %g3 = graph.mul %g2, %h {graph.cotangent} : tensor<16x64xf32>
  %dw = graph.dot_general %x, %g3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  return %loss, %dw : tensor<f32>, tensor<64x64xf32>
}
func.func @alone(%x: tensor<16x64xf32> {graph.role = "input"},
                      %w: tensor<64x64xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<f32> {graph.role = "loss"},
        tensor<64x64xf32> {graph.role = "gradient", graph.variable = @w}) {
  %h = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %a = graph.exp %h : tensor<16x64xf32>
  %b = graph.sin %a : tensor<16x64xf32>
  %c = graph.cos %b : tensor<16x64xf32>
  %cc = graph.concat %c, %c {axis = 0 : i64} : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  %loss = graph.reduce sum, %cc {dims = array<i64: 0, 1>} : (tensor<32x64xf32>) -> tensor<f32>
  %g0 = graph.sin %x {graph.cotangent} : tensor<16x64xf32>
  %g = graph.neg %g0 {graph.cotangent} : tensor<16x64xf32>
  %g1 = graph.mul %g, %b {graph.cotangent} : tensor<16x64xf32>
  %g2 = graph.mul %g1, %a {graph.cotangent} : tensor<16x64xf32>
  %g3 = graph.mul %g2, %h {graph.cotangent} : tensor<16x64xf32>
  %dw = graph.dot_general %x, %g3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  return %loss, %dw : tensor<f32>, tensor<64x64xf32>
}
