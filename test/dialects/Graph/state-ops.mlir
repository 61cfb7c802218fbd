// RUN: dist-opt %s --verify-roundtrip | FileCheck %s

// CHECK: graph.variable @w : tensor<2xf32> trainable = dense<0.000000e+00> : tensor<2xf32>
graph.variable @w : tensor<2xf32> trainable = dense<0.0> : tensor<2xf32>
// CHECK: graph.variable @m : tensor<2xf32> {aggregation = 2 : i32, group = "buffer", slot_of = @w, synchronization = 1 : i32, why = "statistics"} = dense<1.000000e+00>
graph.variable @m : tensor<2xf32> {group = "buffer", slot_of = @w, synchronization = 1 : i32, aggregation = 2 : i32, why = "statistics"} = dense<1.0> : tensor<2xf32>

// CHECK-LABEL: @step
func.func @step() {
  // CHECK: %[[W:.+]] = graph.read @w : tensor<2xf32>
  %0 = graph.read @w : tensor<2xf32>
  // CHECK: graph.assign @m, %[[W]] : tensor<2xf32>
  graph.assign @m, %0 : tensor<2xf32>
  return
}

// CHECK-LABEL: @after
func.func @after(%x: tensor<4x6xf32>, %anchor: tensor<3xi64>) -> tensor<4x6xf32> {
  // CHECK: graph.after %{{.+}}, %{{.+}} : tensor<4x6xf32>, tensor<3xi64>
  %0 = graph.after %x, %anchor : tensor<4x6xf32>, tensor<3xi64>
  return %0 : tensor<4x6xf32>
}
