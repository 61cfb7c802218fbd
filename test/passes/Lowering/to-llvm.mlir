// RUN: dist-opt %s --rt-to-llvm | FileCheck %s

// Its words, then of each collective: kind, op, ..., axes, pieces.
// CHECK: llvm.mlir.global external protected constant @step_collectives(dense<[44, 1, 9, 0, 0, 0, 0, 0, 2, 0, 1, 1, 0, 1, 2, 1, 4, 8, 0, 0, 16, 0, 8, 0, 4, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 64, 0, 0, 0, 0, 0, 0]> : tensor<44xi64>)
// CHECK-LABEL: llvm.func internal @kernel
llvm.func @kernel(%in: !llvm.ptr {llvm.noalias}, %out: !llvm.ptr {llvm.noalias}, %lo: i64, %hi: i64, %chunk: i64) {
  llvm.return
}
// CHECK-LABEL: llvm.func protected @kernel_entry(%{{.+}}: !llvm.ptr, %{{.+}}: i64, %{{.+}}: i64, %{{.+}}: i64)
// CHECK: llvm.call @kernel(

// CHECK-LABEL: llvm.func @step(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr) -> i32
rt.program @step arena 128 arguments [{type = tensor<16xf32>}] results [{type = tensor<16xf32>}] {
  %0 = rt.binding 0
  %1 = rt.binding 1
  %2 = rt.arena 64 bytes 64
  // Through the runtime's table, which traces see, also with one chunk.
  // CHECK-NOT: llvm.call @kernel_entry(
  rt.launch @kernel(%0, %2) rows 8 chunks 1
  // Its status is looked at.
  // CHECK: llvm.mlir.addressof @kernel_entry
  // CHECK: llvm.mlir.addressof @dist_rt_table
  // CHECK: %[[S:.+]] = llvm.call %{{.+}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i64, i32) -> i32
  // CHECK: llvm.icmp "ne" %[[S]]
  // CHECK: llvm.cond_br
  rt.launch @kernel(%2, %1) rows 8 chunks 2
  // The call says only which one.
  // CHECK: llvm.mlir.addressof @kernel_entry
  // CHECK: llvm.cond_br
  // CHECK: %[[N0:.+]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %[[N0]], %{{.+}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr) -> i32
  rt.collective all_gather op 9 over [1, 0] (%2) to (%1)
    [#rt.piece<f32 [2, 1, 4] from [8, 0, 0] to [16, 0, 8]>]
  // Behind the inputs the runtime writes where they lie, which kernels then get.
  // CHECK: %[[N1:.+]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %[[N1]], %{{.+}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr) -> i32
  // CHECK: %[[C8:.+]] = llvm.mlir.constant(8 : i64)
  // CHECK: %[[A0:.+]] = llvm.getelementptr %{{.+}}[%[[C8]]]
  // CHECK: %[[P0:.+]] = llvm.load %[[A0]]
  // CHECK: %[[C16:.+]] = llvm.mlir.constant(16 : i64)
  // CHECK: %[[A1:.+]] = llvm.getelementptr %{{.+}}[%[[C16]]]
  // CHECK: %[[P1:.+]] = llvm.load %[[A1]]
  // CHECK: llvm.store %[[P1]]
  // CHECK: llvm.store %[[P0]]
  %3:2 = rt.publish all_reduce op 4 over [0] peers 2 (%2) [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>]
    : (!rt.buffer<device>) -> (!rt.buffer<device>, !rt.buffer<device>)
  rt.launch @kernel(%3#1, %3#0) rows 8 chunks 1
  // CHECK: %[[BYTES:.+]] = llvm.mlir.constant(64 : i64)
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %{{.+}}, %{{.+}}, %[[BYTES]]) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  rt.copy %2 to %1 bytes 64
}

// Each program has its own list; a wait is for the last start of its transfer.
// CHECK-LABEL: llvm.func @started(
rt.program @started arena 128 arguments [] results [] {
  %0 = rt.arena 0 bytes 64
  // CHECK: %[[S0:.+]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %[[S0]], %{{.+}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr) -> i32
  rt.collective start all_reduce op 3 over [0] (%0) to (%0)
    [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>]
  // CHECK: %[[S1:.+]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %[[S1]], %{{.+}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr) -> i32
  rt.collective start all_reduce op 5 over [0] (%0) to (%0)
    [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>]
  // CHECK: %[[W1:.+]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %[[W1]]) : !llvm.ptr, (!llvm.ptr, i32) -> i32
  rt.wait op 5
  // CHECK: llvm.cond_br
  // CHECK: %[[W0:.+]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %[[W0]]) : !llvm.ptr, (!llvm.ptr, i32) -> i32
  rt.wait op 3
}
// An arena in each memory.
// CHECK-LABEL: llvm.func @both(
// CHECK-SAME: %{{.+}}: !llvm.ptr, %[[ARENAS:[a-z0-9]+]]: !llvm.ptr,
rt.program @both arena 128 host_arena 64 arguments [] results [] {
  // CHECK: %[[DEVICE:.+]] = llvm.load %[[ARENAS]] : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[C8:.+]] = llvm.mlir.constant(8 : i64)
  // CHECK: %[[SECOND:.+]] = llvm.getelementptr %[[ARENAS]][%[[C8]]]
  // CHECK: %[[HOST:.+]] = llvm.load %[[SECOND]] : !llvm.ptr -> !llvm.ptr
  // CHECK: %[[C64:.+]] = llvm.mlir.constant(64 : i64)
  // CHECK: %[[FROM:.+]] = llvm.getelementptr %[[DEVICE]][%[[C64]]]
  %0 = rt.arena 64 bytes 64
  %1 = rt.arena 0 bytes 64 in host
  // CHECK: llvm.call %{{.+}}(%{{.+}}, %[[HOST]], %[[FROM]], %{{.+}}) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  rt.copy %0 to %1 in host bytes 64
}
// CHECK-LABEL: llvm.mlir.global internal @dist_rt_table
// CHECK-LABEL: llvm.func @dist_program_init
