// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-combine-collectives))" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-combine-collectives{bytes-per-pack=32}))" | FileCheck %s --check-prefix=PACK
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-combine-collectives{parts=2}))" | FileCheck %s --check-prefix=PARTS
dist.mesh @mesh ["data"=2, "model"=2]

// Users of the first move behind the bucket; the scalar comes last in it.
// CHECK-LABEL: func @bucket
// PACK-LABEL: func @bucket
func.func @bucket(%loss: tensor<f32>, %a: tensor<8xf32>, %b: tensor<4x4xf32>, %c: tensor<4xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  // CHECK: %[[R:.+]]:4 = dist.all_reduce %arg1, %arg2, %arg3, %arg0 over @mesh ["data"] {{.*}}op_id = 0 : i64, origin = "a; b; c; loss", reason = "sum"
  // CHECK: graph.neg %[[R]]#0
  // CHECK: return %[[R]]#3, %{{.+}}, %[[R]]#1, %[[R]]#2
  // PACK: %[[P:.+]]:2 = dist.all_reduce %arg1, %arg2 over
  // PACK: %[[Q:.+]]:2 = dist.all_reduce %arg3, %arg0 over {{.*}}op_id = 1
  %0 = dist.all_reduce %loss over @mesh ["data"] {reason = "sum", origin = "loss"} : (tensor<f32>) -> tensor<f32>
  %1 = dist.all_reduce %a over @mesh ["data"] {reason = "sum", origin = "a"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.neg %1 : tensor<8xf32>
  %3 = dist.all_reduce %b over @mesh ["data"] {reason = "sum", origin = "b"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dist.all_reduce %c over @mesh ["data"] {reason = "sum", origin = "c"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %2, %3, %4 : tensor<f32>, tensor<8xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// Other groups, reductions and element types stay apart.
// CHECK-LABEL: func @apart
func.func @apart(%a: tensor<8xf32>, %b: tensor<8xf64>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>) {
  // CHECK-COUNT-4: = dist.all_reduce
  // CHECK: return
  %0 = dist.all_reduce %a over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = dist.all_reduce %a over @mesh ["model"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = dist.all_reduce %a over @mesh ["data"] by max {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = dist.all_reduce %b over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf64>) -> tensor<8xf64>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>
}

// What depends on a bucket cannot join it.
// CHECK-LABEL: func @dependent
func.func @dependent(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: %[[A:.+]]:2 = dist.all_reduce %arg0, %arg1
  // CHECK: %[[X:.+]] = graph.mul %[[A]]#0, %[[A]]#1
  // CHECK: dist.all_reduce %[[X]]
  %0 = dist.all_reduce %a over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = dist.all_reduce %b over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = graph.mul %0, %1 : tensor<8xf32>
  %3 = dist.all_reduce %2 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// ZeRO's step: the gradients' scatters are one, the gathers of the new
// variables are one; what is gathered to compute with, and is no variable, stays
// apart.
// CHECK-LABEL: func @shards
// CHECK-SAME: %[[A:[^:]+]]: tensor<4x6xf32>, %[[B:[^:]+]]: tensor<8xf32>, %[[W:[^:]+]]: tensor<2x6xf32>
// CHECK: dist.all_gather %[[W]] over @mesh ["data"] {dims = array<i64: 0>
// CHECK: %[[S:[^:]+]]:2 = dist.reduce_scatter %[[A]], %[[B]] over @mesh ["data"] {dims = array<i64: 1, 0>
// CHECK: %[[NEG:.+]] = graph.neg %[[S]]#0
// CHECK: %[[EXP:.+]] = graph.exp %[[S]]#1
// CHECK: %[[G:[^:]+]]:2 = dist.all_gather %[[NEG]], %[[EXP]] over @mesh ["data"] {dims = array<i64: 1, 0>
// CHECK: return %[[G]]#0, %[[G]]#1
func.func @shards(%a: tensor<4x6xf32>, %b: tensor<8xf32>, %w: tensor<2x6xf32>) -> (tensor<4x6xf32>, tensor<8xf32>, tensor<4x6xf32>) {
  %w0 = dist.all_gather %w over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "w"} : (tensor<2x6xf32>) -> tensor<4x6xf32>
  %u = graph.exp %w0 : tensor<4x6xf32>
  %0 = dist.reduce_scatter %a over @mesh ["data"] {dims = array<i64: 1>, reason = "split", origin = "a"} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %1 = graph.neg %0 : tensor<4x3xf32>
  %2 = dist.all_gather %1 over @mesh ["data"] {dims = array<i64: 1>, reason = "result", origin = "a"} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  %3 = dist.reduce_scatter %b over @mesh ["data"] {dims = array<i64: 0>, reason = "split", origin = "b"} : (tensor<8xf32>) -> tensor<4xf32>
  %4 = graph.exp %3 : tensor<4xf32>
  %5 = dist.all_gather %4 over @mesh ["data"] {dims = array<i64: 0>, reason = "result", origin = "b"} : (tensor<4xf32>) -> tensor<8xf32>
  return %2, %5, %u : tensor<4x6xf32>, tensor<8xf32>, tensor<4x6xf32>
}

// What another stage gets before this one hears from it is not held back for a
// bucket: both would wait.
// CHECK-LABEL: func @stages
// CHECK: dist.all_reduce %{{.+}} over @mesh ["model"]
// CHECK: dist.send
// CHECK: dist.recv
// CHECK: dist.all_reduce %{{.+}} over @mesh ["model"]
func.func @stages(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.all_reduce %a over @mesh ["model"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.neg %0 : tensor<8xf32>
  dist.send %1 over @mesh ["data"] to 1 tag 0 {reason = "r", origin = "o"} : tensor<8xf32>
  %2 = dist.recv over @mesh ["data"] from 1 tag 1 {reason = "r", origin = "o"} : tensor<8xf32>
  %3 = dist.all_reduce %2 over @mesh ["model"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// A send that needs nothing of either holds nothing up.
// CHECK-LABEL: func @independent_send
// CHECK: dist.send
// CHECK: dist.all_reduce %{{.+}}, %{{.+}} over @mesh ["model"]
func.func @independent_send(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = dist.all_reduce %a over @mesh ["model"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  dist.send %a over @mesh ["data"] to 1 tag 0 {reason = "r", origin = "o"} : tensor<8xf32>
  %1 = dist.all_reduce %b over @mesh ["model"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// Microbatches stay apart.
// CHECK-LABEL: func @copies
// CHECK: dist.all_reduce %arg0 over
// CHECK: dist.all_reduce %arg1 over
func.func @copies(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = dist.all_reduce %a over @mesh ["model"] {dist.microbatch = 0 : i64, reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = dist.all_reduce %b over @mesh ["model"] {dist.microbatch = 1 : i64, reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// Without a size, so many parts of what could be one bucket: what runs beside
// the backward pass cannot wait for its last gradient. Small ones stay whole.
// PARTS-LABEL: func @parts
// PARTS: = dist.all_reduce %arg0, %arg1 over
// PARTS: = dist.all_reduce %arg2, %arg3 over
// PARTS: = dist.all_reduce %arg4, %arg5 over
// CHECK-LABEL: func @parts
// CHECK: = dist.all_reduce %arg0, %arg1, %arg2, %arg3 over
// CHECK: = dist.all_reduce %arg4, %arg5 over
func.func @parts(%a: tensor<256x256xf32>, %b: tensor<8xf32>, %c: tensor<256x256xf32>, %d: tensor<4xf32>, %e: tensor<8xbf16>, %f: tensor<8xbf16>) -> (tensor<256x256xf32>, tensor<8xf32>, tensor<256x256xf32>, tensor<4xf32>, tensor<8xbf16>, tensor<8xbf16>) {
  %0 = dist.all_reduce %a over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = dist.all_reduce %b over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = dist.all_reduce %c over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = dist.all_reduce %d over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = dist.all_reduce %e over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xbf16>) -> tensor<8xbf16>
  %5 = dist.all_reduce %f over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xbf16>) -> tensor<8xbf16>
  return %0, %1, %2, %3, %4, %5 : tensor<256x256xf32>, tensor<8xf32>, tensor<256x256xf32>, tensor<4xf32>, tensor<8xbf16>, tensor<8xbf16>
}

// Variables are gathered with the one gathered before, where that was; for the
// backward pass anew, once more. With a size no more than that ahead of its use:
// the first of a bucket counts for nothing.
// CHECK-LABEL: func @variables
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x4xf32>, %[[W:[^:]+]]: tensor<2x4xf32> {{.*}}, %[[B:[^:]+]]: tensor<2xf32> {{.*}}, %[[V:[^:]+]]: tensor<4x2xf32> {{.*}}, %[[C:[^:]+]]: tensor<2xf32>
// CHECK: graph.exp
// CHECK-NEXT: %[[F:.+]]:4 = dist.all_gather %[[W]], %[[B]], %[[V]], %[[C]] over @mesh ["data"] {dims = array<i64: 0, 0, 1, 0>, {{.*}}op_id = 0 : i64, origin = "w; b; v; c", reason = "use"}
// CHECK-NEXT: graph.mul %{{.+}}, %[[F]]#0
// CHECK: %[[C1:.+]] = graph.broadcast %[[F]]#3
// CHECK-NEXT: graph.sub %{{.+}}, %[[C1]]
// CHECK-NEXT: %[[R:.+]]:2 = dist.all_gather %[[V]], %[[W]] over @mesh ["data"] {dims = array<i64: 1, 0>, {{.*}}op_id = 1
// CHECK-NEXT: graph.mul %{{.+}}, %[[R]]#0
// CHECK-NEXT: graph.mul %{{.+}}, %[[R]]#1
// PACK-LABEL: func @variables
// PACK-SAME: %[[X:[^:]+]]: tensor<4x4xf32>, %[[W:[^:]+]]: tensor<2x4xf32> {{.*}}, %[[B:[^:]+]]: tensor<2xf32> {{.*}}, %[[V:[^:]+]]: tensor<4x2xf32> {{.*}}, %[[C:[^:]+]]: tensor<2xf32>
// PACK: graph.exp
// PACK-NEXT: dist.all_gather %[[W]], %[[B]] over
// PACK-NEXT: graph.mul
// PACK-NEXT: graph.broadcast
// PACK-NEXT: graph.add
// PACK-NEXT: dist.all_gather %[[V]], %[[C]] over
// PACK: dist.all_gather %[[V]] over
// PACK-NEXT: graph.mul
// PACK-NEXT: dist.all_gather %[[W]] over
func.func @variables(%x: tensor<4x4xf32>, %w: tensor<2x4xf32> {graph.variable = @w}, %b: tensor<2xf32> {graph.variable = @b}, %v: tensor<4x2xf32> {graph.variable = @v}, %c: tensor<2xf32> {graph.variable = @c}) -> tensor<4x4xf32> {
  %0 = graph.exp %x : tensor<4x4xf32>
  %w0 = dist.all_gather %w over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "w"} : (tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = graph.mul %0, %w0 : tensor<4x4xf32>
  %b0 = dist.all_gather %b over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "b"} : (tensor<2xf32>) -> tensor<4xf32>
  %b1 = graph.broadcast %b0 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<4x4xf32>
  %2 = graph.add %1, %b1 : tensor<4x4xf32>
  %v0 = dist.all_gather %v over @mesh ["data"] {dims = array<i64: 1>, reason = "use", origin = "v"} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  %3 = graph.mul %2, %v0 : tensor<4x4xf32>
  %c0 = dist.all_gather %c over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "c"} : (tensor<2xf32>) -> tensor<4xf32>
  %c1 = graph.broadcast %c0 {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<4x4xf32>
  %4 = graph.sub %3, %c1 : tensor<4x4xf32>
  %v2 = dist.all_gather %v over @mesh ["data"] {dims = array<i64: 1>, reason = "use", origin = "v"} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  %5 = graph.mul %4, %v2 : tensor<4x4xf32>
  %w2 = dist.all_gather %w over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "w"} : (tensor<2x4xf32>) -> tensor<4x4xf32>
  %6 = graph.mul %5, %w2 : tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// Of other groups or element types, computed before, or no variable: apart.
// CHECK-LABEL: func @variables_apart
// CHECK-COUNT-5: = dist.all_gather %{{[^,]+}} over
// CHECK: return
func.func @variables_apart(%a: tensor<4xf32> {graph.variable = @a}, %b: tensor<4xf32> {graph.variable = @b}, %c: tensor<4xf64> {graph.variable = @c}, %d: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf64>, tensor<8xf32>, tensor<16xf32>) {
  %0 = dist.all_gather %a over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "a"} : (tensor<4xf32>) -> tensor<8xf32>
  %1 = graph.exp %0 : tensor<8xf32>
  %2 = dist.all_gather %b over @mesh ["model"] {dims = array<i64: 0>, reason = "use", origin = "b"} : (tensor<4xf32>) -> tensor<8xf32>
  %3 = graph.exp %2 : tensor<8xf32>
  %4 = dist.all_gather %c over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "c"} : (tensor<4xf64>) -> tensor<8xf64>
  %5 = graph.exp %4 : tensor<8xf64>
  %6 = dist.all_gather %d over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "d"} : (tensor<4xf32>) -> tensor<8xf32>
  %7 = graph.exp %6 : tensor<8xf32>
  %8 = dist.all_gather %1 over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "e"} : (tensor<8xf32>) -> tensor<16xf32>
  %9 = graph.exp %8 : tensor<16xf32>
  return %1, %3, %5, %7, %9 : tensor<8xf32>, tensor<8xf32>, tensor<8xf64>, tensor<8xf32>, tensor<16xf32>
}

// More than 256 KiB are not gathered ahead; what is small is, behind what is
// large.
// CHECK-LABEL: func @large_variables
// CHECK-SAME: %[[A:[^:]+]]: tensor<4xf32> {{.*}}, %[[W:[^:]+]]: tensor<128x257xf32> {{.*}}, %[[B:[^:]+]]: tensor<4xf32>
// CHECK: dist.all_gather %[[A]] over
// CHECK-NEXT: graph.exp
// CHECK-NEXT: dist.all_gather %[[W]], %[[B]] over
func.func @large_variables(%a: tensor<4xf32> {graph.variable = @a}, %w: tensor<128x257xf32> {graph.variable = @w}, %b: tensor<4xf32> {graph.variable = @b}) -> (tensor<8xf32>, tensor<256x257xf32>, tensor<8xf32>) {
  %0 = dist.all_gather %a over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "a"} : (tensor<4xf32>) -> tensor<8xf32>
  %1 = graph.exp %0 : tensor<8xf32>
  %2 = dist.all_gather %w over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "w"} : (tensor<128x257xf32>) -> tensor<256x257xf32>
  %3 = graph.exp %2 : tensor<256x257xf32>
  %4 = dist.all_gather %b over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "b"} : (tensor<4xf32>) -> tensor<8xf32>
  %5 = graph.exp %4 : tensor<8xf32>
  return %1, %3, %5 : tensor<8xf32>, tensor<256x257xf32>, tensor<8xf32>
}

// So are those in a narrower type, which is made before.
// CHECK-LABEL: func @narrowed
// CHECK-SAME: %[[A:[^:]+]]: tensor<4xf32> {{.*}}, %[[B:[^:]+]]: tensor<4xf32>
// CHECK-NEXT: %[[NA:.+]] = graph.convert %[[A]]
// CHECK-NEXT: %[[NB:.+]] = graph.convert %[[B]]
// CHECK-NEXT: dist.all_gather %[[NA]], %[[NB]] over
// CHECK-NOT: dist.all_gather
func.func @narrowed(%a: tensor<4xf32> {graph.variable = @a}, %b: tensor<4xf32> {graph.variable = @b}) -> (tensor<8xbf16>, tensor<8xbf16>) {
  %0 = graph.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = dist.all_gather %0 over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "a"} : (tensor<4xbf16>) -> tensor<8xbf16>
  %2 = graph.exp %1 : tensor<8xbf16>
  %3 = graph.convert %b : (tensor<4xf32>) -> tensor<4xbf16>
  %4 = dist.all_gather %3 over @mesh ["data"] {dims = array<i64: 0>, reason = "use", origin = "b"} : (tensor<4xbf16>) -> tensor<8xbf16>
  %5 = graph.exp %4 : tensor<8xbf16>
  return %2, %5 : tensor<8xbf16>, tensor<8xbf16>
}

// Sums over microbatches move nothing and stay apart; what differs from
// microbatch to microbatch does not wait for what does not.
// CHECK-LABEL: func @sums_of_microbatches
// CHECK: %[[A:.+]] = dist.all_reduce %arg0 over @microbatches
// CHECK: %[[B:.+]] = dist.all_reduce %arg1 over @microbatches
// CHECK: %[[ALL:.+]]:2 = dist.all_reduce %[[A]], %[[B]] over @mesh ["data"]
// CHECK: dist.all_reduce %{{.+}} over @mesh ["data"] {dist.microbatch,
dist.mesh @microbatches ["data"=2, "microbatch"=2]
func.func @sums_of_microbatches(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) {
  %0 = dist.all_reduce %a over @microbatches ["microbatch"] {reason = "grads", origin = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] {reason = "grads", origin = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.all_reduce %b over @microbatches ["microbatch"] {reason = "grads", origin = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = dist.all_reduce %2 over @mesh ["data"] {reason = "grads", origin = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = dist.all_reduce %c over @mesh ["data"] {dist.microbatch, reason = "statistics", origin = "c"} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = dist.all_gather %4 over @microbatches ["microbatch"] {dims = array<i64: 0>, reason = "the batch", origin = "c"} : (tensor<4xf32>) -> tensor<8xf32>
  return %1, %3, %5 : tensor<4xf32>, tensor<4xf32>, tensor<8xf32>
}
