// RUN: dist-opt %s --rt-to-llvm | FileCheck %s

// What two microbatches do between transfers is one function, of offsets in the
// arena and in bindings. Calls of other kernels, or of other bindings, are
// other code; and a run that comes once stays where it is.
llvm.func @kernel(%in: !llvm.ptr, %out: !llvm.ptr, %lo: i64, %hi: i64, %chunk: i64) {
  llvm.return
}

// CHECK-LABEL: llvm.mlir.global internal constant @step_offsets
// CHECK-SAME: dense<[128, 0, 0, 64, 64, 0, 0, 64, 256, 512, 512, 576, 576, 512, 512, 576]> : tensor<16xi64>

// CHECK-LABEL: llvm.func @step(%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr) -> i32
rt.program @step arena 1024 arguments [{type = tensor<96xf32>}, {type = tensor<96xf32>}] results [] {
  %x0 = rt.binding 0 offset 128
  %a0 = rt.arena 0 bytes 64
  %b0 = rt.arena 64 bytes 64
  // CHECK: %[[T0:.+]] = llvm.mlir.addressof @step_offsets
  // CHECK: %[[S0:.+]] = llvm.call @dist_part_0(%{{.+}}, %{{.+}}, %{{.+}}, %[[T0]]) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  // CHECK: llvm.icmp "ne" %[[S0]]
  // CHECK-NOT: llvm.mlir.addressof @kernel_entry
  rt.launch @kernel(%x0, %a0) rows 8 chunks 2
  rt.launch @kernel(%a0, %b0) rows 8 chunks 2
  rt.launch @kernel(%b0, %a0) rows 8 chunks 2
  rt.copy %a0 to %b0 bytes 64
  // CHECK: llvm.call %{{.+}} : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr) -> i32
  rt.collective send op 0 over [0] (%b0) to () [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>] {peer = 1 : i64, tag = 0 : i64}
  %x1 = rt.binding 0 offset 256
  %a1 = rt.arena 512 bytes 64
  %b1 = rt.arena 576 bytes 64
  // CHECK: %[[C64:.+]] = llvm.mlir.constant(64 : i64)
  // CHECK: %[[T1:.+]] = llvm.getelementptr %{{.+}}[%[[C64]]]
  // CHECK: llvm.call @dist_part_0(%{{.+}}, %{{.+}}, %{{.+}}, %[[T1]])
  rt.launch @kernel(%x1, %a1) rows 8 chunks 2
  rt.launch @kernel(%a1, %b1) rows 8 chunks 2
  rt.launch @kernel(%b1, %a1) rows 8 chunks 2
  rt.copy %a1 to %b1 bytes 64
  // CHECK: llvm.call %{{.+}} : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr) -> i32
  rt.collective send op 1 over [0] (%b1) to () [#rt.piece<f32 [1, 1, 64] from [0, 0, 0] to [0, 0, 0]>] {peer = 1 : i64, tag = 1 : i64}
  %y = rt.binding 1
  // CHECK: llvm.mlir.addressof @kernel_entry
  // CHECK: llvm.mlir.addressof @kernel_entry
  // CHECK: llvm.mlir.addressof @kernel_entry
  // CHECK: : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  rt.launch @kernel(%y, %a0) rows 8 chunks 2
  rt.launch @kernel(%a0, %b0) rows 8 chunks 2
  rt.launch @kernel(%b0, %a0) rows 8 chunks 2
  rt.copy %a0 to %b0 bytes 64
}

// CHECK-LABEL: llvm.func hidden @dist_part_0(
// CHECK-SAME: %{{.+}}: !llvm.ptr, %[[ARENAS:[a-z0-9]+]]: !llvm.ptr, %[[BINDINGS:[a-z0-9]+]]: !llvm.ptr, %[[OFFSETS:[a-z0-9]+]]: !llvm.ptr) -> i32
// CHECK: %[[ARENA:.+]] = llvm.load %[[ARENAS]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[X:.+]] = llvm.load %[[BINDINGS]]
// CHECK: %[[O0:.+]] = llvm.load %[[OFFSETS]] : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %[[X]][%[[O0]]]
// CHECK: %[[O1:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %[[ARENA]][%[[O1]]]
// CHECK: llvm.mlir.addressof @kernel_entry
// CHECK: llvm.mlir.addressof @kernel_entry
// CHECK: llvm.mlir.addressof @kernel_entry
// CHECK: : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
