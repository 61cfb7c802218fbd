// The pass alone, on a host's function whose mesh is not there: threads are as given.
// RUN: dist-opt %s --graph-to-kernels='threads=2 widen=false' | FileCheck %s
// CHECK: func.func @on_host
// CHECK: rt.library
func.func @on_host(%x: tensor<16x32xf32>, %y: tensor<32x8xf32>) -> tensor<16x8xf32>
    attributes {dist.placement = #dist.placement<host>, rt.device = "cpu"} {
  %0 = graph.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
