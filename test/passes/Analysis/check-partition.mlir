// RUN: dist-opt %s --test-check-partition | FileCheck %s
// RUN: dist-opt %s --test-check-partition=overlap=true | FileCheck %s
// RUN: dist-opt %s --test-check-partition=mutate=drop | FileCheck %s --check-prefix=DROP
// RUN: dist-opt %s --test-check-partition=mutate=double | FileCheck %s --check-prefix=DOUBLE
// RUN: dist-opt %s --test-check-partition=mutate=wrong-slice | FileCheck %s --check-prefix=SLICE

// A step of a small model: metric as a sum, weights split over "model" too.
// CHECK: equal
// CHECK: @step: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module

// DROP: different
// DROP: diverges first at graph.{{.*}}: element [{{.*}}] is {{-?[0-9]+\.[0-9][0-9][0-9][0-9]}}{{.*}}, but {{.*}} on one device
// DOUBLE: different
// DOUBLE: diverges first at dist.all_reduce of
// SLICE: different
// SLICE: diverges first at dist.permute of

dist.mesh @mesh ["data"=2, "model"=2]
func.func @step(
    %x: tensor<8x6xf32> {graph.role = "input", dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<8x4xf32> {graph.role = "label", dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
    %b: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
    %total: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>})
    -> (tensor<f32> {graph.role = "loss", dist.sharding = #dist.sharding<@mesh, []>},
        tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"model"}]>},
        tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>}) {
  %bb = graph.broadcast %b {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %h = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32> loc("fc1")
  %p = graph.add %h, %bb : tensor<8x4xf32>
  %s = graph.softmax %p {axis = 1 : i64} : tensor<8x4xf32>
  %d = graph.sub %s, %y : tensor<8x4xf32>
  %sq = graph.mul %d, %d : tensor<8x4xf32>
  %sum = graph.reduce sum, %sq {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %c8 = graph.constant dense<8.0> : tensor<f32>
  %loss = graph.div %sum, %c8 : tensor<f32>
  %seen = graph.add %sum, %c8 : tensor<f32>
  %t = graph.add %total, %seen : tensor<f32>
  %gw = graph.dot_general %x, %d {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32> loc("fc1/grad")
  %gb = graph.reduce sum, %d {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %lr = graph.constant dense<0.1> : tensor<4xf32>
  %ub = graph.mul %gb, %lr : tensor<4xf32>
  %w2 = graph.sub %w, %gw : tensor<6x4xf32>
  %b2 = graph.sub %b, %ub : tensor<4xf32>
  return %loss, %w2, %b2, %t : tensor<f32>, tensor<6x4xf32>, tensor<4xf32>, tensor<f32>
}
