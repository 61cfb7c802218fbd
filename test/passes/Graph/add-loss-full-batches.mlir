// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=none partial=true' | FileCheck %s

// A mean over the batch: copies of examples would count in it.
// CHECK: module attributes {graph.full_batches = "'graph.reduce' combines the examples of a batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %0 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<4x2xf32>) -> tensor<2xf32>
    %1 = graph.broadcast %0 {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<4x2xf32>
    %2 = graph.sub %x, %1 : tensor<4x2xf32>
    return %2 : tensor<4x2xf32>
  }
}

// -----

// Each example with each other, as contrastive losses have it.
// CHECK: module attributes {graph.full_batches = "'graph.softmax' combines the examples of a batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x4xf32> {graph.role = "output"}) {
    %0 = graph.dot_general %x, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
    %1 = graph.softmax %0 {axis = 1 : i64} : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}

// -----

// Two examples in a row.
// CHECK: module attributes {graph.full_batches = "'graph.reshape' combines the examples of a batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4xf32> {graph.role = "output"}) {
    %0 = graph.reshape %x : (tensor<4x2xf32>) -> tensor<2x4xf32>
    %1 = graph.reduce max, %0 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// A part of the batch for all.
// CHECK: module attributes {graph.full_batches = "'graph.slice' combines the examples of a batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %0 = graph.slice %x {starts = array<i64: 3, 0>, limits = array<i64: 4, 2>, strides = array<i64: 1, 1>} : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %1 = graph.reshape %0 : (tensor<1x2xf32>) -> tensor<2xf32>
    %2 = graph.broadcast %1 {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<4x2xf32>
    %3 = graph.mul %2, %x : tensor<4x2xf32>
    return %3 : tensor<4x2xf32>
  }
}

// -----

// The model has averaged: what of its number is a copy's cannot be told.
// CHECK: module attributes {graph.full_batches = "the loss is one number for a whole batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<f32> {graph.role = "output"}) {
    %0 = graph.reduce sum, %x {dims = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// Each for itself: dims that are joined and split again, turned, behind each
// other (two views of each example), and picked by indices of the example's own.
// What another output combines is not of the loss.
// CHECK-NOT: graph.full_batches
// CHECK: func.func @eval_step_partial
module {
  func.func @predict(%x: tensor<4x3x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %i: tensor<4x1xi64> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %w: tensor<2x2xf32>)
      -> (tensor<4xf32> {graph.role = "output"}, tensor<3x2xf32> {graph.role = "output"}) {
    %0 = graph.reshape %x : (tensor<4x3x2xf32>) -> tensor<12x2xf32>
    %1 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<12x2xf32>, tensor<2x2xf32>) -> tensor<12x2xf32>
    %2 = graph.reshape %1 : (tensor<12x2xf32>) -> tensor<4x3x2xf32>
    %3 = graph.concat %x, %2 {axis = 0 : i64} : (tensor<4x3x2xf32>, tensor<4x3x2xf32>) -> tensor<8x3x2xf32>
    %4 = graph.reshape %3 : (tensor<8x3x2xf32>) -> tensor<2x4x3x2xf32>
    %5 = graph.reduce sum, %4 {dims = array<i64: 0>} : (tensor<2x4x3x2xf32>) -> tensor<4x3x2xf32>
    %6 = graph.slice %3 {starts = array<i64: 4, 0, 0>, limits = array<i64: 8, 3, 2>, strides = array<i64: 1, 1, 1>} : (tensor<8x3x2xf32>) -> tensor<4x3x2xf32>
    %7 = graph.add %5, %6 : tensor<4x3x2xf32>
    %8 = graph.gather_nd %7, %i {batch_dims = 1 : i64} : (tensor<4x3x2xf32>, tensor<4x1xi64>) -> tensor<4x2xf32>
    %9 = graph.transpose %8 {permutation = array<i64: 1, 0>} : (tensor<4x2xf32>) -> tensor<2x4xf32>
    %10 = graph.softmax %9 {axis = 0 : i64} : tensor<2x4xf32>
    %11 = graph.reduce max, %10 {dims = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
    %12 = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<4x3x2xf32>) -> tensor<3x2xf32>
    return %11, %12 : tensor<4xf32>, tensor<3x2xf32>
  }
}

// -----

// Each with each other, which the loss then goes over.
// CHECK: module attributes {graph.full_batches = "output 'y' has the examples of a batch in dim 1, too"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x4xf32> {graph.role = "output", graph.name = "y"}) {
    %0 = graph.dot_general %x, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
