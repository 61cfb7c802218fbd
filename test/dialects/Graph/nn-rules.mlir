// RUN: dist-opt %s --test-op-rules --verify-diagnostics -o /dev/null
// Derivatives, splits and decompositions of composites against the evaluator.

// Along the last dim.
func.func @softmax_rows(%x: tensor<4x5xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<4x5xf64>
  return
}

// Along another dim.
func.func @softmax_columns(%x: tensor<3x4x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<3x4x2xf64>
  return
}

// bf16 computes in f32.
func.func @softmax_half(%x: tensor<4x6xbf16>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<4x6xbf16>
  return
}

// Along the last dim.
func.func @log_softmax_rows(%x: tensor<4x5xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.log_softmax %x {axis = 1 : i64} : tensor<4x5xf64>
  return
}

// Along another dim.
func.func @log_softmax_columns(%x: tensor<3x4x2xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.log_softmax %x {axis = 1 : i64} : tensor<3x4x2xf64>
  return
}

// bf16 computes in f32.
func.func @log_softmax_half(%x: tensor<4x6xbf16>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.log_softmax %x {axis = 1 : i64} : tensor<4x6xbf16>
  return
}

// Over the last dim; all three results have derivatives.
func.func @layer_norm_rows(%x: tensor<4x6xf64>, %s: tensor<6xf64>, %b: tensor<6xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 3 derivatives}}
  %0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x6xf64>, tensor<6xf64>, tensor<6xf64>) -> (tensor<4x6xf64>, tensor<4xf64>, tensor<4xf64>)
  return
}

// Over two dims.
func.func @layer_norm_two_dims(%x: tensor<4x3x2xf64>, %s: tensor<3x2xf64>, %b: tensor<3x2xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 3 derivatives}}
  %0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x3x2xf64>, tensor<3x2xf64>, tensor<3x2xf64>) -> (tensor<4x3x2xf64>, tensor<4xf64>, tensor<4xf64>)
  return
}

// f16 with f32 statistics.
func.func @layer_norm_half(%x: tensor<4x6xf16>, %s: tensor<6xf16>, %b: tensor<6xf16>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x6xf16>, tensor<6xf16>, tensor<6xf16>) -> (tensor<4x6xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// One group: statistics of the whole batch, which therefore is not split.
func.func @batch_norm_one_group(%x: tensor<4x3x2x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 3 derivatives}}
  %0:4 = graph.batch_norm %x, %s, %b {axis = 3 : i64, epsilon = 1.0e-3 : f64, groups = 1 : i64} : (tensor<4x3x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<4x3x2x2xf64>, tensor<1x2xf64>, tensor<1x2xf64>, tensor<1xf64>)
  return
}

// Groups split with the batch.
func.func @batch_norm_groups(%x: tensor<8x4x3xf64>, %s: tensor<4xf64>, %b: tensor<4xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 3 derivatives}}
  %0:4 = graph.batch_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64, groups = 4 : i64} : (tensor<8x4x3xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<8x4x3xf64>, tensor<4x4xf64>, tensor<4x4xf64>, tensor<4xf64>)
  return
}

// Two dims only.
func.func @batch_norm_dense(%x: tensor<4x6xf64>, %s: tensor<6xf64>, %b: tensor<6xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 3 derivatives}}
  %0:4 = graph.batch_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64, groups = 2 : i64} : (tensor<4x6xf64>, tensor<6xf64>, tensor<6xf64>) -> (tensor<4x6xf64>, tensor<2x6xf64>, tensor<2x6xf64>, tensor<2xf64>)
  return
}

// Masked examples count nowhere.
func.func @batch_norm_masked(%x: tensor<4x2x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<4xi1>) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 3 derivatives}}
  %0:4 = graph.batch_norm %x, %s, %b, mask %m {axis = 2 : i64, epsilon = 1.0e-3 : f64, groups = 1 : i64} : (tensor<4x2x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<4xi1>) -> (tensor<4x2x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<1xf64>)
  return
}

// Masks and groups; a group may have no example.
func.func @batch_norm_masked_groups(%x: tensor<4x2x3xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>, %m: tensor<4xi1>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 3 derivatives}}
  %0:4 = graph.batch_norm %x, %s, %b, mask %m {axis = 1 : i64, epsilon = 1.0e-3 : f64, groups = 2 : i64} : (tensor<4x2x3xf64>, tensor<2xf64>, tensor<2xf64>, tensor<4xi1>) -> (tensor<4x2x3xf64>, tensor<2x2xf64>, tensor<2x2xf64>, tensor<2xf64>)
  return
}

