// RUN: dist-opt %s --split-input-file --verify-diagnostics

func.func @max_pool_c1_entries(%x: tensor<2x4x4xf32>) {
  // expected-error @+2 {{'graph.max_pool' op expected window with an entry for each of 3 dims, but got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = graph.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} : (tensor<2x4x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi32>)
  return
}

// -----

func.func @max_pool_c1_stride(%x: tensor<2x4x4xf32>) {
  // expected-error @+2 {{'graph.max_pool' op expected strides of at least 1, but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 0, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} : (tensor<2x4x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi32>)
  return
}

// -----

func.func @max_pool_c2(%x: tensor<2x4x4xf32>) {
  // expected-error @+2 {{'graph.max_pool' op expected the padded operand to be at least as large as the dilated window in dim 2, but got 5 and 7}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 6>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 1>} : (tensor<2x4x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi32>)
  return
}

// -----

func.func @avg_pool_c1_pad(%x: tensor<2x4x4xf32>) {
  // expected-error @+2 {{'graph.avg_pool' op expected pad_low of at least 0, but got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, -1, 0>, pad_high = array<i64: 0, 0, 0>, count_include_pad = false} : (tensor<2x4x4xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

func.func @avg_pool_c2(%x: tensor<2x4x4xf32>) {
  // expected-error @+2 {{'graph.avg_pool' op expected the padded operand to be at least as large as the dilated window in dim 1, but got 4 and 5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.avg_pool %x {window = array<i64: 1, 5, 1>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>, count_include_pad = false} : (tensor<2x4x4xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

func.func @max_pool_grad_c3(%x: tensor<2x3x3xf32>, %i: tensor<2x3x3xi32>) {
  // expected-error @+1 {{'graph.max_pool_grad' op expected grad of the pool's result type 'tensor<2x4x4xf32>', but got 'tensor<2x3x3xf32>'}}
  %0 = graph.max_pool_grad %x, %i {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} : (tensor<2x3x3xf32>, tensor<2x3x3xi32>) -> tensor<2x5x5xf32>
  return
}

// -----

func.func @max_pool_grad_c4_type(%x: tensor<2x3x3xf32>, %i: tensor<2x3x3xi64>) {
  // expected-error @+1 {{'graph.max_pool_grad' op expected indices of type 'tensor<2x3x3xi32>', but got 'tensor<2x3x3xi64>'}}
  %0 = graph.max_pool_grad %x, %i {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>} : (tensor<2x3x3xf32>, tensor<2x3x3xi64>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @avg_pool_grad_c3(%x: tensor<2x3x3xf32>) {
  // expected-error @+1 {{'graph.avg_pool_grad' op expected grad of the pool's result type 'tensor<2x4x4xf32>', but got 'tensor<2x3x3xf32>'}}
  %0 = graph.avg_pool_grad %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 0>, count_include_pad = true} : (tensor<2x3x3xf32>) -> tensor<2x5x5xf32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'graph.softmax' op expected axis in [0, 2), but got 2}}
  %0 = graph.softmax %x {axis = 2 : i64} : tensor<4x6xf32>
  return
}

// -----

func.func @log_softmax_c1(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'graph.log_softmax' op expected axis in [0, 2), but got -1}}
  %0 = graph.log_softmax %x {axis = -1 : i64} : tensor<4x6xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'graph.layer_norm' op expected axis in [0, 2), but got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = graph.layer_norm %x, %s, %b {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<4x6xf32>, %s: tensor<4xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'graph.layer_norm' op expected scale of shape [6], but got [4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x6xf32>, tensor<4xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @batch_norm_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'graph.batch_norm' op expected axis in [1, 2), but got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:4 = graph.batch_norm %x, %s, %b {axis = 0 : i64, epsilon = 1.0e-3 : f64, groups = 1 : i64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1xf32>)
  return
}

// -----

func.func @batch_norm_c2(%x: tensor<4x6xf32>, %s: tensor<5xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'graph.batch_norm' op expected scale with an element for each of 6 channels, but got shape [5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:4 = graph.batch_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64, groups = 1 : i64} : (tensor<4x6xf32>, tensor<5xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1xf32>)
  return
}

// -----

func.func @batch_norm_c3(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'graph.batch_norm' op expected groups to divide the batch of 4, but got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:4 = graph.batch_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64, groups = 3 : i64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_c4(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>, %m: tensor<3xi1>) {
  // expected-error @+2 {{'graph.batch_norm' op expected mask with an element for each of 4 examples, but got shape [3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:4 = graph.batch_norm %x, %s, %b, mask %m {axis = 1 : i64, epsilon = 1.0e-3 : f64, groups = 1 : i64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3xi1>) -> (tensor<4x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1xf32>)
  return
}

// -----

func.func @batch_norm_inference_c1(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'graph.batch_norm_inference' op expected axis in [0, 2), but got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.batch_norm_inference %x, %s, %b, %s, %b {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @batch_norm_inference_c2(%x: tensor<4x6xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) {
  // expected-error @+2 {{'graph.batch_norm_inference' op expected scale with an element for each of 4 channels, but got shape [6]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.batch_norm_inference %x, %s, %b, %s, %b {axis = 0 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @cross_entropy_c1(%x: tensor<f32>, %l: tensor<i64>) {
  // expected-error @+2 {{'graph.cross_entropy' op expected logits of at least one dim}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.cross_entropy %x, %l : (tensor<f32>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_c2(%x: tensor<4x6xf32>, %l: tensor<3xi64>) {
  // expected-error @+2 {{'graph.cross_entropy' op expected labels of shape [4], but got [3]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = graph.cross_entropy %x, %l : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @random_uniform_c1(%s: tensor<1xi64>) {
  // expected-error @+1 {{'graph.random_uniform' op expected step of type tensor<i64>, but got 'tensor<1xi64>'}}
  %0 = graph.random_uniform %s {seed = 1 : i64} : (tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @random_uniform_c3(%s: tensor<i64>, %r: tensor<4xi64>) {
  // expected-error @+1 {{'graph.random_uniform' op expected rows of type i64, one for each index along dim 1 of 'tensor<4x2xf32>', but got 'tensor<4xi64>'}}
  %0 = graph.random_uniform %s rows %r {seed = 1 : i64, dim = 1 : i64} : (tensor<i64>, tensor<4xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @random_uniform_c3_dim(%s: tensor<i64>, %r: tensor<4xi64>) {
  // expected-error @+1 {{'graph.random_uniform' op expected both rows and dim, or neither}}
  %0 = graph.random_uniform %s rows %r {seed = 1 : i64} : (tensor<i64>, tensor<4xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @random_uniform_c2(%s: tensor<i64>) {
  // expected-error @+1 {{'graph.random_uniform' op expected a result of f32, but got 'f64'}}
  %0 = graph.random_uniform %s {seed = 1 : i64} : (tensor<i64>) -> tensor<4xf64>
  return
}

// -----

func.func @max_pool_pad_overflow(%x: tensor<2x4x4xf32>) {
  // expected-error @+2 {{'graph.max_pool' op expected pad_high of at most 16777216, but got 9223372036854775807}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = graph.max_pool %x {window = array<i64: 1, 2, 2>, strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pad_low = array<i64: 0, 0, 0>, pad_high = array<i64: 0, 0, 9223372036854775807>} : (tensor<2x4x4xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x3xi32>)
  return
}
