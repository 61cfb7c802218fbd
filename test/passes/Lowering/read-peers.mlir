// RUN: dist-opt %s --graph-form-clusters --rt-flatten-kernels --rt-read-peers -split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-graph-to-rt-pipeline="read-peers=false" -split-input-file | FileCheck %s --check-prefix=MOVED

// The update adds up itself, in the order of places; who asks last waits for all.
dist.mesh @mesh ["data"=2]

// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[W:.+]]: tensor<512x64xf32>, %[[X:.+]]: tensor<512x64xf32>
// CHECK: %[[G:.+]] = rt.fused
// CHECK: %[[V:.+]] = graph.reshape %[[G]] : (tensor<32768xf32>) -> tensor<512x64xf32>
// CHECK: %[[P:.+]]:2 = rt.publish all_reduce op 3 over [0] peers 2(%[[V]]) [#rt.piece<f32[1, 1, 131072] from[0, 0, 0] to[0, 0, 0]>]
// CHECK-SAME: transfer = {axes = ["data"], bytes = 131072 : i64, id = 3 : i64, op = "all_reduce", origin = "o", reason = "r", tensor = "o"}
// CHECK: %[[P0:.+]] = graph.reshape %[[P]]#0
// CHECK: %[[P1:.+]] = graph.reshape %[[P]]#1
// CHECK: rt.fused(%[[P0]], %{{.+}}, %[[P1]]) domain [32768]
// CHECK-NEXT: ^bb0(%[[A:.+]]: tensor<32768xf32>, %[[B:.+]]: tensor<32768xf32>, %[[C:.+]]: tensor<32768xf32>):
// CHECK: %[[S:.+]] = graph.add %[[A]], %[[C]]
// CHECK: graph.mul %[[S]]
// CHECK: rt.release op 3 over [0](%[[V]]) : tensor<512x64xf32>
// CHECK-NEXT: return
// MOVED-LABEL: rt.program @update
// MOVED: rt.collective all_reduce op 3
func.func @update(%w: tensor<512x64xf32>, %x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %c = graph.constant dense<0.5> : tensor<512x64xf32>
  %g = graph.exp %x : tensor<512x64xf32>
  %s = dist.all_reduce %g over @mesh ["data"] {op_id = 3 : i64, reason = "r", origin = "o"} : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %0 = graph.mul %s, %c : tensor<512x64xf32>
  %1 = graph.sub %w, %0 : tensor<512x64xf32>
  return %1 : tensor<512x64xf32>
}

