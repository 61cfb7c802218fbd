// RUN: dist-opt %s -dist-split-servers | FileCheck %s --check-prefix=WORKER --implicit-check-not=@apply --implicit-check-not='@"w/m"' --implicit-check-not=@iteration
// RUN: dist-opt %s -dist-split-servers=server=0 | FileCheck %s --check-prefix=FIRST --implicit-check-not=@gradients --implicit-check-not=@frozen --implicit-check-not='@scale'
// RUN: dist-opt %s -dist-split-servers=server=1 | FileCheck %s --check-prefix=SECOND --implicit-check-not=@gradients --implicit-check-not=@frozen

// The workers' keeps all variables but what the update alone has, and who holds
// them.
// WORKER: graph.variable @w : {{.*}}dist.server_parts = [{begin = 0 : i64, server = 0 : i64, size = 2 : i64}, {begin = 2 : i64, server = 1 : i64, size = 2 : i64}, {begin = 4 : i64, server = 0 : i64, size = 1 : i64}]
// WORKER: graph.variable @scale
// WORKER: graph.variable @frozen
// WORKER: func.func @gradients

// Two parts of one variable, with their rows of the initial value and of slots;
// the step counter is each server's own.
// FIRST: graph.variable @"w/part_0" : tensor<2x2xf32> trainable = dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]>
// FIRST-NEXT: graph.variable @"w/part_2" : tensor<1x2xf32> trainable = dense<{{\[\[}}9.000000e+00, 1.000000e+01]]>
// FIRST-NEXT: graph.variable @"w/m/part_0" : tensor<2x2xf32> {group = "slot", slot_of = @"w/part_0"} = dense<0.000000e+00>
// FIRST-NEXT: graph.variable @"w/m/part_2" : tensor<1x2xf32> {group = "slot", slot_of = @"w/part_2"}
// FIRST-NEXT: graph.variable @iteration
// FIRST: func.func @apply(
// FIRST-SAME: %[[G0:[^:]+]]: tensor<2x2xf32> {graph.name = "w/part_0", graph.role = "gradient"}
// FIRST-SAME: %[[G2:[^:]+]]: tensor<1x2xf32> {graph.name = "w/part_2", graph.role = "gradient"}
// FIRST-SAME: %[[I:[^:]+]]: tensor<f32> {graph.name = "iteration", graph.role = "variable", graph.variable = @iteration}
// FIRST-SAME: %[[W0:[^:]+]]: tensor<2x2xf32> {graph.name = "w/part_0", graph.role = "variable", graph.variable = @"w/part_0"}
// FIRST-SAME: %[[M0:[^:]+]]: tensor<2x2xf32> {graph.name = "w/m/part_0", graph.role = "variable", graph.variable = @"w/m/part_0"}
// FIRST-SAME: %[[W2:[^:]+]]: tensor<1x2xf32>
// FIRST-SAME: %[[M2:[^:]+]]: tensor<1x2xf32>
// FIRST-SAME: -> (tensor<f32> {graph.name = "iteration"
// FIRST-SAME: tensor<2x2xf32> {graph.name = "w/part_0"
// FIRST-SAME: tensor<2x2xf32> {graph.name = "w/m/part_0"
// FIRST: %[[NEXT:.+]] = graph.add %[[I]],
// FIRST: %[[HALF0:.+]] = graph.constant dense<5.000000e-01> : tensor<2x2xf32>
// FIRST: %[[RATE0:.+]] = graph.broadcast %[[NEXT]] {{.*}} -> tensor<2x2xf32>
// FIRST: %[[X0:.+]] = graph.mul %[[M0]], %[[HALF0]] : tensor<2x2xf32>
// FIRST: %[[Y0:.+]] = graph.add %[[X0]], %[[G0]]
// FIRST: %[[Z0:.+]] = graph.mul %[[Y0]], %[[RATE0]]
// FIRST: graph.sub %[[W0]], %[[Z0]] : tensor<2x2xf32>
// FIRST: graph.sub %[[W2]], %{{.*}} : tensor<1x2xf32>
// FIRST-NOT: tensor<5x2xf32>
// FIRST: return