// bf16 with f32 statistics.
func.func @batch_norm_half(%x: tensor<4x4xbf16>, %s: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0:4 = graph.batch_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-3 : f64, groups = 2 : i64} : (tensor<4x4xbf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xbf16>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>)
  return
}

// Everything passes through.
func.func @batch_norm_inference_last(%x: tensor<4x2x6xf64>, %s: tensor<6xf64>, %b: tensor<6xf64>, %m: tensor<6xf64>, %v: tensor<6xf64> {test.range = [0.5, 2.0]}) {
  // expected-remark @+1 {{rules hold: 3 factors, 0 linear sets, 5 derivatives}}
  %0 = graph.batch_norm_inference %x, %s, %b, %m, %v {axis = 2 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x2x6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>) -> tensor<4x2x6xf64>
  return
}

// f32 parameters of an f16 operand.
func.func @batch_norm_inference_half(%x: tensor<4x2x3xf16>, %s: tensor<2xf32>, %b: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32> {test.range = [0.5, 2.0]}) {
  // expected-remark @+1 {{rules hold: 3 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.batch_norm_inference %x, %s, %b, %m, %v {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<4x2x3xf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2x3xf16>
  return
}

// One loss a row; classes are not split.
func.func @cross_entropy_rows(%x: tensor<4x5xf64>, %l: tensor<4xi64> {test.range = [0, 4]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.cross_entropy %x, %l : (tensor<4x5xf64>, tensor<4xi64>) -> tensor<4xf64>
  return
}

// Labels of two dims; narrow labels.
func.func @cross_entropy_images(%x: tensor<2x4x3xf64>, %l: tensor<2x4xi8> {test.range = [0, 2]}) {
  // expected-remark @+1 {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.cross_entropy %x, %l : (tensor<2x4x3xf64>, tensor<2x4xi8>) -> tensor<2x4xf64>
  return
}

// A label that names no class gives NaN.
func.func @cross_entropy_out_of_range(%x: tensor<4x3xf32>, %l: tensor<4xi32> {test.range = [0, 9]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.cross_entropy %x, %l : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// bf16 logits, an f32 loss.
func.func @cross_entropy_half(%x: tensor<4x5xbf16>, %l: tensor<4xui8> {test.range = [0, 4]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.cross_entropy %x, %l : (tensor<4x5xbf16>, tensor<4xui8>) -> tensor<4xf32>
  return
}

// A rank makes the whole.
func.func @random_uniform(%step: tensor<i64>) {
  // expected-remark @+1 {{rules hold: 0 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.random_uniform %step {seed = 7 : i64} : (tensor<i64>) -> tensor<4x6xf32>
  return
}

// Rows say where they are.
func.func @random_uniform_rows(%step: tensor<i64>, %rows: tensor<6xi64> {test.range = [0, 100]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.random_uniform %step rows %rows {seed = 7 : i64, dim = 1 : i64} : (tensor<i64>, tensor<6xi64>) -> tensor<4x6x2xf32>
  return
}

// Around 2^32, which the second of these rows crosses, and far beyond.
func.func @random_uniform_far(%step: tensor<i64>, %rows: tensor<6xi64> {test.range = [1431655764, 1431655766]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.random_uniform %step rows %rows {seed = 7 : i64, dim = 1 : i64} : (tensor<i64>, tensor<6xi64>) -> tensor<3x6xf32>
  return
}
func.func @random_uniform_farther(%step: tensor<i64>, %rows: tensor<6xi64> {test.range = [0, 1125899906842624]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.random_uniform %step rows %rows {seed = 7 : i64, dim = 0 : i64} : (tensor<i64>, tensor<6xi64>) -> tensor<6x5xf32>
  return
}

// The identity.
func.func @dropout(%x: tensor<4x6xf64>) {
  // expected-remark @+1 {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.dropout %x {rate = 5.0e-1 : f64} : tensor<4x6xf64>
  return
}

// A group in which no example counts: mean and variance 0, finite outputs.
func.func @batch_norm_masked_none(%x: tensor<4x2x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<4xi1> {test.range = [0, 0]}) {
  // expected-remark @+1 {{rules hold: 1 factors, 0 linear sets, 3 derivatives}}
  %0:4 = graph.batch_norm %x, %s, %b, mask %m {axis = 2 : i64, epsilon = 1.0e-3 : f64, groups = 1 : i64} : (tensor<4x2x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<4xi1>) -> (tensor<4x2x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>, tensor<1xf64>)
  return
}
