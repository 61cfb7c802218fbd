// RUN: dist-opt %s --graph-index-inputs | FileCheck %s

// What reaches indices as it is, through views and wider types.
// CHECK-LABEL: func @lookup
// CHECK-SAME: %arg0: tensor<2x3xi32> {graph.index_count = array<i64: 8>, graph.role = "input"}
func.func @lookup(%ids: tensor<2x3xi32> {graph.role = "input"}, %table: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %0 = graph.convert %ids : (tensor<2x3xi32>) -> tensor<2x3xi64>
  %1 = graph.reshape %0 : (tensor<2x3xi64>) -> tensor<6xi64>
  %2 = graph.gather %table, %1 {axis = 0 : i64} : (tensor<8x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// Held back until something else has run, they are the same numbers.
// CHECK-LABEL: func @ordered
// CHECK-SAME: %arg0: tensor<3xi64> {graph.index_count = array<i64: 8>, graph.role = "input"}
func.func @ordered(%ids: tensor<3xi64> {graph.role = "input"}, %anchor: tensor<2xf32>, %table: tensor<8x4xf32>) -> tensor<3x4xf32> {
  %0 = graph.after %ids, %anchor : tensor<3xi64>, tensor<2xf32>
  %1 = graph.gather %table, %0 {axis = 0 : i64} : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// Repeated, each coordinate stays in its column; a column for itself does not.
// CHECK-LABEL: func @repeated
// CHECK-SAME: %arg0: tensor<2xi64> {graph.index_count = array<i64: 2, 4>, graph.role = "input"}
// CHECK-SAME: %arg1: tensor<5xi64> {graph.index_count = array<i64: 4>, graph.role = "input"}
func.func @repeated(%a: tensor<2xi64> {graph.role = "input"}, %b: tensor<5xi64> {graph.role = "input"}, %y: tensor<2x4xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %0 = graph.broadcast %a {dims = array<i64: 1>} : (tensor<2xi64>) -> tensor<5x2xi64>
  %1 = graph.gather_nd %y, %0 {batch_dims = 0 : i64} : (tensor<2x4xf32>, tensor<5x2xi64>) -> tensor<5xf32>
  %2 = graph.broadcast %b {dims = array<i64: 0>} : (tensor<5xi64>) -> tensor<5x2xi64>
  %3 = graph.gather_nd %y, %2 {batch_dims = 0 : i64} : (tensor<2x4xf32>, tensor<5x2xi64>) -> tensor<5xf32>
  return %1, %3 : tensor<5xf32>, tensor<5xf32>
}

// Of two tables the smaller one, along the dim that is indexed.
// CHECK-LABEL: func @smallest
// CHECK-SAME: %arg0: tensor<3xi64> {graph.index_count = array<i64: 4>, graph.role = "input"}
func.func @smallest(%ids: tensor<3xi64> {graph.role = "input"}, %a: tensor<8x4xf32>) -> (tensor<3x4xf32>, tensor<8x3xf32>) {
  %0 = graph.gather %a, %ids {axis = 0 : i64} : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %1 = graph.gather %a, %ids {axis = 1 : i64} : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<8x3xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<8x3xf32>
}

// Without a sign, and narrower where all rows have a number there.
// CHECK-LABEL: func @types
// CHECK-SAME: %arg0: tensor<3xui8> {graph.index_count = array<i64: 8>, graph.role = "input"}
// CHECK-SAME: %arg1: tensor<3xi64> {graph.index_count = array<i64: 8>, graph.role = "input"}
func.func @types(%a: tensor<3xui8> {graph.role = "input"}, %b: tensor<3xi64> {graph.role = "input"}, %x: tensor<8xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = graph.convert %a : (tensor<3xui8>) -> tensor<3xi64>
  %1 = graph.gather %x, %0 {axis = 0 : i64} : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32>
  %2 = graph.convert %b : (tensor<3xi64>) -> tensor<3xi8>
  %3 = graph.gather %x, %2 {axis = 0 : i64} : (tensor<8xf32>, tensor<3xi8>) -> tensor<3xf32>
  return %1, %3 : tensor<3xf32>, tensor<3xf32>
}

// Not of booleans, and not where numbers become others on the way.
// CHECK-LABEL: func @others
// CHECK-NOT: graph.index_count
// CHECK: return
func.func @others(%a: tensor<3xi1> {graph.role = "input"}, %b: tensor<3xi64> {graph.role = "input"}, %c: tensor<3xi64> {graph.role = "input"}, %x: tensor<8xf32>, %y: tensor<200xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = graph.convert %a : (tensor<3xi1>) -> tensor<3xi64>
  %1 = graph.gather %x, %0 {axis = 0 : i64} : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32>
  %2 = graph.convert %b : (tensor<3xi64>) -> tensor<3xi8>
  %3 = graph.gather %y, %2 {axis = 0 : i64} : (tensor<200xf32>, tensor<3xi8>) -> tensor<3xf32>
  %4 = graph.convert %c : (tensor<3xi64>) -> tensor<3xui64>
  %5 = graph.gather %x, %4 {axis = 0 : i64} : (tensor<8xf32>, tensor<3xui64>) -> tensor<3xf32>
  return %1, %3, %5 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// What is computed first, or cut out may be anything; so may what
// is indexed itself, and an argument that is no input.
// CHECK-LABEL: func @anything
// CHECK-NOT: graph.index_count
// CHECK: return
func.func @anything(%ids: tensor<3xi64> {graph.role = "input"}, %x: tensor<8xi64> {graph.role = "input"}, %other: tensor<3xi64>) -> (tensor<3xi64>, tensor<2xi64>, tensor<3xi64>) {
  %two = graph.constant dense<2> : tensor<3xi64>
  %0 = graph.add %ids, %two : tensor<3xi64>
  %1 = graph.gather %x, %0 {axis = 0 : i64} : (tensor<8xi64>, tensor<3xi64>) -> tensor<3xi64>
  %2 = graph.slice %ids {starts = array<i64: 0>, limits = array<i64: 2>, strides = array<i64: 1>} : (tensor<3xi64>) -> tensor<2xi64>
  %3 = graph.gather %x, %2 {axis = 0 : i64} : (tensor<8xi64>, tensor<2xi64>) -> tensor<2xi64>
  %4 = graph.gather %x, %other {axis = 0 : i64} : (tensor<8xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %1, %3, %4 : tensor<3xi64>, tensor<2xi64>, tensor<3xi64>
}

// Of coordinates each has the size of its own dim, wherever they stand.
// CHECK-LABEL: func @coordinates
// CHECK-SAME: %arg0: tensor<5x2xi64> {graph.index_count = array<i64: 8, 3>, graph.role = "input"}
// CHECK-SAME: %arg1: tensor<5x1xi32> {graph.index_count = array<i64: 8>, graph.role = "input"}
// CHECK-SAME: %arg2: tensor<5x1xi32> {graph.index_count = array<i64: 3>, graph.role = "input"}
func.func @coordinates(%a: tensor<5x2xi64> {graph.role = "input"}, %b: tensor<5x1xi32> {graph.role = "input"}, %c: tensor<5x1xi32> {graph.role = "input"}, %x: tensor<8x3xf32>, %u: tensor<5xf32>) -> (tensor<8x3xf32>, tensor<5xf32>) {
  %0 = graph.scatter_nd add, %x, %a, %u {batch_dims = 0 : i64} : (tensor<8x3xf32>, tensor<5x2xi64>, tensor<5xf32>) -> tensor<8x3xf32>
  %1 = graph.concat %b, %c {axis = 1 : i64} : (tensor<5x1xi32>, tensor<5x1xi32>) -> tensor<5x2xi32>
  %2 = graph.gather_nd %x, %1 {batch_dims = 0 : i64} : (tensor<8x3xf32>, tensor<5x2xi32>) -> tensor<5xf32>
  return %0, %2 : tensor<8x3xf32>, tensor<5xf32>
}

// One coordinate of a batch's own rows, and two in another order: what holds of
// both.
// CHECK-LABEL: func @coordinates_moved
// CHECK-SAME: %arg0: tensor<2x5x1xi64> {graph.index_count = array<i64: 3>, graph.role = "input"}
// CHECK-SAME: %arg1: tensor<2x5xi64> {graph.index_count = array<i64: 4>, graph.role = "input"}
// CHECK-SAME: %arg2: tensor<10xi64> {graph.index_count = array<i64: 2, 4>, graph.role = "input"}
func.func @coordinates_moved(%a: tensor<2x5x1xi64> {graph.role = "input"}, %b: tensor<2x5xi64> {graph.role = "input"}, %c: tensor<10xi64> {graph.role = "input"}, %x: tensor<2x3x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x5x4xf32>, tensor<5xf32>, tensor<5xf32>) {
  %0 = graph.gather_nd %x, %a {batch_dims = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
  %1 = graph.transpose %b {permutation = array<i64: 1, 0>} : (tensor<2x5xi64>) -> tensor<5x2xi64>
  %2 = graph.gather_nd %y, %1 {batch_dims = 0 : i64} : (tensor<2x4xf32>, tensor<5x2xi64>) -> tensor<5xf32>
  %3 = graph.reshape %c : (tensor<10xi64>) -> tensor<5x2xi64>
  %4 = graph.gather_nd %y, %3 {batch_dims = 0 : i64} : (tensor<2x4xf32>, tensor<5x2xi64>) -> tensor<5xf32>
  return %0, %2, %4 : tensor<2x5x4xf32>, tensor<5xf32>, tensor<5xf32>
}

// Labels are no indices: their ops say what others than classes mean.
// CHECK-LABEL: func @labels
// CHECK-NOT: graph.index_count
// CHECK: return
func.func @labels(%l: tensor<4xi64> {graph.role = "input"}, %x: tensor<4x3xf32>) -> tensor<4xf32> {
  %0 = graph.cross_entropy %x, %l : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
