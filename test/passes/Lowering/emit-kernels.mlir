// RUN: dist-opt %s --rt-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func private @rows
// CHECK-SAME: %[[IN:.+]]: memref<64x8xf32> {llvm.noalias}, %[[OUT:.+]]: memref<64x8xf32> {llvm.noalias}, %[[SUMS:.+]]: memref<2x8xf32> {llvm.noalias}, %[[LO:.+]]: index, %[[HI:.+]]: index, %[[CHUNK:.+]]: index
rt.kernel @rows domain [64, 8] row_dims 1 chunks 2 -> [tensor<64x8xf32>, tensor<2x8xf32>] {
^bb0(%x: tensor<64x8xf32>):
  // The sums of this chunk begin at 0.
  // CHECK: scf.for
  // CHECK: memref.store %{{.+}}, %[[SUMS]][%[[CHUNK]], %{{.+}}]
  // CHECK: scf.for %[[R:.+]] = %[[LO]] to %[[HI]]
  // The row's sum is carried; then the row is divided by it and added.
  // CHECK: %[[S:.+]] = scf.for %{{.+}} iter_args
  // CHECK: scf.for %[[I:.+]] =
  // CHECK: %[[X:.+]] = memref.load %[[IN]][%[[R]], %[[I]]]
  // CHECK: %[[D:.+]] = arith.divf %[[X]], %[[S]]
  // CHECK: memref.store %[[D]], %[[OUT]][%[[R]], %[[I]]]
  // CHECK: memref.load %[[SUMS]][%[[CHUNK]], %[[I]]]
  // CHECK: memref.store %{{.+}}, %[[SUMS]][%[[CHUNK]], %[[I]]]
  %s = graph.reduce sum, %x {dims = array<i64: 1>} : (tensor<64x8xf32>) -> tensor<64xf32>
  %b = graph.broadcast %s {dims = array<i64: 0>} : (tensor<64xf32>) -> tensor<64x8xf32>
  %d = graph.div %x, %b : tensor<64x8xf32>
  %c = graph.reduce sum, %d {dims = array<i64: 0>} : (tensor<64x8xf32>) -> tensor<8xf32>
  rt.yield %d, %c : tensor<64x8xf32>, tensor<8xf32>
}

