// RUN: dist-opt %s --split-input-file --dist-pipeline-stages | FileCheck %s

// Forward the first layer is nearer to half of all; but the others have a product
// more in the backward pass.
// CHECK: graph.variable @a {{.*}}dist.stage = 0
// CHECK: graph.variable @b {{.*}}dist.stage = 0
// CHECK: graph.variable @c {{.*}}dist.stage = 1
graph.variable @a : tensor<256x256xf32> trainable = dense<0.1> : tensor<256x256xf32>
graph.variable @b : tensor<256x128xf32> trainable = dense<0.1> : tensor<256x128xf32>
graph.variable @c : tensor<128x384xf32> trainable = dense<0.1> : tensor<128x384xf32>
func.func @train_step(%x: tensor<256x256xf32>, %a: tensor<256x256xf32> {graph.variable = @a},
    %b: tensor<256x128xf32> {graph.variable = @b}, %c: tensor<128x384xf32> {graph.variable = @c})
    -> (tensor<f32> {graph.role = "loss"}, tensor<256x256xf32> {graph.variable = @a}, tensor<256x128xf32> {graph.variable = @b}, tensor<128x384xf32> {graph.variable = @c}) {
  %0 = graph.dot_general %x, %a {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = graph.dot_general %0, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<256x256xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
  %2 = graph.dot_general %1, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<256x128xf32>, tensor<128x384xf32>) -> tensor<256x384xf32>
  %loss = graph.reduce sum, %2 {dims = array<i64: 0, 1>} : (tensor<256x384xf32>) -> tensor<f32>
  %gc = graph.dot_general %1, %2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<256x128xf32>, tensor<256x384xf32>) -> tensor<128x384xf32>
  %d1 = graph.dot_general %2, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<256x384xf32>, tensor<128x384xf32>) -> tensor<256x128xf32>
  %gb = graph.dot_general %0, %d1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<256x256xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
  %d0 = graph.dot_general %d1, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x256xf32>
  %ga = graph.dot_general %x, %d0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %a2 = graph.sub %a, %ga : tensor<256x256xf32>
  %b2 = graph.sub %b, %gb : tensor<256x128xf32>
  %c2 = graph.sub %c, %gc : tensor<128x384xf32>
  return %loss, %a2, %b2, %c2 : tensor<f32>, tensor<256x256xf32>, tensor<256x128xf32>, tensor<128x384xf32>
}

// -----

// A bias stays with its product, also where what crosses is smaller behind that.
// CHECK: graph.variable @w1 {{.*}}dist.stage = 0
// CHECK: graph.variable @b1 {{.*}}dist.stage = 0
// CHECK: graph.variable @w2 {{.*}}dist.stage = 1
// CHECK: graph.variable @b2 {{.*}}dist.stage = 1
graph.variable @w1 : tensor<64x32xf32> trainable = dense<0.1> : tensor<64x32xf32>
graph.variable @b1 : tensor<32xf32> trainable = dense<0.1> : tensor<32xf32>
graph.variable @w2 : tensor<32x2xf32> trainable = dense<0.1> : tensor<32x2xf32>
graph.variable @b2 : tensor<2xf32> trainable = dense<0.1> : tensor<2xf32>
func.func @predict(%x: tensor<8x64xf32>, %w1: tensor<64x32xf32> {graph.variable = @w1}, %b1: tensor<32xf32> {graph.variable = @b1},
    %w2: tensor<32x2xf32> {graph.variable = @w2}, %b2: tensor<2xf32> {graph.variable = @b2}) -> (tensor<8x2xf32> {graph.role = "output"}) {
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %1 = graph.broadcast %b1 {dims = array<i64: 1>} : (tensor<32xf32>) -> tensor<8x32xf32>
  %2 = graph.add %0, %1 : tensor<8x32xf32>
  %3 = graph.dot_general %2, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x32xf32>, tensor<32x2xf32>) -> tensor<8x2xf32>
  %4 = graph.broadcast %b2 {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<8x2xf32>
  %5 = graph.add %3, %4 : tensor<8x2xf32>
  return %5 : tensor<8x2xf32>
}
