// RUN: dist-opt %s --rt-plan-memory -split-input-file | FileCheck %s

rt.kernel @relu domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>] {
^bb0(%a: tensor<16xf32>):
  %y = graph.relu %a : tensor<16xf32>
  rt.yield %y : tensor<16xf32>
}

// Values that are not alive together share memory; the result is a binding.
// CHECK-LABEL: rt.program @chain arena 128
// CHECK: %[[X:.+]] = rt.binding 0
// CHECK: %[[A:.+]] = rt.arena 0 bytes 64
// CHECK: rt.launch @relu(%[[X]], %[[A]]) rows 1 chunks 1
// CHECK: %[[B:.+]] = rt.arena 64 bytes 64
// CHECK: rt.launch @relu(%[[A]], %[[B]])
// CHECK: rt.launch @relu(%[[B]], %[[A]])
// CHECK: %[[Y:.+]] = rt.binding 1
// CHECK: rt.launch @relu(%[[A]], %[[Y]])
func.func @chain(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = rt.call @relu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.call @relu(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = rt.call @relu(%1) : (tensor<16xf32>) -> tensor<16xf32>
  %3 = rt.call @relu(%2) : (tensor<16xf32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}

// What runs on the mesh's host computes in its memory.
// CHECK-LABEL: rt.program @on_host arena 0 host_arena 64
// CHECK-SAME: attributes {dist.placement = #dist.placement<host>, {{.*}}rt.device = "cpu"}
// CHECK: %[[X:.+]] = rt.binding 0 in host
// CHECK: %[[A:.+]] = rt.arena 0 bytes 64 in host
// CHECK: rt.launch @relu(%[[X]] in host, %[[A]] in host) rows 1 chunks 1
func.func @on_host(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {dist.placement = #dist.placement<host>, rt.device = "cpu"} {
  %0 = rt.call @relu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = rt.call @relu(%0) : (tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// A piece of the data lies in its binding, under any shape; what is made of it
// and returned is copied.
// CHECK-LABEL: rt.program @piece arena 0
// CHECK: %[[P:.+]] = rt.binding 0 offset 128
// CHECK: %[[Y:.+]] = rt.binding 1
// CHECK: rt.launch @relu(%[[P]], %[[Y]])
// CHECK: %[[Z:.+]] = rt.binding 2
// CHECK: rt.copy %[[P]] to %[[Z]] bytes 64
func.func @piece(%x: tensor<4x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = graph.slice %x {starts = array<i64: 2, 0>, limits = array<i64: 3, 16>, strides = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<1x16xf32>
  %1 = graph.reshape %0 : (tensor<1x16xf32>) -> tensor<16xf32>
  %2 = rt.call @relu(%1) : (tensor<16xf32>) -> tensor<16xf32>
  return %2, %1 : tensor<16xf32>, tensor<16xf32>
}

// What is put side by side is computed there; what is there already, or lies
// elsewhere, is copied.
// CHECK-LABEL: rt.program @side_by_side arena 0
// CHECK: %[[X:.+]] = rt.binding 0
// CHECK: %[[P0:.+]] = rt.binding 1
// CHECK: rt.launch @relu(%[[X]], %[[P0]])
// CHECK: %[[P1:.+]] = rt.binding 1 offset 64
// CHECK: rt.launch @relu(%[[P0]], %[[P1]])
// CHECK: %[[P5:.+]] = rt.binding 1 offset 320
// CHECK: rt.launch @relu(%{{.+}}, %[[P5]])
// CHECK-NOT: rt.copy
// CHECK: %[[P6:.+]] = rt.binding 1 offset 384
// CHECK: rt.copy %[[X]] to %[[P6]] bytes 64
// CHECK: %[[P7:.+]] = rt.binding 1 offset 448
// CHECK: rt.copy %[[P0]] to %[[P7]] bytes 64
func.func @side_by_side(%x: tensor<16xf32>) -> tensor<8x16xf32> {
  %0 = rt.call @relu(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %r0 = graph.reshape %0 : (tensor<16xf32>) -> tensor<1x16xf32>
  %1 = rt.call @relu(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %r1 = graph.reshape %1 : (tensor<16xf32>) -> tensor<1x16xf32>
  %2 = rt.call @relu(%1) : (tensor<16xf32>) -> tensor<16xf32>
  %r2 = graph.reshape %2 : (tensor<16xf32>) -> tensor<1x16xf32>
  %3 = rt.call @relu(%2) : (tensor<16xf32>) -> tensor<16xf32>
  %r3 = graph.reshape %3 : (tensor<16xf32>) -> tensor<1x16xf32>
  %4 = rt.call @relu(%3) : (tensor<16xf32>) -> tensor<16xf32>
  %r4 = graph.reshape %4 : (tensor<16xf32>) -> tensor<1x16xf32>
  %5 = rt.call @relu(%4) : (tensor<16xf32>) -> tensor<16xf32>
  %r5 = graph.reshape %5 : (tensor<16xf32>) -> tensor<1x16xf32>
  %rx = graph.reshape %x : (tensor<16xf32>) -> tensor<1x16xf32>
  %all = graph.concat %r0, %r1, %r2, %r3, %r4, %r5, %rx, %r0 {axis = 0 : i64} : (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<8x16xf32>
  return %all : tensor<8x16xf32>
}

// A piece of what a kernel computes lies in that, which stays until the piece
// was read: the next result is put elsewhere.
// CHECK-LABEL: rt.program @step arena 192
// CHECK: %[[ALL:.+]] = rt.arena 0 bytes 128
// CHECK: rt.launch @relu2(%{{.+}}, %[[ALL]])
// CHECK: %[[P:.+]] = rt.arena 64 bytes 64
// CHECK: %[[A:.+]] = rt.arena 128 bytes 64
// CHECK: rt.launch @relu(%[[P]], %[[A]])
// CHECK: %[[Y:.+]] = rt.binding 1
// CHECK: rt.launch @relu(%[[A]], %[[Y]])
// CHECK: %[[Z:.+]] = rt.binding 2
// CHECK: rt.copy %[[P]] to %[[Z]] bytes 64
func.func @step(%x: tensor<2x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %all = rt.call @relu2(%x) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %0 = graph.slice %all {starts = array<i64: 1, 0>, limits = array<i64: 2, 16>, strides = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<1x16xf32>
  %1 = graph.reshape %0 : (tensor<1x16xf32>) -> tensor<16xf32>
  %2 = rt.call @relu(%1) : (tensor<16xf32>) -> tensor<16xf32>
  %3 = rt.call @relu(%2) : (tensor<16xf32>) -> tensor<16xf32>
  return %3, %1 : tensor<16xf32>, tensor<16xf32>
}
rt.kernel @relu2 domain [2, 16] row_dims 0 chunks 1 -> [tensor<2x16xf32>] {
^bb0(%a: tensor<2x16xf32>):
  %y = graph.relu %a : tensor<2x16xf32>
  rt.yield %y : tensor<2x16xf32>
}

// -----

graph.variable @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
rt.kernel @relu domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>] {
^bb0(%a: tensor<16xf32>):
  %y = graph.relu %a : tensor<16xf32>
  rt.yield %y : tensor<16xf32>
}

// The update is written over the old value, which nothing reads any more.
// CHECK-LABEL: rt.program @update arena 0
// CHECK: %[[W:.+]] = rt.binding 0
// CHECK: rt.launch @relu(%[[W]], %[[W]])
// CHECK-NOT: rt.copy
func.func @update(%w: tensor<16xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<16xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = rt.call @relu(%w) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// The old value is a result: the update waits in the arena.
// CHECK-LABEL: rt.program @old_value arena 64
// CHECK: %[[W:.+]] = rt.binding 0
// CHECK: %[[A:.+]] = rt.arena 0 bytes 64
// CHECK: rt.launch @relu(%[[W]], %[[A]])
// CHECK: rt.copy %[[W]] to %{{.+}} bytes 64
// CHECK: rt.copy %[[A]] to %[[W]] bytes 64
func.func @old_value(%w: tensor<16xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<16xf32>, tensor<16xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = rt.call @relu(%w) : (tensor<16xf32>) -> tensor<16xf32>
  return %w, %0 : tensor<16xf32>, tensor<16xf32>
}

// -----

graph.variable @w : tensor<4x16xf32> = dense<0.0> : tensor<4x16xf32>
rt.kernel @take domain [4] row_dims 1 chunks 1 -> [tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>] {
^bb0(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>):
  %0:3 = graph.take_top_k %a, %b {k = 2 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>)
  rt.yield %0#0, %0#1, %0#2 : tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>
}
rt.kernel @zeros domain [4, 16] row_dims 1 chunks 1 -> [tensor<4x16xf32>] {
^bb0(%u: tensor<4x2xf32>, %i: tensor<4x2xi16>, %w: tensor<4x16xf32>):
  %0 = graph.scatter_rows %u, %i {size = 16 : i64} : (tensor<4x2xf32>, tensor<4x2xi16>) -> tensor<4x16xf32>
  %1 = graph.sub %w, %0 : tensor<4x16xf32>
  rt.yield %1 : tensor<4x16xf32>
}

// An op with loops of its own says in whose memory a result may lie.
// CHECK-LABEL: rt.program @rest
// CHECK: %[[X:.+]] = rt.binding 0
// CHECK: %[[W:.+]] = rt.binding 1
// CHECK: rt.launch @take(%[[X]], %[[W]], %{{.+}}, %{{.+}}, %[[W]])
// CHECK-NOT: rt.copy
func.func @rest(%x: tensor<4x16xf32>, %w: tensor<4x16xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32> {graph.role = "variable", graph.variable = @w}) {
  %0:3 = rt.call @take(%x, %w) : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>
}

// Not in that of another operand ...
// CHECK-LABEL: rt.program @other_operand
// CHECK: %[[W:.+]] = rt.binding 1
// CHECK: rt.launch @take(%[[W]], %{{.+}}, %{{.+}}, %{{.+}}, %[[A:.+]]) rows
// CHECK: rt.copy %[[A]] to %[[W]] bytes 256
func.func @other_operand(%x: tensor<4x16xf32>, %w: tensor<4x16xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32> {graph.role = "variable", graph.variable = @w}) {
  %0:3 = rt.call @take(%w, %x) : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>
}

// ... nor where that operand is another, too.
// CHECK-LABEL: rt.program @both_operands
// CHECK: %[[W:.+]] = rt.binding 0
// CHECK: rt.launch @take(%[[W]], %[[W]], %{{.+}}, %{{.+}}, %[[A:.+]]) rows
// CHECK: rt.copy %[[A]] to %[[W]] bytes 256
func.func @both_operands(%w: tensor<4x16xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32> {graph.role = "variable", graph.variable = @w}) {
  %0:3 = rt.call @take(%w, %w) : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>)
  return %0#0, %0#1, %0#2 : tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>
}

// What reads a row that the kernel makes is an element's update as any other.
// CHECK-LABEL: rt.program @row_update
// CHECK: %[[W:.+]] = rt.binding 2
// CHECK: rt.launch @zeros(%{{.+}}, %{{.+}}, %[[W]], %[[W]])
// CHECK-NOT: rt.copy
func.func @row_update(%u: tensor<4x2xf32>, %i: tensor<4x2xi16>, %w: tensor<4x16xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<4x16xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = rt.call @zeros(%u, %i, %w) : (tensor<4x2xf32>, tensor<4x2xi16>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

dist.mesh @mesh ["data"=2]
rt.kernel @two domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>, tensor<16xf32>] {
^bb0(%a: tensor<16xf32>):
  %y = graph.relu %a : tensor<16xf32>
  %z = graph.neg %a : tensor<16xf32>
  rt.yield %y, %z : tensor<16xf32>, tensor<16xf32>
}

// A bucket's operands lie one after another and are one transfer, in place.
// CHECK-LABEL: rt.program @bucket arena 128
// CHECK-SAME: transfers = [{axes = ["data"], bytes = 128 : i64, id = 0 : i64, op = "all_reduce"
// CHECK: %[[A:.+]] = rt.arena 0 bytes 64
// CHECK: %[[B:.+]] = rt.arena 64 bytes 64
// CHECK: rt.launch @two(%{{.+}}, %[[A]], %[[B]])
// CHECK: rt.collective all_reduce op 0 over [0](%[[A]]) to(%[[A]]) [#rt.piece<f32[1, 1, 128] from[0, 0, 0] to[0, 0, 0]>]
// CHECK: rt.launch @two(%[[A]],
func.func @bucket(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0:2 = rt.call @two(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %1:2 = dist.all_reduce %0#0, %0#1 over @mesh ["data"] {reason = "gradients", origin = "fc"}
      : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %2:2 = rt.call @two(%1#0) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %3:2 = rt.call @two(%1#1) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %2#0, %2#1, %3#0, %3#1 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// Also where the gradient is seen through a view; not where the view's memory
// has another reader.
// CHECK-LABEL: rt.program @views
// CHECK: rt.launch @two(%{{.+}}, %[[A:.+]], %[[B:.+]]) rows
// CHECK-NOT: rt.copy
// CHECK: rt.collective all_reduce op 0 over [0](%[[A]], %[[B]]) to(%[[A]], %[[C:.+]]) [
// CHECK-NOT: rt.copy
// CHECK: rt.launch @two(%[[A]],
func.func @views(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0:2 = rt.call @two(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %a = graph.reshape %0#0 : (tensor<16xf32>) -> tensor<4x4xf32>
  %b = graph.reshape %0#1 : (tensor<16xf32>) -> tensor<4x4xf32>
  %1:2 = dist.all_reduce %a, %b over @mesh ["data"] {reason = "gradients", origin = "fc"}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %c = graph.reshape %1#0 : (tensor<4x4xf32>) -> tensor<16xf32>
  %d = graph.reshape %1#1 : (tensor<4x4xf32>) -> tensor<16xf32>
  %2:2 = rt.call @two(%c) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %3:2 = rt.call @two(%d) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %2#0, %2#1, %3#0, %3#1, %0#1 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// Nor where the memory has parts, which are read behind it.
// CHECK-LABEL: rt.program @parts arena 512
// CHECK: %[[P:.+]] = rt.arena 0 bytes 64
// CHECK: %[[SUM:.+]] = rt.binding 1
// CHECK: rt.collective all_reduce op 0 over [0](%{{.+}}) to(%[[SUM]]) [
// CHECK: rt.launch @two(%[[P]],
func.func @parts(%x: tensor<16xf32>) -> (tensor<128xf32>, tensor<16xf32>, tensor<16xf32>) {
  %0:2 = rt.call @two(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %1:2 = rt.call @two(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %2:2 = rt.call @two(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %3:2 = rt.call @two(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %all = graph.concat %0#0, %0#1, %1#0, %1#1, %2#0, %2#1, %3#0, %3#1 {axis = 0 : i64} : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<128xf32>
  %sum = dist.all_reduce %all over @mesh ["data"] {reason = "gradients", origin = "fc"} : (tensor<128xf32>) -> tensor<128xf32>
  %y:2 = rt.call @two(%0#0) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %sum, %y#0, %y#1 : tensor<128xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

dist.mesh @places ["data"=2, "model"=2]
rt.kernel @two domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>, tensor<16xf32>] {
^bb0(%a: tensor<16xf32>):
  %y = graph.relu %a : tensor<16xf32>
  %z = graph.neg %a : tensor<16xf32>
  rt.yield %y, %z : tensor<16xf32>, tensor<16xf32>
}

// Places that take parts of the batch by weight have programs whose memory
// differs: among them each operand is a piece of its own.
// CHECK-LABEL: rt.program @weighted_portion0 arena 128
// CHECK: %[[A:.+]] = rt.arena 0 bytes 64
// CHECK: %[[B:.+]] = rt.arena 64 bytes 64
// CHECK: rt.collective all_reduce op 0 over [0](%[[A]], %[[B]]) to(%[[A]], %[[B]]) [#rt.piece<f32[1, 1, 64] from[0, 0, 0] to[0, 0, 0]>, #rt.piece<f32[1, 1, 64] from[0, 0, 0] to[0, 0, 0]>]
// CHECK: rt.collective all_reduce op 1 over [1](%[[A]]) to(%[[A]]) [#rt.piece<f32[1, 1, 128] from[0, 0, 0] to[0, 0, 0]>]
func.func @weighted_portion0(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
    attributes {dist.entry = "weighted", dist.portion = {axis = "data", position = 0 : i64, weights = array<i64: 3, 1>}} {
  %0:2 = rt.call @two(%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %1:2 = dist.all_reduce %0#0, %0#1 over @places ["data"] {reason = "gradients", origin = "fc"}
      : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %2:2 = dist.all_reduce %1#0, %1#1 over @places ["model"] {reason = "gradients", origin = "fc"}
      : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %3:2 = rt.call @two(%2#0) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %4:2 = rt.call @two(%2#1) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %3#0, %3#1, %4#0, %4#1 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

rt.kernel @neg domain [16] row_dims 0 chunks 1 -> [tensor<16xf32>] {
^bb0(%a: tensor<16xf32>):
  %y = graph.neg %a : tensor<16xf32>
  rt.yield %y : tensor<16xf32>
}

// What a preparation gives is written to the entry's own argument.
// CHECK-LABEL: rt.program @predict_prepare arena 0
// CHECK-SAME: rt.prepares = @predict
// CHECK: %[[W:.+]] = rt.binding 0
// CHECK: %[[P:.+]] = rt.binding 1
// CHECK: rt.launch @neg(%[[W]], %[[P]])
func.func @predict_prepare(%w: tensor<16xf32> {graph.role = "variable", graph.variable = @w}, %p: tensor<16xf32> {graph.name = "prepared_0", graph.role = "prepared"})
    -> (tensor<16xf32> {graph.name = "prepared_0", graph.role = "prepared"}) attributes {rt.prepares = @predict} {
  %0 = rt.call @neg(%w) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
