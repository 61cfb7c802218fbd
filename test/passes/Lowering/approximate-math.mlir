// RUN: dist-opt %s --rt-approximate-math | FileCheck %s

// CHECK-LABEL: func.func @single
// CHECK-NOT: math.exp
// CHECK: math.fma
// CHECK: return
func.func @single(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// Doubles keep the C library's accuracy.
// CHECK-LABEL: func.func @double
// CHECK: math.exp %{{.+}} : f64
func.func @double(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}

// A conversion of integers is rounded here, too: few machines have an instruction
// for it, and a program has no function to call.
// CHECK-LABEL: func.func @integers
// CHECK: arith.sitofp %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK: arith.uitofp %{{.*}} : i8 to f32
// CHECK-NOT: arith.truncf
// CHECK-NOT: itofp
func.func @integers(%x: vector<8xi32>, %y: i8) -> (vector<8xbf16>, bf16) {
  %0 = arith.sitofp %x : vector<8xi32> to vector<8xbf16>
  %1 = arith.uitofp %y : i8 to bf16
  return %0, %1 : vector<8xbf16>, bf16
}
