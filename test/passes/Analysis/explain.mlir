// RUN: dist-opt %s --test-explain -o /dev/null | FileCheck %s
// RUN: dist-opt %s --test-explain=json=true -o /dev/null | FileCheck %s --check-prefix=JSON
// RUN: dist-opt %s --test-explain=json=true -o /dev/null | %python -m json.tool > /dev/null

dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<8x4xf32> trainable = dense<0.5> : tensor<8x4xf32>
graph.variable @m : tensor<8x4xf32> {group = "slot", slot_of = @w} = dense<0.0> : tensor<8x4xf32>

// CHECK: devices: 2 (mesh data=2)
// CHECK: @train_step
// CHECK: op {{ *}}tensor {{ *}}collective {{ *}}group {{ *}}bytes {{ *}}often {{ *}}reason {{ *}}place
// CHECK: dot_general  fc1/grad 8x4xf32  all_reduce  data (2 ranks)  128 B  each step  why  where
// CHECK-NOT: all_slice
// CHECK: memory of a device
// CHECK: 128 B {{ *}}128 B {{ *}}128 B {{ *}}0 B {{ *}}128 B
// CHECK: FLOP a device, predicted
// JSON: "devices": 2
// JSON: "bytes": 128
// JSON: "bytes_sent": 128
// JSON: "collective": "all_reduce"
func.func @train_step(
    %x: tensor<4x8xf32> {graph.role = "input"},
    %w: tensor<8x4xf32> {graph.role = "variable", graph.variable = @w},
    %m: tensor<8x4xf32> {graph.role = "variable", graph.variable = @m})
    -> (tensor<8x4xf32> {graph.role = "variable", graph.variable = @w},
        tensor<8x4xf32> {graph.role = "variable", graph.variable = @m}) {
  %y = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %g = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("fc1/grad")
  %s = dist.all_slice %g over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %r = dist.all_reduce %g over @mesh ["data"] {reason = "why", origin = "where"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %m2 = graph.add %m, %r : tensor<8x4xf32>
  %w2 = graph.sub %w, %m2 : tensor<8x4xf32>
  return %w2, %m2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// What is gathered is in buffers of its own for as long as it is read: the
// larger one of 256 bytes is not beside the other of 128. What it is gathered from
// is read until the wait for it.
// CHECK: @gathers
// CHECK: peak
// CHECK-NEXT: {{^ *}}64 B {{ *}}0 B {{ *}}0 B {{ *}}0 B {{ *}}128 B {{ *}}192 B {{ *}}256 B {{ *}}576 B
func.func @gathers(
    %x: tensor<4x8xf32> {graph.role = "input"},
    %w: tensor<4x4xf32> {graph.role = "variable", graph.variable = @w}) -> tensor<8x8xf32> {
  %v = dist.all_gather %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = graph.dot_general %x, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %z = graph.dot_general %y, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %token = dist.all_gather_start %z over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<4x8xf32>) -> !dist.token<tensor<8x8xf32>>
  %u = dist.wait %token : (!dist.token<tensor<8x8xf32>>) -> tensor<8x8xf32>
  return %u : tensor<8x8xf32>
}

// CHECK: @predict
// CHECK: no transfers
func.func @predict(%x: tensor<4x8xf32> {graph.role = "input"}) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
