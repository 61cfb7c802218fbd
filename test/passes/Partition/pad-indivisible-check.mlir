// Dims that the mesh does not divide, through each family of ops: what one
// device gives, with NaN in the padding of inputs; and the comparison sees a
// mask that is not there.
// RUN: dist-opt %s --test-check-partition -split-input-file | FileCheck %s
// RUN: dist-opt %s --test-check-partition=mutate=mask -split-input-file | FileCheck %s --check-prefix=MASK

// Column, then row: 7 hidden units over 3 ranks, and their gradients.
// CHECK: equal
// CHECK: @layers: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// MASK: different
// MASK: diverges first at graph.{{.*}}: element [{{.*}}] is nan, but {{.*}} on one device
dist.mesh @mesh ["model"=3]
func.func @layers(
    %x: tensor<4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>},
    %w1: tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>},
    %b1: tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{?}]>},
    %w2: tensor<7x2xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {?}]>})
    -> (tensor<4x2xf32>, tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {"model"}]>}, tensor<7xf32>, tensor<7x2xf32>) {
  %b = graph.broadcast %b1 {dims = array<i64: 1>} : (tensor<7xf32>) -> tensor<4x7xf32>
  %0 = graph.dot_general %x, %w1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>
  %1 = graph.add %0, %b : tensor<4x7xf32>
  %2 = graph.tanh %1 : tensor<4x7xf32>
  %y = graph.dot_general %2, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x7xf32>, tensor<7x2xf32>) -> tensor<4x2xf32>
  %dw2 = graph.dot_general %2, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<4x7xf32>, tensor<4x2xf32>) -> tensor<7x2xf32>
  %d1 = graph.dot_general %y, %w2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<4x2xf32>, tensor<7x2xf32>) -> tensor<4x7xf32>
  %dw1 = graph.dot_general %x, %d1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>} : (tensor<4x5xf32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  %db1 = graph.reduce sum, %d1 {dims = array<i64: 0>} : (tensor<4x7xf32>) -> tensor<7xf32>
  return %y, %dw1, %db1, %dw2 : tensor<4x2xf32>, tensor<5x7xf32>, tensor<7xf32>, tensor<7x2xf32>
}

// -----
// Softmax and cross-entropy in their parts, over 10 classes on 4 ranks, and a
// batch over 2 others.
// CHECK: equal
// CHECK: @softmax: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// MASK: different
dist.mesh @mesh ["data"=2, "model"=4]
func.func @softmax(
    %x: tensor<4x10xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>},
    %labels: tensor<4xi32> {graph.role = "label", dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<4x10xf32>, tensor<f32>) {
  %max = graph.reduce max, %x {dims = array<i64: 1>} : (tensor<4x10xf32>) -> tensor<4xf32>
  %m = graph.broadcast %max {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x10xf32>
  %0 = graph.sub %x, %m : tensor<4x10xf32>
  %e = graph.exp %0 : tensor<4x10xf32>
  %sum = graph.reduce sum, %e {dims = array<i64: 1>} : (tensor<4x10xf32>) -> tensor<4xf32>
  %s = graph.broadcast %sum {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x10xf32>
  %p = graph.div %e, %s : tensor<4x10xf32>
  %classes = graph.iota {dim = 1 : i64} : tensor<4x10xi32>
  %l = graph.broadcast %labels {dims = array<i64: 0>} : (tensor<4xi32>) -> tensor<4x10xi32>
  %is = graph.compare eq, %classes, %l : (tensor<4x10xi32>, tensor<4x10xi32>) -> tensor<4x10xi1>
  %zero = graph.constant dense<0.0> : tensor<4x10xf32>
  %log = graph.log %p : tensor<4x10xf32>
  %picked = graph.select %is, %log, %zero : (tensor<4x10xi1>, tensor<4x10xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
  %loss = graph.reduce sum, %picked {dims = array<i64: 0, 1>} : (tensor<4x10xf32>) -> tensor<f32>
  return %p, %loss : tensor<4x10xf32>, tensor<f32>
}

// -----
// Minimum, product, maximum of integers, and a sum over two padded dims.
// CHECK: equal
// CHECK: @reductions: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// MASK: different
dist.mesh @mesh ["a"=2, "b"=3]
func.func @reductions(
    %x: tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {"b"}]>},
    %i: tensor<5xi64> {dist.sharding = #dist.sharding<@mesh, [{"b"}]>})
    -> (tensor<5xf32>, tensor<7xf32>, tensor<i64>, tensor<f32>) {
  %min = graph.reduce min, %x {dims = array<i64: 1>} : (tensor<5x7xf32>) -> tensor<5xf32>
  %product = graph.reduce product, %x {dims = array<i64: 0>} : (tensor<5x7xf32>) -> tensor<7xf32>
  %negative = graph.neg %i : tensor<5xi64>
  %max = graph.reduce max, %negative {dims = array<i64: 0>} : (tensor<5xi64>) -> tensor<i64>
  %sum = graph.reduce sum, %x {dims = array<i64: 0, 1>} : (tensor<5x7xf32>) -> tensor<f32>
  return %min, %product, %max, %sum : tensor<5xf32>, tensor<7xf32>, tensor<i64>, tensor<f32>
}

// -----
// Layer norm over a whole dim with padded rows, and over a split one: gathered.
// CHECK: equal
// CHECK: @norms: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// MASK: different
dist.mesh @mesh ["a"=2]
func.func @norms(
    %x: tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {}]>},
    %y: tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"a"}]>},
    %s: tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}]>},
    %b: tensor<7xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> (tensor<f32>, tensor<5x7xf32>) {
  %n:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<5x7xf32>, tensor<7xf32>, tensor<7xf32>) -> (tensor<5x7xf32>, tensor<5xf32>, tensor<5xf32>)
  %sum = graph.reduce sum, %n#0 {dims = array<i64: 0, 1>} : (tensor<5x7xf32>) -> tensor<f32>
  %m:3 = graph.layer_norm %y, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<5x7xf32>, tensor<7xf32>, tensor<7xf32>) -> (tensor<5x7xf32>, tensor<5xf32>, tensor<5xf32>)
  return %sum, %m#0 : tensor<f32>, tensor<5x7xf32>
}

