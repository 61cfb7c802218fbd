// RUN: dist-opt %s --rt-hoist-preparation | FileCheck %s

graph.variable @w : tensor<4x8xf32> trainable {group = "parameter"} = dense<0.0> : tensor<4x8xf32>
graph.variable @steps : tensor<f32> {group = "counter"} = dense<0.0> : tensor<f32>
rt.kernel @neg domain [4, 8] row_dims 0 chunks 1 -> [tensor<4x8xf32>] {
^bb0(%a: tensor<4x8xf32>):
  %y = graph.neg %a : tensor<4x8xf32>
  rt.yield %y : tensor<4x8xf32>
}
rt.kernel @repeat domain [64, 4, 8] row_dims 0 chunks 1 -> [tensor<64x4x8xf32>] {
^bb0(%a: tensor<4x8xf32>):
  %y = graph.broadcast %a {dims = array<i64: 1, 2>} : (tensor<4x8xf32>) -> tensor<64x4x8xf32>
  rt.yield %y : tensor<64x4x8xf32>
}

// A chain of views, kernels and packing moves as a whole; only its end is kept.
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: %[[X:.+]]: tensor<2x4xf32>, %{{.+}}: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}
// CHECK-SAME: %[[P:.+]]: tensor<256xi8> {graph.name = "prepared_0", graph.role = "prepared"}
// CHECK-NEXT: %[[Y:.+]] = rt.library(%[[X]], %[[P]]) {kind = "matmul"
// CHECK-NEXT: return %[[Y]]
// CHECK-LABEL: func.func @predict_prepare(
// CHECK-SAME: %{{.+}}: tensor<2x4xf32>, %[[W:.+]]: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}, %{{.+}}: tensor<256xi8>
// CHECK-SAME: -> (tensor<256xi8> {graph.name = "prepared_0", graph.role = "prepared"}) attributes {rt.prepares = @predict}
// CHECK-NEXT: %[[N:.+]] = rt.call @neg(%[[W]])
// CHECK-NEXT: %[[V:.+]] = graph.reshape %[[N]]
// CHECK-NEXT: %[[R:.+]] = rt.library(%[[V]]) {kind = "reorder"
// CHECK-NEXT: return %[[R]]
func.func @predict(%x: tensor<2x4xf32>, %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}) -> tensor<2x8xf32> {
  %0 = rt.call @neg(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reshape %0 : (tensor<4x8xf32>) -> tensor<32xf32>
  %2 = rt.library(%1) {kind = "reorder", memories = []} : (tensor<32xf32>) -> tensor<256xi8>
  %3 = rt.library(%x, %2) {kind = "matmul", memories = []} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// The same computation is the same buffer, twice in an entry and in another;
// it is enough that the entry gives the weights back as they were.
// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: %[[X:.+]]: tensor<2x4xf32>, %{{.+}}: tensor<4x8xf32> {{{.*}}}, %[[P:.+]]: tensor<256xi8> {graph.name = "prepared_0", graph.role = "prepared"})
// CHECK-NEXT: rt.library(%[[X]], %[[P]])
// CHECK-NEXT: rt.library(%[[X]], %[[P]])
// CHECK-LABEL: func.func @evaluate_prepare(
// CHECK: rt.call @neg
// CHECK-NOT: rt.call @neg
// CHECK: return
func.func @evaluate(%x: tensor<2x4xf32>, %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = rt.call @neg(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reshape %0 : (tensor<4x8xf32>) -> tensor<32xf32>
  %2 = rt.library(%1) {kind = "reorder", memories = []} : (tensor<32xf32>) -> tensor<256xi8>
  %3 = rt.library(%x, %2) {kind = "matmul", memories = []} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  %4 = rt.call @neg(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = graph.reshape %4 : (tensor<4x8xf32>) -> tensor<32xf32>
  %6 = rt.library(%5) {kind = "reorder", memories = []} : (tensor<32xf32>) -> tensor<256xi8>
  %7 = rt.library(%x, %6) {kind = "matmul", memories = []} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  return %3, %7, %w : tensor<2x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>
}

// A step that changes its weights packs them itself.
// CHECK-LABEL: func.func @train_step(
// CHECK-NOT: prepared
// CHECK: %[[R:.+]] = rt.library(%{{.+}}) {kind = "reorder"
// CHECK: rt.library(%{{.+}}, %[[R]])
// CHECK: return
func.func @train_step(%x: tensor<2x4xf32>, %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}) -> (tensor<2x8xf32>, tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = rt.library(%w) {kind = "reorder", memories = []} : (tensor<4x8xf32>) -> tensor<256xi8>
  %1 = rt.library(%x, %0) {kind = "matmul", memories = []} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  %2 = rt.call @neg(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<2x8xf32>, tensor<4x8xf32>
}

// What grows is made again, and counters are no weights.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: prepared
// CHECK: rt.call @repeat
// CHECK: rt.library(%{{.+}}) {kind = "reorder"
// CHECK: return
// CHECK-NOT: @others_prepare
func.func @others(%w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}, %s: tensor<f32> {graph.role = "variable", graph.variable = @steps}) -> (tensor<64x4x8xf32>, tensor<256xi8>) {
  %0 = rt.call @repeat(%w) : (tensor<4x8xf32>) -> tensor<64x4x8xf32>
  %1 = rt.library(%s) {kind = "reorder", memories = []} : (tensor<f32>) -> tensor<256xi8>
  return %0, %1 : tensor<64x4x8xf32>, tensor<256xi8>
}
