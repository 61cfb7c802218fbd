// RUN: dist-opt %s --rt-bind-constants | FileCheck %s

// Equal constants are one variable; small ones that kernels hold are not here.
// CHECK: graph.variable @constant_0 : tensor<2xf32> {group = "constant"} = dense<[3.000000e+00, 4.000000e+00]>
// CHECK: graph.variable @constant : tensor<2xf32> {group = "constant"} = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-LABEL: func.func @one
// CHECK-SAME: %[[X:.+]]: tensor<2xf32>, %[[C:.+]]: tensor<2xf32> {graph.role = "variable", graph.variable = @constant}
// CHECK-NOT: graph.constant
// CHECK: rt.call @add(%[[X]], %[[C]])
rt.kernel @add domain [2] row_dims 0 chunks 1 -> [tensor<2xf32>] {
^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
  %y = graph.add %a, %b : tensor<2xf32>
  rt.yield %y : tensor<2xf32>
}
func.func @one(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = rt.call @add(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @two
// CHECK-SAME: graph.variable = @constant}, %{{.+}}: tensor<2xf32> {graph.role = "variable", graph.variable = @constant_0}
func.func @two(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %2 = rt.call @add(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = rt.call @add(%2, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// Programs of one entry, which callers see as one: a constant has one name and
// one place in all that have it, behind the entry's arguments; another has
// another.
// CHECK-LABEL: func.func @three_stage0
// CHECK-SAME: {dist.entry_index = 2 : i64, graph.name = "constant", graph.role = "variable", graph.variable = @constant}
func.func @three_stage0(%x: tensor<2xf32> {dist.entry_index = 0 : i64}) -> tensor<2xf32> attributes {dist.entry = "three", dist.stage = 0 : i64} {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = rt.call @add(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
// CHECK-LABEL: func.func @three_stage1
// CHECK-SAME: {dist.entry_index = 3 : i64, graph.name = "constant_0", graph.role = "variable", graph.variable = @constant_0}
// CHECK-SAME: {dist.entry_index = 2 : i64, graph.name = "constant", graph.role = "variable", graph.variable = @constant}
func.func @three_stage1(%x: tensor<2xf32> {dist.entry_index = 1 : i64}) -> tensor<2xf32> attributes {dist.entry = "three", dist.stage = 1 : i64} {
  %0 = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %1 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = rt.call @add(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = rt.call @add(%2, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}
