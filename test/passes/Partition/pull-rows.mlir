// RUN: dist-opt %s -split-input-file -dist-pull-rows -cse | FileCheck %s

// The step has the rows that its batch looks up, negative numbers as they are;
// what counts the gradient's zeros does not see those that are left out.
// CHECK-LABEL: @w :
// CHECK-SAME: dist.pulled_rows = {inputs = ["ids"], places = @"w/places", rows = @"w/rows"}
// CHECK-NEXT: graph.variable @"w/rows" : tensor<8x4xf32> {group = "pulled"} = dense<0.000000e+00>
// CHECK-NEXT: graph.variable @"w/places" : tensor<100xi32> {group = "pulled"} = dense<0>
// CHECK: func.func @gradients(
// CHECK-SAME: %[[IDS:[^:]+]]: tensor<8xi64>
// CHECK-SAME: %[[ROWS:[^:]+]]: tensor<8x4xf32> {graph.name = "w/rows", graph.role = "variable", graph.variable = @"w/rows"}
// CHECK-SAME: %[[PLACES:[^:]+]]: tensor<100xi32> {graph.name = "w/places", graph.role = "variable", graph.variable = @"w/places"})
// CHECK-SAME: tensor<8x4xf32> {graph.name = "w", graph.role = "gradient"}
// CHECK-NOT: 100x4
// CHECK-DAG: %[[AT:.+]] = graph.gather %[[PLACES]], %[[IDS]] {axis = 0 : i64}
// CHECK-DAG: graph.gather %[[ROWS]], %[[AT]] {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
// CHECK: %[[SUM:.+]] = graph.scatter_add %{{.+}}, %[[AT]], %{{.+}} {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8xi32>, tensor<8x4xf32>)
// CHECK: %[[ABS:.+]] = graph.abs %[[SUM]] : tensor<8x4xf32>
// CHECK: %[[BAD:.+]] = graph.compare lt, %[[ABS]],
// CHECK: graph.reduce sum, %{{.+}} : (tensor<8x4xf32>) -> tensor<f32>
// CHECK: %[[SCALE:.+]] = graph.broadcast %{{.+}} -> tensor<8x4xf32>
// CHECK: %[[CLIPPED:.+]] = graph.mul %[[SUM]], %[[SCALE]] : tensor<8x4xf32>
// CHECK-NOT: 100x4
// CHECK: return %[[CLIPPED]],
// What evaluates has the whole table.
// CHECK: func.func @predict(
// CHECK-SAME: tensor<100x4xf32>
graph.variable @w : tensor<100x4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 100}]} = dense<1.0> : tensor<100x4xf32>
func.func @gradients(%ids: tensor<8xi64> {graph.name = "ids", graph.role = "input"}, %w: tensor<100x4xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w}) -> (tensor<100x4xf32> {graph.name = "w", graph.role = "gradient"}, tensor<f32>) {
  %zeros = graph.constant dense<0.0> : tensor<100x4xf32>
  %ones = graph.constant dense<1.0> : tensor<100x4xf32>
  %inf = graph.constant dense<0x7F800000> : tensor<100x4xf32>
  %0 = graph.gather %w, %ids {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %1 = graph.mul %0, %0 : tensor<8x4xf32>
  %2 = graph.scatter_add %zeros, %ids, %1 {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<100x4xf32>
  %3 = graph.abs %2 : tensor<100x4xf32>
  %4 = graph.compare lt, %3, %inf : (tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xi1>
  %5 = graph.select %4, %zeros, %ones : (tensor<100x4xi1>, tensor<100x4xf32>, tensor<100x4xf32>) -> tensor<100x4xf32>
  %6 = graph.reduce sum, %5 {dims = array<i64: 0, 1>} : (tensor<100x4xf32>) -> tensor<f32>
  %7 = graph.broadcast %6 {dims = array<i64>} : (tensor<f32>) -> tensor<100x4xf32>
  %8 = graph.mul %2, %7 : tensor<100x4xf32>
  return %8, %6 : tensor<100x4xf32>, tensor<f32>
}
func.func @predict(%ids: tensor<8xi64> {graph.name = "ids", graph.role = "input"}, %w: tensor<100x4xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w}) -> tensor<8x4xf32> {
  %0 = graph.gather %w, %ids {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Two inputs look it up, one of them turned and wider; both sums are in the
// gradient.
// CHECK-LABEL: @two :
// CHECK-SAME: dist.pulled_rows = {inputs = ["a", "b"],
// CHECK: graph.variable @"two/rows" : tensor<10xf32>
// CHECK: func.func @gradients(
// CHECK-SAME: %[[A:[^:]+]]: tensor<2x3xi16>
// CHECK: %[[TURNED:.+]] = graph.transpose
// CHECK: %[[WIDE:.+]] = graph.convert %[[TURNED]]
// CHECK: graph.gather %{{.+}}, %[[WIDE]] {axis = 0 : i64} : (tensor<200xi32>, tensor<3x2xi32>) -> tensor<3x2xi32>
// CHECK: graph.add %{{.+}}, %{{.+}} : tensor<10xf32>
graph.variable @two : tensor<200xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 200}]} = dense<1.0> : tensor<200xf32>
func.func @gradients(%a: tensor<2x3xi16> {graph.name = "a", graph.role = "input"}, %b: tensor<4xi32> {graph.name = "b", graph.role = "input"}, %w: tensor<200xf32> {graph.name = "two", graph.role = "variable", graph.variable = @two}) -> (tensor<200xf32> {graph.name = "two", graph.role = "gradient"}) {
  %zeros = graph.constant dense<0.0> : tensor<200xf32>
  %turned = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xi16>) -> tensor<3x2xi16>
  %wide = graph.convert %turned : (tensor<3x2xi16>) -> tensor<3x2xi32>
  %0 = graph.gather %w, %wide {axis = 0 : i64} : (tensor<200xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
  %1 = graph.gather %w, %b {axis = 0 : i64} : (tensor<200xf32>, tensor<4xi32>) -> tensor<4xf32>
  %2 = graph.scatter_add %zeros, %wide, %0 {axis = 0 : i64} : (tensor<200xf32>, tensor<3x2xi32>, tensor<3x2xf32>) -> tensor<200xf32>
  %3 = graph.scatter_add %zeros, %b, %1 {axis = 0 : i64} : (tensor<200xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<200xf32>
  %4 = graph.add %2, %3 : tensor<200xf32>
  return %4 : tensor<200xf32>
}

// -----

// Indices that are computed, a maximum of all rows, a gradient that is nowhere
// zero: all rows travel.
// CHECK-LABEL: @computed :
// CHECK-SAME: dist.why = {dist.pulled_rows = "all rows travel: 'graph.gather' looks up rows that no input numbers"}
// CHECK: @largest :
// CHECK-SAME: "all rows travel: 'graph.reduce' computes with the gradient of all rows"
// CHECK: @shifted :
// CHECK-NOT: pulled_rows = {
// CHECK: @small :
// CHECK-SAME: "all rows travel: a batch may look up 8 of 9"
// CHECK-NOT: pulled_rows = {
// CHECK: return
graph.variable @computed : tensor<100x4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 100}]} = dense<1.0> : tensor<100x4xf32>
graph.variable @largest : tensor<100x4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 100}]} = dense<1.0> : tensor<100x4xf32>
graph.variable @shifted : tensor<100x4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 100}]} = dense<1.0> : tensor<100x4xf32>
graph.variable @small : tensor<9x4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 9}]} = dense<1.0> : tensor<9x4xf32>
func.func @gradients(%ids: tensor<8xi64> {graph.name = "ids", graph.role = "input"},
    %c: tensor<100x4xf32> {graph.name = "computed", graph.role = "variable", graph.variable = @computed},
    %l: tensor<100x4xf32> {graph.name = "largest", graph.role = "variable", graph.variable = @largest},
    %s: tensor<100x4xf32> {graph.name = "shifted", graph.role = "variable", graph.variable = @shifted},
    %m: tensor<9x4xf32> {graph.name = "small", graph.role = "variable", graph.variable = @small})
    -> (tensor<100x4xf32> {graph.name = "computed", graph.role = "gradient"}, tensor<100x4xf32> {graph.name = "largest", graph.role = "gradient"}, tensor<100x4xf32> {graph.name = "shifted", graph.role = "gradient"}, tensor<9x4xf32> {graph.name = "small", graph.role = "gradient"}, tensor<f32>) {
  %zeros = graph.constant dense<0.0> : tensor<100x4xf32>
  %ones = graph.constant dense<1.0> : tensor<100x4xf32>
  %few = graph.constant dense<0.0> : tensor<9x4xf32>
  %next = graph.add %ids, %ids : tensor<8xi64>
  %0 = graph.gather %c, %next {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %1 = graph.scatter_add %zeros, %next, %0 {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<100x4xf32>
  %2 = graph.gather %l, %ids {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %3 = graph.scatter_add %zeros, %ids, %2 {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<100x4xf32>
  %4 = graph.reduce max, %3 {dims = array<i64: 0, 1>} : (tensor<100x4xf32>) -> tensor<f32>
  %5 = graph.gather %s, %ids {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %6 = graph.scatter_add %zeros, %ids, %5 {axis = 0 : i64} : (tensor<100x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<100x4xf32>
  %7 = graph.add %6, %ones : tensor<100x4xf32>
  %8 = graph.gather %m, %ids {axis = 0 : i64} : (tensor<9x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %9 = graph.scatter_add %few, %ids, %8 {axis = 0 : i64} : (tensor<9x4xf32>, tensor<8xi64>, tensor<8x4xf32>) -> tensor<9x4xf32>
  return %1, %3, %7, %9, %4 : tensor<100x4xf32>, tensor<100x4xf32>, tensor<100x4xf32>, tensor<9x4xf32>, tensor<f32>
}

// -----

// Narrower numbers are the same where data are checked to be below the count;
// where they are not, what wraps would be another row.
// CHECK-LABEL: @checked :
// CHECK-SAME: dist.pulled_rows = {inputs = ["a"],
// CHECK: @unchecked :
// CHECK-SAME: "all rows travel: 'graph.gather' looks up rows that no input numbers"
// CHECK: @read :
// CHECK-SAME: "all rows travel: 'graph.neg' reads all rows"
graph.variable @checked : tensor<200xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 200}]} = dense<1.0> : tensor<200xf32>
graph.variable @unchecked : tensor<200xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 200}]} = dense<1.0> : tensor<200xf32>
graph.variable @read : tensor<200xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 200}]} = dense<1.0> : tensor<200xf32>
func.func @gradients(%a: tensor<6xi64> {graph.name = "a", graph.role = "input", graph.index_count = array<i64: 200>}, %b: tensor<6xi64> {graph.name = "b", graph.role = "input"},
    %c: tensor<200xf32> {graph.name = "checked", graph.role = "variable", graph.variable = @checked},
    %u: tensor<200xf32> {graph.name = "unchecked", graph.role = "variable", graph.variable = @unchecked},
    %r: tensor<200xf32> {graph.name = "read", graph.role = "variable", graph.variable = @read})
    -> (tensor<200xf32> {graph.name = "checked", graph.role = "gradient"}, tensor<200xf32> {graph.name = "unchecked", graph.role = "gradient"}, tensor<200xf32> {graph.name = "read", graph.role = "gradient"}) {
  %zeros = graph.constant dense<0.0> : tensor<200xf32>
  %0 = graph.convert %a : (tensor<6xi64>) -> tensor<6xi16>
  %1 = graph.convert %b : (tensor<6xi64>) -> tensor<6xi16>
  %2 = graph.gather %c, %0 {axis = 0 : i64} : (tensor<200xf32>, tensor<6xi16>) -> tensor<6xf32>
  %3 = graph.gather %u, %1 {axis = 0 : i64} : (tensor<200xf32>, tensor<6xi16>) -> tensor<6xf32>
  %4 = graph.gather %r, %a {axis = 0 : i64} : (tensor<200xf32>, tensor<6xi64>) -> tensor<6xf32>
  %5 = graph.scatter_add %zeros, %0, %2 {axis = 0 : i64} : (tensor<200xf32>, tensor<6xi16>, tensor<6xf32>) -> tensor<200xf32>
  %6 = graph.scatter_add %zeros, %1, %3 {axis = 0 : i64} : (tensor<200xf32>, tensor<6xi16>, tensor<6xf32>) -> tensor<200xf32>
  %7 = graph.scatter_add %zeros, %a, %4 {axis = 0 : i64} : (tensor<200xf32>, tensor<6xi64>, tensor<6xf32>) -> tensor<200xf32>
  %8 = graph.neg %r : tensor<200xf32>
  %9 = graph.add %7, %8 : tensor<200xf32>
  return %5, %6, %9 : tensor<200xf32>, tensor<200xf32>, tensor<200xf32>
}