// A variable that is whole keeps its name, and the model's.
// SECOND: graph.variable @"w/part_1" : tensor<2x2xf32> trainable = dense<{{\[\[}}5.000000e+00, 6.000000e+00], [7.000000e+00, 8.000000e+00]]>
// SECOND: graph.variable @scale : tensor<f32> trainable {graph.model_name = "the scale"} = dense<1.000000e+00>
// SECOND: func.func @apply(
// SECOND-SAME: tensor<2x2xf32> {graph.name = "w/part_1", graph.role = "gradient"}
// SECOND-SAME: tensor<f32> {graph.name = "scale", graph.role = "gradient"}
graph.variable @w : tensor<5x2xf32> trainable {graph.model_name = "the weight", dist.server_parts = [{server = 0, begin = 0, size = 2}, {server = 1, begin = 2, size = 2}, {server = 0, begin = 4, size = 1}]} = dense<[[1., 2.], [3., 4.], [5., 6.], [7., 8.], [9., 10.]]> : tensor<5x2xf32>
graph.variable @"w/m" : tensor<5x2xf32> {group = "slot", slot_of = @w} = dense<0.0> : tensor<5x2xf32>
graph.variable @scale : tensor<f32> trainable {graph.model_name = "the scale", dist.server_parts = [{server = 1, begin = 0, size = 1}]} = dense<1.0> : tensor<f32>
graph.variable @iteration : tensor<f32> {group = "counter"} = dense<0.0> : tensor<f32>
graph.variable @frozen : tensor<4xf32> = dense<1.0> : tensor<4xf32>
func.func @gradients(%w: tensor<5x2xf32> {graph.role = "variable", graph.variable = @w}) -> (tensor<5x2xf32> {graph.name = "w", graph.role = "gradient"}) {
  return %w : tensor<5x2xf32>
}
func.func @apply(
    %gw: tensor<5x2xf32> {graph.name = "w", graph.role = "gradient"},
    %gs: tensor<f32> {graph.name = "scale", graph.role = "gradient"},
    %i: tensor<f32> {graph.name = "iteration", graph.role = "variable", graph.variable = @iteration},
    %w: tensor<5x2xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w},
    %m: tensor<5x2xf32> {graph.name = "w/m", graph.role = "variable", graph.variable = @"w/m"},
    %s: tensor<f32> {graph.name = "scale", graph.role = "variable", graph.variable = @scale})
    -> (tensor<5x2xf32> {graph.name = "w", graph.role = "variable", graph.variable = @w},
        tensor<5x2xf32> {graph.name = "w/m", graph.role = "variable", graph.variable = @"w/m"},
        tensor<f32> {graph.name = "scale", graph.role = "variable", graph.variable = @scale},
        tensor<f32> {graph.name = "iteration", graph.role = "variable", graph.variable = @iteration}) {
  %half = graph.constant dense<0.5> : tensor<5x2xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %next = graph.add %i, %one : tensor<f32>
  %rate = graph.broadcast %next {dims = array<i64>} : (tensor<f32>) -> tensor<5x2xf32>
  %0 = graph.mul %m, %half : tensor<5x2xf32>
  %1 = graph.add %0, %gw : tensor<5x2xf32>
  %2 = graph.mul %1, %rate : tensor<5x2xf32>
  %3 = graph.sub %w, %2 : tensor<5x2xf32>
  %4 = graph.mul %gs, %next : tensor<f32>
  %5 = graph.sub %s, %4 : tensor<f32>
  return %3, %1, %5, %next : tensor<5x2xf32>, tensor<5x2xf32>, tensor<f32>, tensor<f32>
}
