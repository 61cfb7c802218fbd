// RUN: dist-opt %s --graph-number-dropouts | FileCheck %s
// RUN: dist-opt %s --dist-import-pipeline | FileCheck %s --check-prefix=KEPT

// Equal ops until they are numbered; one that has a number keeps it, and one
// that never drops needs none.
// CHECK-LABEL: func @predict
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x3xf32>
// CHECK: graph.dropout %[[X]] {graph.stream = 6 : i64, rate = 5.000000e-01 : f64}
// CHECK: graph.dropout %[[X]] {graph.stream = 7 : i64, rate = 5.000000e-01 : f64}
// CHECK: graph.dropout %[[X]] {graph.stream = 5 : i64, rate = 5.000000e-01 : f64}
// CHECK: graph.dropout %[[X]] {rate = 0.000000e+00 : f64}
// KEPT-LABEL: func @predict
// KEPT-COUNT-3: rate = 5.000000e-01
// KEPT: return
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input"}) -> (tensor<4x3xf32> {graph.role = "output"}) {
  %0 = graph.dropout %x {rate = 0.5 : f64} : tensor<4x3xf32>
  %1 = graph.dropout %x {rate = 0.5 : f64} : tensor<4x3xf32>
  %2 = graph.dropout %x {rate = 0.5 : f64, graph.stream = 5 : i64} : tensor<4x3xf32>
  %3 = graph.dropout %x {rate = 0.0 : f64} : tensor<4x3xf32>
  %4 = graph.add %0, %1 : tensor<4x3xf32>
  %5 = graph.add %2, %3 : tensor<4x3xf32>
  %6 = graph.mul %4, %5 : tensor<4x3xf32>
  return %6 : tensor<4x3xf32>
}
