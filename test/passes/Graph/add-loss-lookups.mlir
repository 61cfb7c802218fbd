// RUN: dist-opt %s -split-input-file --graph-add-loss='loss=none partial=true weights=1,1' | FileCheck %s

// A lookup in the batch itself: the input's numbers are of other examples.
// CHECK: module attributes {graph.full_batches = "'graph.gather' combines the examples of a batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %n: tensor<4x3xi64> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %0 = graph.gather %x, %n {axis = 0 : i64} : (tensor<4x2xf32>, tensor<4x3xi64>) -> tensor<4x3x2xf32>
    %1 = graph.reduce sum, %0 {dims = array<i64: 1>} : (tensor<4x3x2xf32>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
}

// -----

// The third example for all.
// CHECK: module attributes {graph.full_batches = "'graph.gather' combines the examples of a batch"}
// CHECK-NOT: _partial
// CHECK: func.func @eval_step(
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %i = graph.constant dense<2> : tensor<1xi64>
    %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<4x2xf32>, tensor<1xi64>) -> tensor<1x2xf32>
    %1 = graph.reshape %0 : (tensor<1x2xf32>) -> tensor<2xf32>
    %2 = graph.broadcast %1 {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<4x2xf32>
    %3 = graph.sub %x, %2 : tensor<4x2xf32>
    return %3 : tensor<4x2xf32>
  }
}

// -----

// In another order, and then a mean over the batch.
// CHECK: module attributes {graph.full_batches = "'graph.gather' combines the examples of a batch"}
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %i = graph.constant dense<[1, 0, 3, 2]> : tensor<4xi64>
    %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<4x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// Its own rows keep them: the mean over the batch is seen.
// CHECK: module attributes {graph.full_batches = "'graph.reduce' combines the examples of a batch"}
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %i = graph.iota {dim = 0 : i64} : tensor<4xi64>
    %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<4x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
    %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<4x2xf32>) -> tensor<2xf32>
    %2 = graph.broadcast %1 {dims = array<i64: 1>} : (tensor<2xf32>) -> tensor<4x2xf32>
    %3 = graph.sub %x, %2 : tensor<4x2xf32>
    return %3 : tensor<4x2xf32>
  }
}

// -----

// Coordinates and elements of another example.
// CHECK: module attributes {graph.full_batches = "'graph.gather_nd' combines the examples of a batch"}
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %n: tensor<4x1xi64> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %0 = graph.gather_nd %x, %n {batch_dims = 0 : i64} : (tensor<4x2xf32>, tensor<4x1xi64>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// CHECK: module attributes {graph.full_batches = "'graph.gather_elements' combines the examples of a batch"}
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %n: tensor<4x2xi64> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %0 = graph.gather_elements %x, %n {axis = 0 : i64} : (tensor<4x2xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// CHECK: module attributes {graph.full_batches = "'graph.scatter_elements' combines the examples of a batch"}
module {
  func.func @predict(%x: tensor<4x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %n: tensor<4x2xi64> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %0 = graph.scatter_elements add, %x, %n, %x {axis = 0 : i64} : (tensor<4x2xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// An element of each example's own: by coordinates that begin with the number
// of the example.
// CHECK-NOT: graph.full_batches
// CHECK: func.func @eval_step_partial
module {
  func.func @predict(%x: tensor<4x3x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %n: tensor<4xi64> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %c = graph.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>
    %0 = graph.reshape %n : (tensor<4xi64>) -> tensor<4x1xi64>
    %1 = graph.concat %c, %0 {axis = 1 : i64} : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x2xi64>
    %2 = graph.gather_nd %x, %1 {batch_dims = 0 : i64} : (tensor<4x3x2xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
    return %2 : tensor<4x2xf32>
  }
}

// -----

// By numbers along all examples' elements, as exporters of x[arange(4), i] have
// it; of what may be negative that counts from the end.
// CHECK-NOT: graph.full_batches
// CHECK: func.func @eval_step_partial
module {
  func.func @predict(%x: tensor<4x3x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %s: tensor<4x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %i = graph.iota {dim = 0 : i64} : tensor<4xi64>
    %three = graph.constant dense<3> : tensor<4xi64>
    %zero = graph.constant dense<0> : tensor<4xi64>
    %a = graph.arg_max %s {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4xi64>
    %l = graph.compare lt, %a, %zero : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
    %w = graph.add %a, %three : tensor<4xi64>
    %p = graph.select %l, %w, %a : (tensor<4xi1>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
    %0 = graph.mul %i, %three : tensor<4xi64>
    %1 = graph.add %0, %p : tensor<4xi64>
    %2 = graph.reshape %x : (tensor<4x3x2xf32>) -> tensor<12x2xf32>
    %3 = graph.gather %2, %1 {axis = 0 : i64} : (tensor<12x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
    return %3 : tensor<4x2xf32>
  }
}

// -----

// The same of a number that may be the next example's first.
// CHECK: module attributes {graph.full_batches = "'graph.gather' combines the examples of a batch"}
module {
  func.func @predict(%x: tensor<4x3x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
                     %s: tensor<4x3xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
      -> (tensor<4x2xf32> {graph.role = "output"}) {
    %i = graph.iota {dim = 0 : i64} : tensor<4xi64>
    %three = graph.constant dense<3> : tensor<4xi64>
    %one = graph.constant dense<1> : tensor<4xi64>
    %a = graph.arg_max %s {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4xi64>
    %p = graph.add %a, %one : tensor<4xi64>
    %0 = graph.mul %i, %three : tensor<4xi64>
    %1 = graph.add %0, %p : tensor<4xi64>
    %2 = graph.reshape %x : (tensor<4x3x2xf32>) -> tensor<12x2xf32>
    %3 = graph.gather %2, %1 {axis = 0 : i64} : (tensor<12x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
    return %3 : tensor<4x2xf32>
  }
}

// -----

// A table that holds no examples.
// CHECK-NOT: graph.full_batches
// CHECK: func.func @eval_step_partial
module {
  func.func @predict(%i: tensor<4x3xi64> {graph.role = "input", graph.batch_dim = 0 : i64}, %t: tensor<5x2xf32>)
      -> (tensor<4x3x2xf32> {graph.role = "output"}) {
    %0 = graph.gather %t, %i {axis = 0 : i64} : (tensor<5x2xf32>, tensor<4x3xi64>) -> tensor<4x3x2xf32>
    return %0 : tensor<4x3x2xf32>
  }
}
