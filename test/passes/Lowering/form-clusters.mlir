// RUN: dist-opt %s --graph-form-clusters=threads=2 | FileCheck %s
// RUN: dist-opt %s --graph-form-clusters="threads=2 fuse=false" | FileCheck %s --check-prefix=ALONE

// A chain is one kernel, and gives what others read.
// CHECK-LABEL: func.func @chain
// CHECK: %[[F:.+]]:2 = rt.fused(%{{.+}}) domain [8] row_dims 0 chunks 1 : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: graph.mul
// CHECK: graph.add
// CHECK: rt.yield
// CHECK: return %[[F]]#0, %[[F]]#1
// ALONE-LABEL: func.func @chain
// ALONE: rt.fused
// ALONE: graph.mul
// ALONE: rt.fused
// ALONE: graph.add
func.func @chain(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = graph.mul %x, %x : tensor<8xf32>
  %1 = graph.add %0, %x : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// The phases of a softmax are one kernel over rows; large ones in two chunks.
// CHECK-LABEL: func.func @softmax
// CHECK: rt.fused(%{{.+}}) domain [512, 1000] row_dims 1 chunks 2
// CHECK: graph.reduce max
// CHECK: graph.reduce sum
// CHECK: rt.yield
// CHECK: return
func.func @softmax(%x: tensor<512x1000xf32>) -> tensor<512x1000xf32> {
  %m = graph.reduce max, %x {dims = array<i64: 1>} : (tensor<512x1000xf32>) -> tensor<512xf32>
  %b = graph.broadcast %m {dims = array<i64: 0>} : (tensor<512xf32>) -> tensor<512x1000xf32>
  %d = graph.sub %x, %b : tensor<512x1000xf32>
  %e = graph.exp %d : tensor<512x1000xf32>
  %s = graph.reduce sum, %e {dims = array<i64: 1>} : (tensor<512x1000xf32>) -> tensor<512xf32>
  %c = graph.broadcast %s {dims = array<i64: 0>} : (tensor<512xf32>) -> tensor<512x1000xf32>
  %p = graph.div %e, %c : tensor<512x1000xf32>
  return %p : tensor<512x1000xf32>
}

// A sum over rows has a partial result a chunk, which a second kernel adds up.
// CHECK-LABEL: func.func @bias_gradient
// CHECK: %[[F:.+]]:2 = rt.fused({{.*}} chunks 2 : {{.*}} -> (tensor<64x13x13x32xf32>, tensor<2x32xf32>)
// CHECK: %[[B:.+]] = rt.fused(%[[F]]#1) domain [2, 32] row_dims 0 chunks 1 : (tensor<2x32xf32>) -> tensor<32xf32>
// CHECK: return %[[F]]#0, %[[B]]
func.func @bias_gradient(%y: tensor<64x13x13x32xf32>, %g: tensor<64x13x13x32xf32>)
    -> (tensor<64x13x13x32xf32>, tensor<32xf32>) {
  %d = graph.mul %y, %g : tensor<64x13x13x32xf32>
  %b = graph.reduce sum, %d {dims = array<i64: 0, 1, 2>} : (tensor<64x13x13x32xf32>) -> tensor<32xf32>
  return %d, %b : tensor<64x13x13x32xf32>, tensor<32xf32>
}

// What reads a sum over rows waits for all rows: another kernel.
// CHECK-LABEL: func.func @after_outer_reduction
// CHECK: rt.fused
// CHECK: graph.reduce
// CHECK: rt.yield
// CHECK: rt.fused
// CHECK: graph.sub
func.func @after_outer_reduction(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  %b = graph.broadcast %s {dims = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  %d = graph.sub %x, %b : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// Merging the first and the last would make a cycle through the library.
// CHECK-LABEL: func.func @no_cycle
// CHECK: rt.fused
// CHECK: graph.relu
// CHECK: rt.library
// CHECK: rt.fused
// CHECK: graph.add
func.func @no_cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.relu %x : tensor<8x8xf32>
  %1 = rt.library(%0, %0) {kind = "matmul", memories = []} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

graph.variable @w0 : tensor<64x64xf32> trainable {group = "parameter"} = dense<0.0> : tensor<64x64xf32>
graph.variable @w1 : tensor<64x4x16xf32> trainable {group = "parameter"} = dense<0.0> : tensor<64x4x16xf32>
// What is made of variables alone comes right before it is read, however early
// it stands; so does a view of it that stands late. The batch is no variable.
// CHECK-LABEL: func.func @preparation
// CHECK: rt.fused({{.*}} -> tensor<8x64xbf16>
// CHECK: rt.fused({{.*}} -> tensor<64x64xbf16>
// CHECK-NOT: rt.fused
// CHECK: rt.library({{.*}}kind = "matmul"
// CHECK: rt.fused({{.*}} -> tensor<8x64xbf16>
// CHECK: rt.fused({{.*}} -> tensor<64x4x16xbf16>
// CHECK: %[[W1:.+]] = graph.reshape %{{.+}} -> tensor<64x64xbf16>
// CHECK-NOT: rt.fused
// CHECK: rt.library(%{{.+}}, %[[W1]]) {kind = "matmul"
// CHECK: return
func.func @preparation(%x: tensor<8x64xf32> {graph.role = "input"}, %w0: tensor<64x64xf32> {graph.role = "variable", graph.variable = @w0}, %w1: tensor<64x4x16xf32> {graph.role = "variable", graph.variable = @w1}) -> tensor<8x64xbf16> {
  %0 = graph.convert %w1 : (tensor<64x4x16xf32>) -> tensor<64x4x16xbf16>
  %1 = graph.convert %w0 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %2 = graph.convert %x : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  %3 = rt.library(%2, %1) {kind = "matmul", memories = [{dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 64, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}]} : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %4 = graph.relu %3 : tensor<8x64xbf16>
  %5 = graph.reshape %0 : (tensor<64x4x16xbf16>) -> tensor<64x64xbf16>
  %6 = rt.library(%4, %5) {kind = "matmul", memories = [{dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 64, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}]} : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  return %6 : tensor<8x64xbf16>
}

dist.mesh @mesh ["data"=2]
// Collectives of variables stay in their order, in which all ranks come to them.
// CHECK-LABEL: func.func @gathers
// CHECK: dist.all_gather %arg2
// CHECK: dist.all_gather %arg1
// CHECK: rt.library(
// CHECK: rt.library(
func.func @gathers(%x: tensor<8x64xbf16> {graph.role = "input"}, %w0: tensor<32x64xbf16> {graph.role = "variable", graph.variable = @w0}, %w1: tensor<32x64xbf16> {graph.role = "variable", graph.variable = @w1}) -> tensor<8x64xbf16> {
  %0 = dist.all_gather %w1 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<32x64xbf16>) -> tensor<64x64xbf16>
  %1 = dist.all_gather %w0 over @mesh ["data"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<32x64xbf16>) -> tensor<64x64xbf16>
  %2 = rt.library(%x, %1) {kind = "matmul", memories = [{dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 64, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}]} : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  %3 = graph.relu %2 : tensor<8x64xbf16>
  %4 = rt.library(%3, %0) {kind = "matmul", memories = [{dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 64, 64>, strides = array<i64: 64, 1>, type = "bf16"}, {dims = array<i64: 8, 64>, strides = array<i64: 64, 1>, type = "bf16"}]} : (tensor<8x64xbf16>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
  return %4 : tensor<8x64xbf16>
}

// The two readers of %a are one kernel, so that the first sum depends on the
// second by way of it, though it stands ahead: the last add cannot join what
// the second sums.
// CHECK-LABEL: func.func @through_merged
// CHECK: %[[B:.+]] = rt.fused(%arg1)
// CHECK: %[[SECOND:.+]] = dist.all_reduce %[[B]]
// CHECK: %[[A:.+]]:2 = rt.fused(%arg0, %[[SECOND]])
// CHECK: %[[FIRST:.+]] = dist.all_reduce %[[A]]#0
// CHECK: %[[LAST:.+]] = rt.fused(%[[B]], %[[FIRST]])
// CHECK: return %[[A]]#1, %[[LAST]]
func.func @through_merged(%a: tensor<64xf32>, %b: tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = graph.exp %a : tensor<64xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = graph.exp %b : tensor<64xf32>
  %3 = dist.all_reduce %2 over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<64xf32>) -> tensor<64xf32>
  %4 = graph.add %a, %3 : tensor<64xf32>
  %5 = graph.add %2, %1 : tensor<64xf32>
  return %4, %5 : tensor<64xf32>, tensor<64xf32>
}

// Many operands side by side are no kernel, which would have to choose among them;
// few are, and so are many along an inner dim.
// CHECK-LABEL: func.func @side_by_side
// CHECK: %[[H:.+]] = rt.fused
// CHECK: graph.neg
// CHECK: graph.concat %{{.+}}, %[[H]] {axis = 0 : i64} : ({{.*}}) -> tensor<8x16xf32>
// CHECK-COUNT-2: rt.fused
// CHECK-NOT: rt.fused
// CHECK: return
func.func @side_by_side(%a: tensor<1x16xf32>, %b: tensor<1x16xf32>, %c: tensor<1x16xf32>, %d: tensor<1x16xf32>, %e: tensor<1x16xf32>, %f: tensor<1x16xf32>, %g: tensor<1x16xf32>, %h: tensor<1x16xf32>, %m: tensor<2x16xf32>) -> (tensor<8x16xf32>, tensor<2x16xf32>, tensor<2x128xf32>) {
  %n = graph.neg %h : tensor<1x16xf32>
  %0 = graph.concat %a, %b, %c, %d, %e, %f, %g, %n {axis = 0 : i64} : (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<8x16xf32>
  %1 = graph.concat %a, %b {axis = 0 : i64} : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<2x16xf32>
  %2 = graph.concat %m, %m, %m, %m, %m, %m, %m, %m {axis = 1 : i64} : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x128xf32>
  return %0, %1, %2 : tensor<8x16xf32>, tensor<2x16xf32>, tensor<2x128xf32>
}
