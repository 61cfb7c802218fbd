// RUN: not dist-opt %s --graph-to-kernels=vector-bits=3 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not dist-opt %s --graph-to-kernels=threads=0 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: dist-opt %s --graph-to-kernels=threads=2 | FileCheck %s
// BITS: error: expected vector-bits to be 0, 128, 256 or 512, but got 3
// THREADS: error: expected at least one of threads, but got 0

// The library counts rows in 32 bits: such a product is generated code's.
// CHECK-LABEL: func.func @rows
// CHECK: graph.dot_general
// CHECK-NOT: rt.library
// CHECK: return
func.func @rows(%x: tensor<4294967296x4xf32>, %w: tensor<4x2xf32>) -> tensor<4294967296x2xf32> {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4294967296x4xf32>, tensor<4x2xf32>) -> tensor<4294967296x2xf32>
  return %0 : tensor<4294967296x2xf32>
}
