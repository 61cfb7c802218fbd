// RUN: dist-opt %s --rt-to-llvm | FileCheck %s

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
  // One chunk: a direct call.
  // CHECK: llvm.call @kernel_entry(
  rt.launch @kernel(%0, %2) rows 8 chunks 1
  // Several: through the runtime's table, and its status is looked at.
  // CHECK: llvm.mlir.addressof @kernel_entry
  // CHECK: llvm.mlir.addressof @dist_rt_table
  // CHECK: %[[S:.+]] = llvm.call %{{.+}} : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i32) -> i32
  // CHECK: llvm.icmp "ne" %[[S]]
  // CHECK: llvm.cond_br
  rt.launch @kernel(%2, %1) rows 8 chunks 2
  // CHECK: "llvm.intr.memcpy"
  rt.copy %2 to %1 bytes 64
}
// CHECK-LABEL: llvm.mlir.global internal @dist_rt_table
// CHECK-LABEL: llvm.func @dist_program_init
