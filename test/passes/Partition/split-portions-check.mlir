// Places with 1, 2 and 1 of 4 parts of the examples, which three equal ones would
// not divide, give what one device gives; and the comparison sees a part that
// begins at the wrong example, and a sum that one of them leaves out.
// RUN: dist-opt %s --test-check-partition="weights=1,2,1" | FileCheck %s
// RUN: dist-opt %s --test-check-partition="weights=1,2,1 overlap=true" | FileCheck %s
// RUN: dist-opt %s --test-check-partition="weights=1,2,1 mutate=portion" | FileCheck %s --check-prefix=PORTION
// RUN: not dist-opt %s --test-check-partition="weights=1,2,1 mutate=drop" 2>&1 | FileCheck %s --check-prefix=DROP

// CHECK: equal
// CHECK: @train_step: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: @predict: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module

// PORTION: different
// PORTION: diverges first at graph.

// DROP: {{waits for something that no rank sends|in another place.s program}}

dist.mesh @mesh ["data"=3]
graph.variable @w0 : tensor<6x8xf32> trainable = dense<0.1> : tensor<6x8xf32>
graph.variable @w1 : tensor<8x4xf32> trainable = dense<0.1> : tensor<8x4xf32>
graph.variable @total : tensor<f32> {aggregation = 1 : i32, synchronization = 1 : i32, group = "metric", sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>} = dense<0.0> : tensor<f32>
graph.variable @step : tensor<f32> {group = "counter"} = dense<0.0> : tensor<f32>

// Clipped by the norm over both gradients; each example draws by its place.
func.func @train_step(
    %x: tensor<8x6xf32> {graph.role = "input", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<8x4xf32> {graph.role = "label", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %w0: tensor<6x8xf32> {graph.role = "variable", graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w1: tensor<8x4xf32> {graph.role = "variable", graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %total: tensor<f32> {graph.role = "variable", graph.variable = @total, dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>},
    %step: tensor<f32> {graph.role = "variable", graph.variable = @step, dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<f32> {graph.role = "loss", dist.sharding = #dist.sharding<@mesh, []>},
        tensor<6x8xf32> {graph.role = "variable", graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
        tensor<8x4xf32> {graph.role = "variable", graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
        tensor<f32> {graph.role = "variable", graph.variable = @total, dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>},
        tensor<f32> {graph.role = "variable", graph.variable = @step, dist.sharding = #dist.sharding<@mesh, []>},
        tensor<f32> {graph.role = "learning_rate", dist.sharding = #dist.sharding<@mesh, []>}) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %seed = graph.constant dense<3> : tensor<i64>
  %next = graph.add %step, %one : tensor<f32>
  %rate = graph.div %one, %next : tensor<f32>
  %h = graph.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  %draw = graph.random_uniform %seed {seed = 7 : i64} : (tensor<i64>) -> tensor<8x8xf32>
  %ha = graph.mul %h, %draw : tensor<8x8xf32>
  %a = graph.tanh %ha : tensor<8x8xf32>
  %p = graph.dot_general %a, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %d = graph.sub %p, %y : tensor<8x4xf32>
  %sq = graph.mul %d, %d : tensor<8x4xf32>
  %loss = graph.reduce sum, %sq {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %t = graph.add %total, %loss : tensor<f32>
  %g1 = graph.dot_general %a, %d {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %da = graph.dot_general %d, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %aa = graph.mul %a, %a : tensor<8x8xf32>
  %ones = graph.constant dense<1.0> : tensor<8x8xf32>
  %slope = graph.sub %ones, %aa : tensor<8x8xf32>
  %ds = graph.mul %da, %slope : tensor<8x8xf32>
  %dh = graph.mul %ds, %draw : tensor<8x8xf32>
  %g0 = graph.dot_general %x, %dh {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %s0 = graph.mul %g0, %g0 : tensor<6x8xf32>
  %n0 = graph.reduce sum, %s0 {dims = array<i64: 0, 1>} : (tensor<6x8xf32>) -> tensor<f32>
  %s1 = graph.mul %g1, %g1 : tensor<8x4xf32>
  %n1 = graph.reduce sum, %s1 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %n = graph.add %n0, %n1 : tensor<f32>
  %norm = graph.sqrt %n : tensor<f32>
  %scale = graph.div %rate, %norm : tensor<f32>
  %b0 = graph.broadcast %scale {dims = array<i64>} : (tensor<f32>) -> tensor<6x8xf32>
  %u0 = graph.mul %g0, %b0 : tensor<6x8xf32>
  %w0n = graph.sub %w0, %u0 : tensor<6x8xf32>
  %b1 = graph.broadcast %scale {dims = array<i64>} : (tensor<f32>) -> tensor<8x4xf32>
  %u1 = graph.mul %g1, %b1 : tensor<8x4xf32>
  %w1n = graph.sub %w1, %u1 : tensor<8x4xf32>
  return %loss, %w0n, %w1n, %t, %next, %rate : tensor<f32>, tensor<6x8xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}

func.func @predict(
    %x: tensor<8x6xf32> {graph.role = "input", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %w0: tensor<6x8xf32> {graph.role = "variable", graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w1: tensor<8x4xf32> {graph.role = "variable", graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x4xf32> {graph.role = "output", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}) {
  %h = graph.dot_general %x, %w0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  %a = graph.tanh %h : tensor<8x8xf32>
  %p = graph.dot_general %a, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %p : tensor<8x4xf32>
}
