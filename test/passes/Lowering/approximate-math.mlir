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