// What is read otherwise stays a collective of its own: here a loss that is
// returned, and a gradient whose norm is needed first.
// CHECK-LABEL: func.func @rest
// CHECK: %[[P:.+]]:2 = rt.publish all_reduce op 5 over [0] peers 2(%{{[^)]+}})
// CHECK-SAME: bytes = 65536
// CHECK: %[[R:.+]]:2 = dist.all_reduce %{{.+}}, %{{.+}} over @mesh ["data"] {dist.shardings = [#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{}]>], op_id = 5 : i64,
// CHECK-SAME: (tensor<f32>, tensor<16384xf32>) -> (tensor<f32>, tensor<16384xf32>)
// CHECK: rt.release op 5
// CHECK: return %[[R]]#0
func.func @rest(%w: tensor<16384xf32>, %l: tensor<f32>, %x: tensor<16384xf32>)
    -> (tensor<f32>, tensor<16384xf32>, tensor<16384xf32>) {
  %k = graph.exp %l : tensor<f32>
  %g = graph.exp %x : tensor<16384xf32>
  %h = graph.sqrt %x : tensor<16384xf32>
  %s:3 = dist.all_reduce %k, %g, %h over @mesh ["data"]
    {dist.shardings = [#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{?}]>, #dist.sharding<@mesh, [{}]>], op_id = 5 : i64, reason = "r", origin = "o"}
    : (tensor<f32>, tensor<16384xf32>, tensor<16384xf32>) -> (tensor<f32>, tensor<16384xf32>, tensor<16384xf32>)
  %0 = graph.sub %w, %s#1 : tensor<16384xf32>
  %n = graph.mul %s#2, %s#2 : tensor<16384xf32>
  %r = graph.reduce sum, %n {dims = array<i64: 0>} : (tensor<16384xf32>) -> tensor<f32>
  %b = graph.broadcast %r {dims = array<i64>} : (tensor<f32>) -> tensor<16384xf32>
  %1 = graph.div %s#2, %b : tensor<16384xf32>
  return %s#0, %0, %1 : tensor<f32>, tensor<16384xf32>, tensor<16384xf32>
}

// Each rank reads its part. One that was started runs beside other work.
// CHECK-LABEL: func.func @part
// CHECK: dist.reduce_scatter_start
// CHECK: dist.wait
// CHECK: %[[P:.+]]:2 = rt.publish reduce_scatter op 0 over [0] peers 2(%{{[^)]+}}) [#rt.piece<f32[1, 1, 65536] from[131072, 0, 65536] to[65536, 0, 0]>]
// CHECK-SAME: op = "reduce_scatter"
// CHECK-SAME: (tensor<32768xf32>) -> (tensor<16384xf32>, tensor<16384xf32>)
// CHECK: rt.fused(%[[P]]#0, %{{.+}}, %[[P]]#1)
// CHECK: rt.release op 0 over [0](%{{.+}}) : tensor<32768xf32>
func.func @part(%w: tensor<16384xf32>, %v: tensor<16384xf32>, %x: tensor<32768xf32>) -> (tensor<16384xf32>, tensor<16384xf32>) {
  %g = graph.exp %x : tensor<32768xf32>
  %t = dist.reduce_scatter_start %g over @mesh ["data"] {dims = array<i64: 0>, op_id = 1 : i64, reason = "r", origin = "o"}
    : (tensor<32768xf32>) -> !dist.token<tensor<16384xf32>>
  %s = dist.wait %t : (!dist.token<tensor<16384xf32>>) -> tensor<16384xf32>
  %0 = graph.sub %s, %w : tensor<16384xf32>
  %p = dist.reduce_scatter %g over @mesh ["data"] {dims = array<i64: 0>, op_id = 0 : i64, reason = "r", origin = "o"} : (tensor<32768xf32>) -> tensor<16384xf32>
  %1 = graph.mul %p, %v : tensor<16384xf32>
  return %0, %1 : tensor<16384xf32>, tensor<16384xf32>
}

// Small, in bf16, by max, by a ring, of an argument, without a number, or not in
// one block: nothing is shared.
// CHECK-LABEL: func.func @small
// CHECK-NOT: rt.publish
// CHECK: dist.all_reduce
func.func @small(%w: tensor<128xf32>, %x: tensor<128xf32>) -> tensor<128xf32> {
  %g = graph.exp %x : tensor<128xf32>
  %s = dist.all_reduce %g over @mesh ["data"] {op_id = 0 : i64, reason = "r", origin = "o"} : (tensor<128xf32>) -> tensor<128xf32>
  %0 = graph.sub %w, %s : tensor<128xf32>
  return %0 : tensor<128xf32>
}
// CHECK-LABEL: func.func @kept
// CHECK-NOT: rt.publish
// CHECK-COUNT-6: dist.{{all_reduce|reduce_scatter}}
// CHECK-NOT: rt.release
// CHECK: return
func.func @kept(%w: tensor<65536xbf16>, %v: tensor<256x256xf32>, %x: tensor<65536xbf16>, %y: tensor<256x256xf32>, %u: tensor<256x128xf32>)
    -> (tensor<65536xbf16>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x128xf32>) {
  %0 = graph.exp %x : tensor<65536xbf16>
  %1 = dist.all_reduce %0 over @mesh ["data"] {op_id = 0 : i64, reason = "r", origin = "o"} : (tensor<65536xbf16>) -> tensor<65536xbf16>
  %2 = graph.sub %w, %1 : tensor<65536xbf16>
  %3 = graph.exp %y : tensor<256x256xf32>
  %4 = dist.all_reduce %3 over @mesh ["data"] by max {op_id = 1 : i64, reason = "r", origin = "o"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %5 = graph.sub %v, %4 : tensor<256x256xf32>
  %6 = dist.all_reduce %3 over @mesh ["data"] using ring {op_id = 2 : i64, reason = "r", origin = "o"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %7 = graph.mul %v, %6 : tensor<256x256xf32>
  %8 = dist.all_reduce %v over @mesh ["data"] {op_id = 3 : i64, reason = "r", origin = "o"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %9 = graph.mul %y, %8 : tensor<256x256xf32>
  %10 = dist.all_reduce %3 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %11 = graph.add %y, %10 : tensor<256x256xf32>
  %12 = dist.reduce_scatter %3 over @mesh ["data"] {dims = array<i64: 1>, op_id = 5 : i64, reason = "r", origin = "o"} : (tensor<256x256xf32>) -> tensor<256x128xf32>
  %13 = graph.sub %u, %12 : tensor<256x128xf32>
  return %2, %5, %7, %9, %11, %13 : tensor<65536xbf16>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x128xf32>
}

// -----

// Among three, an all-reduce moves no more than three readers of three would;
// a reduce_scatter still does.
dist.mesh @mesh ["data"=3]

// CHECK-LABEL: func.func @three
// CHECK: dist.all_reduce
// CHECK: %[[P:.+]]:3 = rt.publish reduce_scatter op 1 over [0] peers 3
// CHECK: rt.fused(%[[P]]#0, %{{.+}}, %[[P]]#1, %[[P]]#2)
// CHECK-NEXT: ^bb0(%[[A:.+]]: tensor<16384xf32>, %{{.+}}: tensor<16384xf32>, %[[B:.+]]: tensor<16384xf32>, %[[C:.+]]: tensor<16384xf32>):
// CHECK: %[[S:.+]] = graph.add %[[A]], %[[B]]
// CHECK: %[[T:.+]] = graph.add %[[S]], %[[C]]
// CHECK: graph.mul %[[T]]
func.func @three(%w: tensor<49152xf32>, %v: tensor<16384xf32>, %x: tensor<49152xf32>) -> (tensor<49152xf32>, tensor<16384xf32>) {
  %g = graph.exp %x : tensor<49152xf32>
  %0 = dist.all_reduce %g over @mesh ["data"] {op_id = 0 : i64, reason = "r", origin = "o"} : (tensor<49152xf32>) -> tensor<49152xf32>
  %1 = graph.sub %w, %0 : tensor<49152xf32>
  %2 = dist.reduce_scatter %g over @mesh ["data"] {dims = array<i64: 0>, op_id = 1 : i64, reason = "r", origin = "o"} : (tensor<49152xf32>) -> tensor<16384xf32>
  %3 = graph.mul %2, %v : tensor<16384xf32>
  return %1, %3 : tensor<49152xf32>, tensor<16384xf32>
}

// -----
// Ranks of several processes have no memory in common; nor do those of one read
// each other's while their communicator moves what goes to others.
dist.mesh @mesh ["host"=2, "data"=2] {processes = {host = 2 : i64}}

// CHECK-LABEL: func.func @processes
// CHECK-NOT: rt.publish
// CHECK: dist.all_reduce {{.*}} ["host"]
// CHECK-NOT: rt.publish
// CHECK: dist.all_reduce {{.*}} ["data"]
// CHECK-NOT: rt.publish
// CHECK: return
// MOVED-LABEL: rt.program @processes
func.func @processes(%w: tensor<32768xf32>, %x: tensor<32768xf32>, %y: tensor<32768xf32>) -> tensor<32768xf32> {
  %g = graph.exp %x : tensor<32768xf32>
  %h = graph.exp %y : tensor<32768xf32>
  %s = dist.all_reduce %g over @mesh ["host"] {op_id = 3 : i64, reason = "r", origin = "o"} : (tensor<32768xf32>) -> tensor<32768xf32>
  %t = dist.all_reduce %h over @mesh ["data"] {op_id = 4 : i64, reason = "r", origin = "o"} : (tensor<32768xf32>) -> tensor<32768xf32>
  %0 = graph.sub %w, %s : tensor<32768xf32>
  %1 = graph.sub %0, %t : tensor<32768xf32>
  return %1 : tensor<32768xf32>
}