// -----
// Ten channels on 4 ranks: out of one convolution, through a pool, into another
// and its gradients.
// CHECK: equal
// CHECK: @channels: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// MASK: different
dist.mesh @mesh ["model"=4]
func.func @channels(
    %x: tensor<2x4x4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}, {}, {}]>},
    %f: tensor<10x3x3x3xf32> {dist.sharding = #dist.sharding<@mesh, [{"model"}, {}, {}, {}]>},
    %g: tensor<2x10x1x1xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {?}, {?}, {?}]>})
    -> (tensor<2x2x2x2xf32>, tensor<2x10x1x1xf32>, tensor<2x2x2x10xf32>) {
  %0 = graph.conv %x, %f {input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C", strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x4x4x3xf32>, tensor<10x3x3x3xf32>) -> tensor<2x4x4x10xf32>
  %1:2 = graph.max_pool %0 {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<2x4x4x10xf32>) -> (tensor<2x2x2x10xf32>, tensor<2x2x2x10xi32>)
  %2 = graph.conv %1#0, %g {input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C", strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x2x2x10xf32>, tensor<2x10x1x1xf32>) -> tensor<2x2x2x2xf32>
  %dg = graph.conv_filter_grad %1#0, %2 {input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C", strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x2x2x10xf32>, tensor<2x2x2x2xf32>) -> tensor<2x10x1x1xf32>
  %dx = graph.conv_input_grad %2, %g {input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C", strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x2x2x2xf32>, tensor<2x10x1x1xf32>) -> tensor<2x2x2x10xf32>
  return %2, %dg, %dx : tensor<2x2x2x2xf32>, tensor<2x10x1x1xf32>, tensor<2x2x2x10xf32>
}

// -----
// What passes a padded dim on, what needs it whole (a slice, concat or pad along
// it, a reshape that merges it), and layouts with parts of another size.
// CHECK: equal
// CHECK: @shapes: {{[1-9][0-9]*}} values compared
// CHECK-NOT: diverges
// CHECK: module
// MASK: different
dist.mesh @mesh ["a"=2, "b"=3]
func.func @shapes(
    %x: tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"a"}, {"b"}]>})
    -> (tensor<5x14xf32>, tensor<10x7xf32>, tensor<35xf32>, tensor<5x3xf32>, tensor<6x7xf32>,
        tensor<7x2x5xf32>, tensor<5x7xf32> {dist.sharding = #dist.sharding<@mesh, [{"b"}, {"a"}]>}, tensor<5xf32>, tensor<7xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %max = graph.reduce max, %x {dims = array<i64: 0>} : (tensor<5x7xf32>) -> tensor<7xf32>
  %c1 = graph.concat %x, %x {axis = 1 : i64} : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x14xf32>
  %c0 = graph.concat %x, %x {axis = 0 : i64} : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<10x7xf32>
  %flat = graph.reshape %x : (tensor<5x7xf32>) -> tensor<35xf32>
  %s = graph.slice %x {starts = array<i64: 0, 2>, limits = array<i64: 5, 7>, strides = array<i64: 1, 2>} : (tensor<5x7xf32>) -> tensor<5x3xf32>
  %p = graph.pad %x, %zero {low = array<i64: 1, 0>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<5x7xf32>, tensor<f32>) -> tensor<6x7xf32>
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<5x7xf32>) -> tensor<7x5xf32>
  %w = graph.broadcast %t {dims = array<i64: 0, 2>} : (tensor<7x5xf32>) -> tensor<7x2x5xf32>
  %e = graph.exp %x : tensor<5x7xf32>
  %r = dist.reshard %e to <@mesh, [{}, {"a"}]> because "asked for" : tensor<5x7xf32>
  %sum = graph.reduce sum, %r {dims = array<i64: 1>} : (tensor<5x7xf32>) -> tensor<5xf32>
  return %c1, %c0, %flat, %s, %p, %w, %e, %sum, %max : tensor<5x14xf32>, tensor<10x7xf32>, tensor<35xf32>, tensor<5x3xf32>, tensor<6x7xf32>, tensor<7x2x5xf32>, tensor<5x7xf32>, tensor<5xf32>, tensor<7xf32>
}
