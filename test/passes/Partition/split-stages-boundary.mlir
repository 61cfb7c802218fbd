// RUN: dist-opt %s --dist-split-stages | FileCheck %s

// Two ops of stage 1 read what stage 0 gives. Its gradient is their sum, which is
// made before it is sent, with what leads to it; the product with the input, too,
// could be made there, and would be less to send, but is work of the variable's
// stage.
dist.mesh @mesh []
graph.variable @a : tensor<4x2xf32> trainable {dist.stage = 0 : i64} = dense<0.1> : tensor<4x2xf32>
graph.variable @b : tensor<8x2xf32> trainable {dist.stage = 1 : i64} = dense<0.1> : tensor<8x2xf32>

// CHECK-LABEL: func @train_step_stage0
// CHECK: %[[F:.+]] = graph.dot_general
// CHECK: dist.send %[[F]]
// CHECK: %[[G:.+]] = dist.recv over @mesh ["stage"] from 1
// CHECK-NOT: dist.recv
// CHECK: graph.dot_general %{{.+}}, %[[G]]
// CHECK: return

// CHECK-LABEL: func @train_step_stage1
// CHECK: %[[MEAN:.+]] = graph.reduce sum
// CHECK: %[[WIDE:.+]] = graph.broadcast %[[MEAN]]
// CHECK: %[[CENTERED:.+]] = graph.sub %{{.+}}, %[[WIDE]]
// CHECK: %[[SUM:.+]] = graph.add %{{.+}}, %[[CENTERED]]
// CHECK-NOT: dist.send
// CHECK: dist.send %[[SUM]] over @mesh ["stage"] to 0
// CHECK-NOT: dist.send
// CHECK: return
func.func @train_step(%x: tensor<8x4xf32>, %a: tensor<4x2xf32> {graph.variable = @a}, %b: tensor<8x2xf32> {graph.variable = @b})
    -> (tensor<8x2xf32> {graph.role = "loss"}, tensor<4x2xf32> {graph.variable = @a}, tensor<8x2xf32> {graph.variable = @b}) {
  %f = graph.dot_general %x, %a {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %l = graph.mul %f, %b : tensor<8x2xf32>
  %g0 = graph.mul %b, %b : tensor<8x2xf32>
  %g1 = graph.sub %b, %l : tensor<8x2xf32>
  %mean = graph.reduce sum, %g1 {dims = array<i64: 1>} : (tensor<8x2xf32>) -> tensor<8xf32>
  %wide = graph.broadcast %mean {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<8x2xf32>
  %g2 = graph.sub %g1, %wide : tensor<8x2xf32>
  %g = graph.add %g0, %g2 : tensor<8x2xf32>
  %d = graph.dot_general %x, %g {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %a2 = graph.sub %a, %d : tensor<4x2xf32>
  %b2 = graph.sub %b, %g1 : tensor<8x2xf32>
  return %l, %a2, %b2 : tensor<8x2xf32>, tensor<4x2xf32>, tensor<8x2xf32>
}
