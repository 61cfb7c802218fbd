// RUN: dist-opt %s --rt-outline-kernels=threads=2 | FileCheck %s

// Ops with loops of their own are run by their rows, in as many parts as there
// are threads; where there are none, or too little to do, by one.
// CHECK-DAG: rt.kernel @[[TOP:.+]] domain [64] row_dims 1 chunks 2 -> [tensor<64x10xf32>, tensor<64x10xi64>]
// CHECK-DAG: rt.kernel @[[SPREAD:.+]] domain [64] row_dims 1 chunks 2 -> [tensor<64x1000xf32>]
// CHECK-DAG: rt.kernel @[[FEW:.+]] domain [64] row_dims 1 chunks 1 -> [tensor<64x1xf32>, tensor<64x1xi64>]
// CHECK-DAG: rt.kernel @[[ROWS:.+]] domain [] row_dims 0 chunks 1 -> [tensor<1000x64xf32>]
// CHECK-LABEL: func.func @f
func.func @f(%x: tensor<64x1000xf32>, %few: tensor<64x3xf32>, %y: tensor<1000x64xf32>, %i: tensor<10xi64>, %u: tensor<10x64xf32>) -> (tensor<64x1000xf32>, tensor<64x1xf32>, tensor<1000x64xf32>) {
  // CHECK: %[[T:.+]]:2 = rt.call @[[TOP]](
  %0:2 = graph.top_k %x {k = 10 : i64} : (tensor<64x1000xf32>) -> (tensor<64x10xf32>, tensor<64x10xi64>)
  // CHECK: rt.call @[[SPREAD]](%{{.+}}, %[[T]]#1, %[[T]]#0)
  %1 = graph.scatter_elements add, %x, %0#1, %0#0 {axis = 1 : i64} : (tensor<64x1000xf32>, tensor<64x10xi64>, tensor<64x10xf32>) -> tensor<64x1000xf32>
  // CHECK: rt.call @[[FEW]](
  %2:2 = graph.top_k %few {k = 1 : i64} : (tensor<64x3xf32>) -> (tensor<64x1xf32>, tensor<64x1xi64>)
  // CHECK: rt.call @[[ROWS]](
  %3 = graph.scatter_add %y, %i, %u {axis = 0 : i64} : (tensor<1000x64xf32>, tensor<10xi64>, tensor<10x64xf32>) -> tensor<1000x64xf32>
  return %1, %2#0, %3 : tensor<64x1000xf32>, tensor<64x1xf32>, tensor<1000x64xf32>
}
