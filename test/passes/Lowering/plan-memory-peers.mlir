// RUN: dist-opt %s --rt-plan-memory | FileCheck %s

// What ranks read in each other's memory, and slices of what is there.
dist.mesh @mesh ["data"=2]

rt.kernel @grad domain [64] row_dims 0 chunks 1 -> [tensor<64xf32>] {
^bb0(%x: tensor<64xf32>):
  %0 = graph.exp %x : tensor<64xf32>
  rt.yield %0 : tensor<64xf32>
}
rt.kernel @update domain [64] row_dims 0 chunks 1 -> [tensor<64xf32>] {
^bb0(%w: tensor<64xf32>, %g: tensor<64xf32>, %h: tensor<64xf32>):
  %0 = graph.add %g, %h : tensor<64xf32>
  %1 = graph.sub %w, %0 : tensor<64xf32>
  rt.yield %1 : tensor<64xf32>
}
rt.kernel @part domain [32] row_dims 0 chunks 1 -> [tensor<32xf32>] {
^bb0(%w: tensor<32xf32>, %g: tensor<32xf32>):
  %0 = graph.sub %w, %g : tensor<32xf32>
  rt.yield %0 : tensor<32xf32>
}
rt.kernel @both domain [32] row_dims 0 chunks 1 -> [tensor<32xf32>] {
^bb0(%w: tensor<32xf32>, %v: tensor<64xf32>):
  %0 = graph.slice %v {starts = array<i64: 32>, limits = array<i64: 64>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<32xf32>
  %1 = graph.sub %w, %0 : tensor<32xf32>
  rt.yield %1 : tensor<32xf32>
}
graph.variable @w : tensor<64xf32> = dense<0.0> : tensor<64xf32>

// What is shared stays until all have read it: nothing else lies there.
// CHECK-LABEL: rt.program @share arena 512
// CHECK-SAME: transfers = [{bytes = 256 : i64, id = 4 : i64}]
// CHECK: %[[G:.+]] = rt.arena [[OFFSET:[0-9]+]] bytes 256
// CHECK: rt.launch @grad(%{{.+}}, %[[G]])
// CHECK: %[[P:.+]]:2 = rt.publish all_reduce op 4 over [0] peers 2(%[[G]]) [#rt.piece<f32[1, 1, 256] from[0, 0, 0] to[0, 0, 0]>] : (!rt.buffer<device>) -> (!rt.buffer<device>, !rt.buffer<device>)
// CHECK: %[[W:.+]] = rt.binding 1
// CHECK: rt.launch @update(%[[W]], %[[P]]#0, %[[P]]#1, %[[W]])
// CHECK-NOT: rt.arena [[OFFSET]] bytes
// CHECK: rt.launch @grad
// CHECK: rt.launch @grad
// CHECK: rt.collective barrier op 4 over [0]() to() []
func.func @share(%x: tensor<64xf32>, %w: tensor<64xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<64xf32>, tensor<64xf32> {graph.role = "variable", graph.variable = @w}) {
  %g = rt.call @grad(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %p:2 = rt.publish all_reduce op 4 over [0] peers 2 (%g) [#rt.piece<f32 [1, 1, 256] from [0, 0, 0] to [0, 0, 0]>]
    {transfer = {bytes = 256, id = 4}} : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %u = rt.call @update(%w, %p#0, %p#1) : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %a = rt.call @grad(%u) : (tensor<64xf32>) -> tensor<64xf32>
  %b = rt.call @grad(%a) : (tensor<64xf32>) -> tensor<64xf32>
  rt.release op 4 over [0] (%g) : tensor<64xf32>
  return %b, %u : tensor<64xf32>, tensor<64xf32>
}

// This rank's part of a variable is updated where it lies, and the others' come
// beside it.
// CHECK-LABEL: rt.program @slice arena 0
// CHECK: %[[W:.+]] = rt.binding 0
// CHECK: %[[S:.+]] = rt.publish all_slice op -1 over [0] peers 1(%[[W]])
// CHECK: rt.launch @part(%[[S]], %{{.+}}, %[[S]])
// CHECK: rt.collective all_gather op 0 over [0](%[[S]]) to(%[[W]])
func.func @slice(%w: tensor<64xf32> {graph.role = "variable", graph.variable = @w}, %g: tensor<32xf32>)
    -> (tensor<64xf32> {graph.role = "variable", graph.variable = @w}) {
  %s = dist.all_slice %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<64xf32>) -> tensor<32xf32>
  %u = rt.call @part(%s, %g) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %0 = dist.all_gather %u over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<32xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The old value is read later: the new part has memory of its own.
// CHECK-LABEL: rt.program @late arena 128
// CHECK: %[[S:.+]] = rt.publish all_slice
// CHECK: %[[U:.+]] = rt.arena 0 bytes 128
// CHECK: rt.launch @part(%[[S]], %{{.+}}, %[[U]])
// CHECK: rt.launch @grad
// CHECK: rt.collective all_gather op 0 over [0](%[[U]])
func.func @late(%w: tensor<64xf32> {graph.role = "variable", graph.variable = @w}, %g: tensor<32xf32>)
    -> (tensor<64xf32>, tensor<64xf32> {graph.role = "variable", graph.variable = @w}) {
  %s = dist.all_slice %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<64xf32>) -> tensor<32xf32>
  %u = rt.call @part(%s, %g) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %e = rt.call @grad(%w) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = dist.all_gather %u over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<32xf32>) -> tensor<64xf32>
  return %e, %0 : tensor<64xf32>, tensor<64xf32>
}

// So it has where the kernel reads the rest of the variable as well.
// CHECK-LABEL: rt.program @mixed arena 128
// CHECK: %[[S:.+]] = rt.publish all_slice
// CHECK: %[[U:.+]] = rt.arena 0 bytes 128
// CHECK: rt.launch @both(%[[S]], %{{.+}}, %[[U]])
func.func @mixed(%w: tensor<64xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<64xf32> {graph.role = "variable", graph.variable = @w}) {
  %s = dist.all_slice %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<64xf32>) -> tensor<32xf32>
  %u = rt.call @both(%s, %w) : (tensor<32xf32>, tensor<64xf32>) -> tensor<32xf32>
  %0 = dist.all_gather %u over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<32xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A slice that is returned is read last, so the variable is not changed before.
// CHECK-LABEL: rt.program @returned
// CHECK: %[[S:.+]] = rt.publish all_slice
// CHECK: %[[E:.+]] = rt.arena
// CHECK: rt.launch @grad(%[[W:.+]], %[[E]])
// CHECK: rt.copy %[[S]] to %{{.+}} bytes 128
// CHECK: rt.copy %[[E]] to %[[W]] bytes 256
func.func @returned(%w: tensor<64xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<32xf32>, tensor<64xf32> {graph.role = "variable", graph.variable = @w}) {
  %s = dist.all_slice %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<64xf32>) -> tensor<32xf32>
  %e = rt.call @grad(%w) : (tensor<64xf32>) -> tensor<64xf32>
  return %s, %e : tensor<32xf32>, tensor<64xf32>
}

// A slice that another variable takes is copied before the variable changes.
// CHECK-LABEL: rt.program @kept
// CHECK: %[[S:.+]] = rt.publish all_slice
// CHECK: %[[E:.+]] = rt.arena
// CHECK: rt.launch @grad(%[[W:.+]], %[[E]])
// CHECK: rt.copy %[[S]] to %{{.+}} bytes 128
// CHECK: rt.copy %[[E]] to %[[W]] bytes 256
func.func @kept(%w: tensor<64xf32> {graph.role = "variable", graph.variable = @w}, %p: tensor<32xf32> {graph.role = "variable", graph.variable = @p})
    -> (tensor<64xf32> {graph.role = "variable", graph.variable = @w}, tensor<32xf32> {graph.role = "variable", graph.variable = @p}) {
  %s = dist.all_slice %w over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<64xf32>) -> tensor<32xf32>
  %e = rt.call @grad(%w) : (tensor<64xf32>) -> tensor<64xf32>
  return %e, %s : tensor<64xf32>, tensor<32xf32>
}
