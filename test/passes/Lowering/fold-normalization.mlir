// RUN: dist-opt %s --split-input-file --graph-fold-normalization | FileCheck %s
// What weights alone decide is prepared once: the filter times its factor, and the
// offset, which the kernel adds.
// RUN: dist-opt %s --split-input-file --dist-graph-to-rt-pipeline | FileCheck %s --check-prefix=RT

graph.variable @w : tensor<16x4x3x3xf32> trainable = dense<0.5> : tensor<16x4x3x3xf32>
graph.variable @b : tensor<16xf32> trainable = dense<0.5> : tensor<16xf32>
graph.variable @scale : tensor<16xf32> trainable = dense<1.0> : tensor<16xf32>
graph.variable @bias : tensor<16xf32> trainable = dense<0.0> : tensor<16xf32>
graph.variable @mean : tensor<16xf32> {group = "buffer"} = dense<0.0> : tensor<16xf32>
graph.variable @variance : tensor<16xf32> {group = "buffer"} = dense<1.0> : tensor<16xf32>

// CHECK-LABEL: func @convolution
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x8x8x4xf32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<16x4x3x3xf32>{{.*}} %[[SCALE:[a-z0-9]+]]: tensor<16xf32> {graph.variable = @scale}, %[[BIAS:[a-z0-9]+]]: tensor<16xf32> {graph.variable = @bias}, %[[MEAN:[a-z0-9]+]]: tensor<16xf32> {graph.variable = @mean}, %[[VARIANCE:[a-z0-9]+]]: tensor<16xf32>
// CHECK: %[[SUM:.+]] = graph.add %[[VARIANCE]],
// CHECK: %[[INVERSE:.+]] = graph.rsqrt %[[SUM]]
// CHECK: %[[FACTOR:.+]] = graph.mul %[[INVERSE]], %[[SCALE]]
// CHECK: %[[SHIFT:.+]] = graph.sub %{{.+}}, %[[MEAN]]
// CHECK: %[[SCALED:.+]] = graph.mul %[[SHIFT]], %[[FACTOR]]
// CHECK: %[[OFFSET:.+]] = graph.add %[[BIAS]], %[[SCALED]]
// CHECK: %[[FACTORS:.+]] = graph.broadcast %[[FACTOR]] {dims = array<i64: 0>} : (tensor<16xf32>) -> tensor<16x4x3x3xf32>
// CHECK: %[[FILTER:.+]] = graph.mul %[[W]], %[[FACTORS]]
// CHECK: %[[Y:.+]] = graph.conv %[[X]], %[[FILTER]]
// CHECK: %[[OFFSETS:.+]] = graph.broadcast %[[OFFSET]] {dims = array<i64: 3>}
// CHECK: %[[ALL:.+]] = graph.add %[[Y]], %[[OFFSETS]]
// CHECK: graph.relu %[[ALL]]
// CHECK-NOT: batch_norm
// RT-LABEL: rt.program @convolution arena
// RT-NOT: rt.launch
// RT: rt.library_call {bias, {{.*}}kind = "conv", {{.*}}relu
// RT-NOT: rt.launch
// RT: rt.program @convolution_prepare
// RT: rt.launch
func.func @convolution(%x: tensor<2x8x8x4xf32> {graph.role = "input", graph.name = "x"}, %w: tensor<16x4x3x3xf32> {graph.variable = @w}, %b: tensor<16xf32> {graph.variable = @b},
    %scale: tensor<16xf32> {graph.variable = @scale}, %bias: tensor<16xf32> {graph.variable = @bias}, %mean: tensor<16xf32> {graph.variable = @mean}, %variance: tensor<16xf32> {graph.variable = @variance})
    -> (tensor<2x8x8x16xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<2x8x8x16xf32>
  %1 = graph.batch_norm_inference %0, %scale, %bias, %mean, %variance {axis = 3 : i64, epsilon = 0.001 : f64} : (tensor<2x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x8x8x16xf32>
  %2 = graph.relu %1 : tensor<2x8x8x16xf32>
  return %2 : tensor<2x8x8x16xf32>
}

// A bias before the normalization moves behind it.
// CHECK-LABEL: func @with_bias
// CHECK-SAME: %{{[^:]+}}: tensor<2x8x8x4xf32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<16x4x3x3xf32> {graph.variable = @w}, %[[B:[a-z0-9]+]]: tensor<16xf32> {graph.variable = @b}
// CHECK-SAME: %[[MEAN:[a-z0-9]+]]: tensor<16xf32> {graph.variable = @mean}
// CHECK: %[[FACTOR:.+]] = graph.mul
// CHECK: %[[SHIFT:.+]] = graph.sub %[[B]], %[[MEAN]]
// CHECK: graph.mul %[[SHIFT]], %[[FACTOR]]
// CHECK: %[[FILTER:.+]] = graph.mul %[[W]],
// CHECK: graph.conv %{{.+}}, %[[FILTER]]
// CHECK-NOT: batch_norm
func.func @with_bias(%x: tensor<2x8x8x4xf32> {graph.role = "input", graph.name = "x"}, %w: tensor<16x4x3x3xf32> {graph.variable = @w}, %b: tensor<16xf32> {graph.variable = @b},
    %scale: tensor<16xf32> {graph.variable = @scale}, %bias: tensor<16xf32> {graph.variable = @bias}, %mean: tensor<16xf32> {graph.variable = @mean}, %variance: tensor<16xf32> {graph.variable = @variance})
    -> (tensor<2x8x8x16xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<2x8x8x16xf32>
  %1 = graph.broadcast %b {dims = array<i64: 3>} : (tensor<16xf32>) -> tensor<2x8x8x16xf32>
  %2 = graph.add %1, %0 : tensor<2x8x8x16xf32>
  %3 = graph.batch_norm_inference %2, %scale, %bias, %mean, %variance {axis = 3 : i64, epsilon = 0.001 : f64} : (tensor<2x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x8x8x16xf32>
  return %3 : tensor<2x8x8x16xf32>
}

// What else reads the convolution wants it as it was.
// CHECK-LABEL: func @read_twice
// CHECK: graph.batch_norm_inference
// And a step that updates the filter would scale it each time.
// CHECK-LABEL: func @updated
// CHECK: graph.batch_norm_inference
func.func @read_twice(%x: tensor<2x8x8x4xf32> {graph.role = "input", graph.name = "x"}, %w: tensor<16x4x3x3xf32> {graph.variable = @w},
    %scale: tensor<16xf32> {graph.variable = @scale}, %bias: tensor<16xf32> {graph.variable = @bias}, %mean: tensor<16xf32> {graph.variable = @mean}, %variance: tensor<16xf32> {graph.variable = @variance})
    -> (tensor<2x8x8x16xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<2x8x8x16xf32>
  %1 = graph.batch_norm_inference %0, %scale, %bias, %mean, %variance {axis = 3 : i64, epsilon = 0.001 : f64} : (tensor<2x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x8x8x16xf32>
  %2 = graph.add %1, %0 : tensor<2x8x8x16xf32>
  return %2 : tensor<2x8x8x16xf32>
}
func.func @updated(%x: tensor<2x8x8x4xf32> {graph.role = "input", graph.name = "x"}, %w: tensor<16x4x3x3xf32> {graph.variable = @w},
    %scale: tensor<16xf32> {graph.variable = @scale}, %bias: tensor<16xf32> {graph.variable = @bias}, %mean: tensor<16xf32> {graph.variable = @mean}, %variance: tensor<16xf32> {graph.variable = @variance})
    -> (tensor<2x8x8x16xf32> {graph.role = "output", graph.name = "y"}, tensor<16x4x3x3xf32> {graph.role = "variable", graph.variable = @w}) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, input_layout = "N01C", filter_layout = "OI01", output_layout = "N01C"} : (tensor<2x8x8x4xf32>, tensor<16x4x3x3xf32>) -> tensor<2x8x8x16xf32>
  %1 = graph.batch_norm_inference %0, %scale, %bias, %mean, %variance {axis = 3 : i64, epsilon = 0.001 : f64} : (tensor<2x8x8x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x8x8x16xf32>
  %2 = graph.add %w, %w : tensor<16x4x3x3xf32>
  return %1, %2 : tensor<2x8x8x16xf32>, tensor<16x4x3x3xf32>
}

// -----

graph.variable @w : tensor<8x4xf32> trainable = dense<0.5> : tensor<8x4xf32>
graph.variable @scale : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @bias : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
graph.variable @mean : tensor<4xf32> {group = "buffer"} = dense<0.0> : tensor<4xf32>
graph.variable @variance : tensor<4xf32> {group = "buffer"} = dense<1.0> : tensor<4xf32>

// The columns of a matrix are channels, too.
// CHECK-LABEL: func @product
// CHECK-SAME: %{{[^:]+}}: tensor<2x8xf32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: %[[FACTORS:.+]] = graph.broadcast %{{.+}} {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<8x4xf32>
// CHECK: %[[SCALED:.+]] = graph.mul %[[W]], %[[FACTORS]]
// CHECK: graph.dot_general %{{.+}}, %[[SCALED]]
// CHECK-NOT: batch_norm
// CHECK-LABEL: func @other_axis
// CHECK: graph.batch_norm_inference
func.func @product(%x: tensor<2x8xf32> {graph.role = "input", graph.name = "x"}, %w: tensor<8x4xf32> {graph.variable = @w},
    %scale: tensor<4xf32> {graph.variable = @scale}, %bias: tensor<4xf32> {graph.variable = @bias}, %mean: tensor<4xf32> {graph.variable = @mean}, %variance: tensor<4xf32> {graph.variable = @variance})
    -> (tensor<2x4xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.batch_norm_inference %0, %scale, %bias, %mean, %variance {axis = 1 : i64, epsilon = 0.001 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
func.func @other_axis(%x: tensor<4x8xf32> {graph.role = "input", graph.name = "x"}, %w: tensor<8x4xf32> {graph.variable = @w},
    %scale: tensor<4xf32> {graph.variable = @scale}, %bias: tensor<4xf32> {graph.variable = @bias}, %mean: tensor<4xf32> {graph.variable = @mean}, %variance: tensor<4xf32> {graph.variable = @variance})
    -> (tensor<4x4xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = graph.batch_norm_inference %0, %scale, %bias, %mean, %variance {axis = 0 : i64, epsilon = 0.001 : f64} : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

graph.variable @w : tensor<8x4xf32> trainable = dense<0.5> : tensor<8x4xf32>
graph.variable @b : tensor<1xf32> trainable = dense<0.5> : tensor<1xf32>
graph.variable @scale : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @bias : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
graph.variable @mean : tensor<4xf32> {group = "buffer"} = dense<0.0> : tensor<4xf32>
graph.variable @variance : tensor<4xf32> {group = "buffer"} = dense<1.0> : tensor<4xf32>
// One number for all channels is no bias of theirs.
// CHECK-LABEL: func @one_bias
// CHECK: graph.batch_norm_inference
// RT-LABEL: rt.program @one_bias
func.func @one_bias(%x: tensor<2x8xf32> {graph.role = "input", graph.name = "x"}, %w: tensor<8x4xf32> {graph.variable = @w}, %b: tensor<1xf32> {graph.variable = @b},
    %scale: tensor<4xf32> {graph.variable = @scale}, %bias: tensor<4xf32> {graph.variable = @bias}, %mean: tensor<4xf32> {graph.variable = @mean}, %variance: tensor<4xf32> {graph.variable = @variance})
    -> (tensor<2x4xf32> {graph.role = "output", graph.name = "y"}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = graph.broadcast %b {dims = array<i64: 1>} : (tensor<1xf32>) -> tensor<2x4xf32>
  %2 = graph.add %0, %1 : tensor<2x4xf32>
  %3 = graph.batch_norm_inference %2, %scale, %bias, %mean, %variance {axis = 1 : i64, epsilon = 0.001 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
