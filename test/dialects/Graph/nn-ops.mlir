// RUN: dist-opt %s | dist-opt - | FileCheck %s
// RUN: dist-opt %s --mlir-print-op-generic | dist-opt - | FileCheck %s

// CHECK-LABEL: func @pools
func.func @pools(%x: tensor<2x4x4x3xf32>) -> tensor<2x4x4x3xf32> {
  // CHECK: graph.max_pool %{{.+}} {{{.*}}window = array<i64: 1, 2, 2, 1>} : (tensor<2x4x4x3xf32>) -> (tensor<2x2x2x3xf32>, tensor<2x2x2x3xi32>)
  %y, %i = graph.max_pool %x {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<2x4x4x3xf32>) -> (tensor<2x2x2x3xf32>, tensor<2x2x2x3xi32>)
  // CHECK: graph.max_pool_grad %{{.+}}, %{{.+}} {{{.*}}} : (tensor<2x2x2x3xf32>, tensor<2x2x2x3xi32>) -> tensor<2x4x4x3xf32>
  %dx = graph.max_pool_grad %y, %i {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>, pad_high = array<i64: 0, 0, 0, 0>} : (tensor<2x2x2x3xf32>, tensor<2x2x2x3xi32>) -> tensor<2x4x4x3xf32>
  // CHECK: graph.avg_pool %{{.+}} {count_include_pad = false{{.*}}} : (tensor<2x4x4x3xf32>) -> tensor<2x5x5x3xf32>
  %a = graph.avg_pool %dx {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 1, 1, 0>, pad_high = array<i64: 0, 1, 1, 0>, count_include_pad = false} : (tensor<2x4x4x3xf32>) -> tensor<2x5x5x3xf32>
  // CHECK: graph.avg_pool_grad %{{.+}} {count_include_pad = false{{.*}}} : (tensor<2x5x5x3xf32>) -> tensor<2x4x4x3xf32>
  %da = graph.avg_pool_grad %a {window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 1, 1, 0>, pad_high = array<i64: 0, 1, 1, 0>, count_include_pad = false} : (tensor<2x5x5x3xf32>) -> tensor<2x4x4x3xf32>
  return %da : tensor<2x4x4x3xf32>
}

// CHECK-LABEL: func @softmaxes
func.func @softmaxes(%x: tensor<4x10xf32>, %l: tensor<4xi64>) -> tensor<4xf32> {
  // CHECK: graph.softmax %{{.+}} {axis = 1 : i64} : tensor<4x10xf32>
  %0 = graph.softmax %x {axis = 1 : i64} : tensor<4x10xf32>
  // CHECK: graph.log_softmax %{{.+}} {axis = 0 : i64} : tensor<4x10xf32>
  %1 = graph.log_softmax %0 {axis = 0 : i64} : tensor<4x10xf32>
  // CHECK: graph.cross_entropy %{{.+}}, %{{.+}} : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
  %2 = graph.cross_entropy %1, %l : (tensor<4x10xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Statistics are f32 whatever the operand is.
// CHECK-LABEL: func @norms
func.func @norms(%x: tensor<8x6xbf16>, %s: tensor<6xf32>, %b: tensor<6xf32>, %m: tensor<8xi1>) -> tensor<8x6xbf16> {
  // CHECK: graph.layer_norm {{.*}} : (tensor<8x6xbf16>, tensor<6xf32>, tensor<6xf32>) -> (tensor<8x6xbf16>, tensor<8xf32>, tensor<8xf32>)
  %0:3 = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x6xbf16>, tensor<6xf32>, tensor<6xf32>) -> (tensor<8x6xbf16>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: graph.batch_norm %{{.+}}, %{{.+}}, %{{.+}}, mask %{{.+}} {axis = 1 : i64{{.*}}groups = 2 : i64} : {{.*}} -> (tensor<8x6xbf16>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2xf32>)
  %1:4 = graph.batch_norm %0#0, %s, %b, mask %m {axis = 1 : i64, epsilon = 1.0e-5 : f64, groups = 2 : i64} : (tensor<8x6xbf16>, tensor<6xf32>, tensor<6xf32>, tensor<8xi1>) -> (tensor<8x6xbf16>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2xf32>)
  // CHECK: graph.batch_norm_inference %{{.+}} {axis = 1 : i64{{.*}}momentum = 7.500000e-01 : f64} : {{.*}} -> tensor<8x6xbf16>
  %2 = graph.batch_norm_inference %1#0, %s, %b, %b, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64, momentum = 0.75 : f64} : (tensor<8x6xbf16>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<8x6xbf16>
  return %2 : tensor<8x6xbf16>
}

// CHECK-LABEL: func @random
func.func @random(%step: tensor<i64>) -> tensor<8x6xf32> {
  // CHECK: graph.random_uniform %{{.+}} {seed = 7 : i64} : (tensor<i64>) -> tensor<8x6xf32>
  %0 = graph.random_uniform %step {seed = 7 : i64} : (tensor<i64>) -> tensor<8x6xf32>
  // CHECK: graph.random_uniform %{{.+}} rows %{{.+}} {dim = 1 : i64, seed = 7 : i64} : (tensor<i64>, tensor<6xi64>) -> tensor<8x6xf32>
  %rows = graph.iota {dim = 0 : i64} : tensor<6xi64>
  %numbered = graph.random_uniform %step rows %rows {seed = 7 : i64, dim = 1 : i64} : (tensor<i64>, tensor<6xi64>) -> tensor<8x6xf32>
  // CHECK: graph.dropout %{{.+}} {rate = 5.000000e-01 : f64} : tensor<8x6xf32>
  %1 = graph.dropout %0 {rate = 0.5 : f64} : tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}
