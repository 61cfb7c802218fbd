// Four chunks on two stages, interleaved: chunk c is of stage c modulo 2.
// RUN: dist-opt %s --test-check-partition="unroll=true schedule=interleaved stages=2" | FileCheck %s

// CHECK: equal
// CHECK: @train_step: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: func @train_step_stage0
// CHECK-SAME: graph.variable = @w0
// CHECK-SAME: graph.variable = @w2
// CHECK-SAME: chunks = 4 : i64
// Ops of its second chunk say so, those of its first do not.
// CHECK: graph.tanh %{{.+}} {dist.microbatch = 0 : i64, dist.origin = {{[0-9]+}} : i64, dist.shardings = [{{.+}}]} :
// CHECK-NOT: dist.stage = 0
// CHECK: graph.tanh %{{.+}} {dist.microbatch = 0 : i64, {{.*}}dist.stage = 2 : i64} :
// CHECK: func @train_step_stage1
// CHECK-SAME: graph.variable = @w1
// CHECK-SAME: graph.variable = @w3

dist.mesh @mesh ["microbatch"=4]
graph.variable @w0 : tensor<4xf32> trainable {dist.stage = 0 : i64} = dense<0.5> : tensor<4xf32>
graph.variable @w1 : tensor<4xf32> trainable {dist.stage = 1 : i64} = dense<0.5> : tensor<4xf32>
graph.variable @w2 : tensor<4xf32> trainable {dist.stage = 2 : i64} = dense<0.5> : tensor<4xf32>
graph.variable @w3 : tensor<4xf32> trainable {dist.stage = 3 : i64} = dense<0.5> : tensor<4xf32>
func.func @train_step(%x: tensor<8x4xf32> {graph.role = "input", dist.sharding = #dist.sharding<@mesh, [{"microbatch"}, {}]>},
    %w0: tensor<4xf32> {graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}]>},
    %w1: tensor<4xf32> {graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}]>},
    %w2: tensor<4xf32> {graph.variable = @w2, dist.sharding = #dist.sharding<@mesh, [{}]>},
    %w3: tensor<4xf32> {graph.variable = @w3, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<f32> {graph.role = "loss", dist.sharding = #dist.sharding<@mesh, []>},
        tensor<4xf32> {graph.variable = @w0, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<4xf32> {graph.variable = @w1, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<4xf32> {graph.variable = @w2, dist.sharding = #dist.sharding<@mesh, [{}]>},
        tensor<4xf32> {graph.variable = @w3, dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %b0 = graph.broadcast %w0 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %m0 = graph.mul %x, %b0 : tensor<8x4xf32>
  %a0 = graph.tanh %m0 : tensor<8x4xf32>
  %b1 = graph.broadcast %w1 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %m1 = graph.mul %a0, %b1 : tensor<8x4xf32>
  %a1 = graph.tanh %m1 : tensor<8x4xf32>
  %b2 = graph.broadcast %w2 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %m2 = graph.mul %a1, %b2 : tensor<8x4xf32>
  %a2 = graph.tanh %m2 : tensor<8x4xf32>
  %b3 = graph.broadcast %w3 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %m3 = graph.mul %a2, %b3 : tensor<8x4xf32>
  %a3 = graph.tanh %m3 : tensor<8x4xf32>
  %loss = graph.reduce sum, %a3 {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  %one = graph.constant dense<1.0> : tensor<8x4xf32>
  %q3 = graph.mul %a3, %a3 : tensor<8x4xf32>
  %s3 = graph.sub %one, %q3 : tensor<8x4xf32>
  %dm3 = graph.mul %one, %s3 : tensor<8x4xf32>
  %p3 = graph.mul %dm3, %a2 : tensor<8x4xf32>
  %g3 = graph.reduce sum, %p3 {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %n3 = graph.sub %w3, %g3 : tensor<4xf32>
  %d3 = graph.mul %dm3, %b3 : tensor<8x4xf32>
  %q2 = graph.mul %a2, %a2 : tensor<8x4xf32>
  %s2 = graph.sub %one, %q2 : tensor<8x4xf32>
  %dm2 = graph.mul %d3, %s2 : tensor<8x4xf32>
  %p2 = graph.mul %dm2, %a1 : tensor<8x4xf32>
  %g2 = graph.reduce sum, %p2 {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %n2 = graph.sub %w2, %g2 : tensor<4xf32>
  %d2 = graph.mul %dm2, %b2 : tensor<8x4xf32>
  %q1 = graph.mul %a1, %a1 : tensor<8x4xf32>
  %s1 = graph.sub %one, %q1 : tensor<8x4xf32>
  %dm1 = graph.mul %d2, %s1 : tensor<8x4xf32>
  %p1 = graph.mul %dm1, %a0 : tensor<8x4xf32>
  %g1 = graph.reduce sum, %p1 {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %n1 = graph.sub %w1, %g1 : tensor<4xf32>
  %d1 = graph.mul %dm1, %b1 : tensor<8x4xf32>
  %q0 = graph.mul %a0, %a0 : tensor<8x4xf32>
  %s0 = graph.sub %one, %q0 : tensor<8x4xf32>
  %dm0 = graph.mul %d1, %s0 : tensor<8x4xf32>
  %p0 = graph.mul %dm0, %x : tensor<8x4xf32>
  %g0 = graph.reduce sum, %p0 {dims = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
  %n0 = graph.sub %w0, %g0 : tensor<4xf32>
  return %loss, %n0, %n1, %n2, %n3 : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