// Booleans are bytes in memory; bf16 are bits there, and computed in f32.
// CHECK-LABEL: func.func private @types
// CHECK-SAME: memref<8xi8>
// CHECK-SAME: memref<8xi16>
// CHECK: arith.bitcast %{{.+}} : i16 to bf16
// CHECK: arith.extf %{{.+}} : bf16 to f32
// CHECK: %[[N:.+]] = arith.truncf %{{.+}} : f32 to bf16
// CHECK: %[[BITS:.+]] = arith.bitcast %[[N]] : bf16 to i16
// CHECK: memref.store %[[BITS]]
rt.kernel @types domain [8] row_dims 0 chunks 1 -> [tensor<8xbf16>] {
^bb0(%p: tensor<8xi1>, %x: tensor<8xbf16>, %y: tensor<8xbf16>):
  %0 = graph.select %p, %x, %y : (tensor<8xi1>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  rt.yield %0 : tensor<8xbf16>
}

// Innermost loops that fill vectors stay loops until they are vectorised; short
// ones may be unrolled.
// CHECK-LABEL: func.func private @long_loops
// CHECK: scf.for %[[R:.+]] =
// CHECK: scf.for
// CHECK: } {loop_annotation = #[[KEEP:.+]]}
// CHECK-NOT: loop_annotation
// CHECK-LABEL: func.func private @short_loops
// CHECK: scf.for
// CHECK-NOT: loop_annotation
// CHECK: return
rt.kernel @long_loops domain [8, 32] row_dims 1 chunks 1 -> [tensor<8x32xf32>] {
^bb0(%x: tensor<8x32xf32>):
  %0 = graph.neg %x : tensor<8x32xf32>
  rt.yield %0 : tensor<8x32xf32>
}
rt.kernel @short_loops domain [8, 3] row_dims 1 chunks 1 -> [tensor<8x3xf32>] {
^bb0(%x: tensor<8x3xf32>):
  %0 = graph.neg %x : tensor<8x3xf32>
  rt.yield %0 : tensor<8x3xf32>
}

// No loop runs over an empty tensor, which is memory all the same.
// CHECK-LABEL: func.func private @empty
// CHECK-SAME: memref<2x1xf32>
// CHECK-NOT: memref.load
// CHECK: return
rt.kernel @empty domain [2, 0] row_dims 0 chunks 1 -> [tensor<2x0xf32>] {
^bb0(%x: tensor<2x0xf32>):
  %0 = graph.neg %x : tensor<2x0xf32>
  rt.yield %0 : tensor<2x0xf32>
}

// Long sums are sums of blocks' sums: 32768 terms a chunk in blocks of 32 rows.
// CHECK-LABEL: func.func private @long_sums
// CHECK-SAME: %{{.+}}: memref<16384x4xf32> {llvm.noalias}, %[[SUMS:.+]]: memref<2x4xf32> {llvm.noalias}, %[[ALL:.+]]: memref<2xf32> {llvm.noalias}, %[[LO:.+]]: index, %[[HI:.+]]: index, %[[CHUNK:.+]]: index
// CHECK-DAG: %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[BLOCK:.+]] = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
// CHECK: %[[TOTAL:.+]] = scf.for %[[BEGIN:.+]] = %[[LO]] to %[[HI]] step %[[C32]] iter_args(%[[OLD:.+]] = %[[ZERO]])
// CHECK: %[[NEXT:.+]] = arith.addi %[[BEGIN]], %[[C32]]
// CHECK: %[[END:.+]] = arith.minui %[[NEXT]], %[[HI]]
// CHECK: memref.store %[[ZERO]], %[[BLOCK]]
// CHECK: %[[PART:.+]] = scf.for %{{.+}} = %[[BEGIN]] to %[[END]] step %{{.+}} iter_args(%{{.+}} = %[[ZERO]])
// CHECK: memref.load %[[BLOCK]]
// CHECK: memref.store %{{.+}}, %[[BLOCK]]
// CHECK: scf.for
// CHECK: memref.load %[[SUMS]][%[[CHUNK]], %{{.+}}]
// CHECK: memref.load %[[BLOCK]]
// CHECK: memref.store %{{.+}}, %[[SUMS]][%[[CHUNK]], %{{.+}}]
// CHECK: %[[NEW:.+]] = arith.addf %[[OLD]], %[[PART]]
// CHECK: scf.yield %[[NEW]]
// CHECK: memref.store %[[TOTAL]], %[[ALL]][%[[CHUNK]]]
rt.kernel @long_sums domain [16384, 4] row_dims 1 chunks 2 -> [tensor<2x4xf32>, tensor<2xf32>] {
^bb0(%x: tensor<16384x4xf32>):
  %c = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<16384x4xf32>) -> tensor<4xf32>
  %a = graph.reduce sum, %x {dims = array<i64: 0, 1>} : (tensor<16384x4xf32>) -> tensor<f32>
  rt.yield %c, %a : tensor<4xf32>, tensor<f32>
}

// A sum that is yielded twice is written twice.
// CHECK-LABEL: func.func private @twice
// CHECK-SAME: %{{.+}}: memref<4xf32> {llvm.noalias}, %[[ONE:.+]]: memref<f32> {llvm.noalias}, %[[OTHER:.+]]: memref<f32> {llvm.noalias}
// CHECK-DAG: memref.store %{{.+}}, %[[ONE]]
// CHECK-DAG: memref.store %{{.+}}, %[[OTHER]]
rt.kernel @twice domain [4] row_dims 0 chunks 1 -> [tensor<f32>, tensor<f32>] {
^bb0(%x: tensor<4xf32>):
  %a = graph.reduce sum, %x {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  rt.yield %a, %a : tensor<f32>, tensor<f32>
}
