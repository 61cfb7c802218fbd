// RUN: dist-opt %s --test-explain -o /dev/null | FileCheck %s

// What is known while compiling is no memory and takes no time: of a constant,
// its copies over dims and their user, only the user counts.
// CHECK: @copied
// CHECK: peak
// CHECK-NEXT: 0 B {{ *}}0 B {{ *}}0 B {{ *}}0 B {{ *}}1.0 MiB {{ *}}1.0 MiB {{ *}}0 B {{ *}}2.0 MiB
// CHECK-NEXT: FLOP a device, predicted 87.4 us
func.func @copied(%x: tensor<512x512xf32> {graph.role = "input"}) -> tensor<512x512xf32> {
  %c = graph.constant dense<2.0> : tensor<1xf32>
  %r = graph.reshape %c : (tensor<1xf32>) -> tensor<f32>
  %b = graph.broadcast %r {dims = array<i64>} : (tensor<f32>) -> tensor<512x512xf32>
  %y = graph.mul %x, %b : tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

// A contraction reads its operand from memory: there the copies count.
// CHECK: @multiplied
// CHECK: peak
// CHECK-NEXT: 0 B {{ *}}0 B {{ *}}0 B {{ *}}0 B {{ *}}1.0 MiB {{ *}}2.0 MiB {{ *}}0 B {{ *}}3.0 MiB
func.func @multiplied(%x: tensor<512x512xf32> {graph.role = "input"}) -> tensor<512x512xf32> {
  %c = graph.constant dense<2.0> : tensor<f32>
  %b = graph.broadcast %c {dims = array<i64>} : (tensor<f32>) -> tensor<512x512xf32>
  %y = graph.dot_general %x, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

// What is not all of a pipeline's plan is none.
// CHECK: @stage_of_nothing
// CHECK-NOT: stage 0 of
func.func @stage_of_nothing(%x: tensor<4xf32> {graph.role = "input"}) -> tensor<4xf32> attributes {dist.stage = 0 : i64, pipeline = {schedule = "1f1b", stages = 2 : i64, chunks = 2 : i64, microbatches = 4 : i64}} {
  %y = graph.mul %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
