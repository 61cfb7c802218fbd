// RUN: dist-opt %s --graph-functionalize-state | FileCheck %s

graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @unused : tensor<4xf32> = dense<1.0> : tensor<4xf32>
graph.variable @n : tensor<i64> = dense<0> : tensor<i64>

// Variables follow the other arguments, in the module's order; what is not
// assigned is no result; a later read sees the assigned value.
// CHECK-LABEL: func @step
// CHECK-SAME: %[[X:[^:]+]]: tensor<4xf32> {graph.role = "input"}
// CHECK-SAME: %[[W:[^:]+]]: tensor<4xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w}
// CHECK-SAME: %[[N:[^:]+]]: tensor<i64> {graph.name = "n", graph.role = "variable", graph.variable = @n}
// CHECK-SAME: -> (tensor<i64> {graph.role = "output"}, tensor<4xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w})
func.func @step(%x: tensor<4xf32> {graph.role = "input"}) -> (tensor<i64> {graph.role = "output"}) {
  %n = graph.read @n : tensor<i64>
  // CHECK: %[[SUM:.+]] = graph.add %[[W]], %[[X]]
  %w = graph.read @w : tensor<4xf32>
  %0 = graph.add %w, %x : tensor<4xf32>
  graph.assign @w, %0 : tensor<4xf32>
  // CHECK: %[[TWICE:.+]] = graph.mul %[[SUM]], %[[SUM]]
  %1 = graph.read @w : tensor<4xf32>
  %2 = graph.mul %1, %1 : tensor<4xf32>
  graph.assign @w, %2 : tensor<4xf32>
  // CHECK: return %[[N]], %[[TWICE]]
  return %n : tensor<i64>
}

// CHECK-LABEL: func @pure
// CHECK-SAME: (%{{[^:]+}}: tensor<4xf32>) -> tensor<4xf32>
func.func @pure(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// Assigned without being read: an argument all the same, for its storage.
// CHECK-LABEL: func @clear
// CHECK-SAME: (%{{[^:]+}}: tensor<4xf32> {graph.name = "w",
func.func @clear() {
  // CHECK: %[[ZERO:.+]] = graph.constant dense<0.0
  %0 = graph.constant dense<0.0> : tensor<4xf32>
  graph.assign @w, %0 : tensor<4xf32>
  // CHECK: return %[[ZERO]]
  return
}
