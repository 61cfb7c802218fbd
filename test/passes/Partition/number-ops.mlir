// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-number-ops))" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-number-ops,dist-strip-shardings))" | FileCheck %s --check-prefix=STRIP

// CHECK-LABEL: func @numbers
// STRIP-LABEL: func @numbers
func.func @numbers(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.exp %{{.+}} {dist.origin = 0 : i64}
  // STRIP: graph.exp %{{.+}} : tensor<4xf32>
  %0 = graph.exp %x : tensor<4xf32>
  // CHECK: graph.log %{{.+}} {dist.origin = 1 : i64}
  %1 = graph.log %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Numbers start anew in each function.
// CHECK-LABEL: func @again
func.func @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.neg %{{.+}} {dist.origin = 0 : i64}
  %0 = graph.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
