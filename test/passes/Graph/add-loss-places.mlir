// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=none partial=true weights=1,1' | FileCheck %s
// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=none partial=true weights=1' | FileCheck %s --check-prefix=ONE

// Copies behind the first part move the examples of the next to other places: a
// parameter for each place would be another's. On one device they are behind all.
// CHECK: module attributes {graph.full_batches = "'graph.mul' computes with a number for each place in a batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
// ONE-NOT: graph.full_batches
// ONE: func.func @eval_step_partial(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64}, %p: tensor<4x2xf32>)
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %0 = graph.mul %x, %p : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// A count of them, beside each in its row.
// CHECK: module attributes {graph.full_batches = "'graph.concat' computes with a number for each place in a batch"}
// ONE-NOT: graph.full_batches
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x3xf32> {graph.role = "output"}) {
    %i = graph.iota {dim = 0 : i64} : tensor<4x1xf32>
    %0 = graph.concat %x, %i {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
    %1 = graph.neg %0 : tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}

// -----

// An output that is nothing else.
// CHECK: module attributes {graph.full_batches = "output 'y' has a number for each place in a batch"}
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64}, %p: tensor<4x2xf32>)
      -> (tensor<4x2xf32> {graph.role = "output", graph.name = "y"}) {
    %0 = graph.neg %p : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// A diagonal: which element is picked of each example says its place.
// CHECK: module attributes {graph.full_batches = "'graph.gather_nd' computes with a number for each place in a batch"}
module {
  func.func @predict(%x: tensor<4x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4xf32> {graph.role = "output"}) {
    %c = graph.constant dense<[[0, 0], [1, 1], [2, 2], [3, 3]]> : tensor<4x2xi64>
    %0 = graph.gather_nd %x, %c {batch_dims = 0 : i64} : (tensor<4x4xf32>, tensor<4x2xi64>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// The same for each example: numbers along tokens, spelled out for all or not,
// one parameter for all, zeros.
// CHECK-NOT: graph.full_batches
// CHECK: func.func @eval_step_partial
module {
  func.func @predict(%x: tensor<2x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64}, %p: tensor<3xf32>)
      -> (tensor<2x3xf32> {graph.role = "output"}) {
    %0 = graph.constant dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
    %1 = graph.add %x, %0 : tensor<2x3xf32>
    %2 = graph.constant dense<[4.0, 1.0, 2.0, 4.0, 1.0, 2.0]> : tensor<6xf32>
    %3 = graph.reshape %1 : (tensor<2x3xf32>) -> tensor<6xf32>
    %4 = graph.mul %3, %2 : tensor<6xf32>
    %5 = graph.broadcast %p {dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<2x3xf32>
    %6 = graph.iota {dim = 1 : i64} : tensor<2x3xf32>
    %7 = graph.mul %5, %6 : tensor<2x3xf32>
    %8 = graph.reshape %7 : (tensor<2x3xf32>) -> tensor<6xf32>
    %9 = graph.add %4, %8 : tensor<6xf32>
    %10 = graph.reshape %9 : (tensor<6xf32>) -> tensor<2x3xf32>
    %11 = graph.constant dense<0.0> : tensor<2x3xf32>
    %12 = graph.max %10, %11 : tensor<2x3xf32>
    return %12 : tensor<2x3xf32>
  }
}

// -----

// A state that steps start from, which nothing trains; not so where something
// assigns it.
// CHECK-NOT: graph.full_batches
// CHECK: func.func @eval_step_partial
module {
  graph.variable @h : tensor<4x2xf32> = dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<4x2xf32>
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %h = graph.read @h : tensor<4x2xf32>
    %0 = graph.mul %x, %h : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// CHECK: module attributes {graph.full_batches = "'graph.mul' computes with a number for each place in a batch"}
module {
  graph.variable @h : tensor<4x2xf32> = dense<1.0> : tensor<4x2xf32>
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %h = graph.read @h : tensor<4x2xf32>
    %0 = graph.mul %x, %h : tensor<4x2xf32>
    graph.assign @h, %0 : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
