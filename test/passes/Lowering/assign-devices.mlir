// RUN: dist-opt %s --rt-assign-devices | FileCheck %s
// RUN: not dist-opt %s --rt-assign-devices=kind=abacus 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: func.func @step(%{{.+}}) {{.*}}attributes {rt.device = "cpu"}
// UNKNOWN: assign-devices.mlir:[[@LINE+1]]:1: error: {{.*}}rt.device says which kind of device runs it: expected "cpu", but got "abacus"
func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// CHECK: func.func @on_host(%{{.+}}) {{.*}}attributes {dist.placement = #dist.placement<host>, rt.device = "cpu"}
func.func @on_host(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.placement = #dist.placement<host>} {
  return %x : tensor<8xf32>
}

// What is elsewhere runs nowhere here.
// CHECK: func.func private @declared(tensor<8xf32>)
// CHECK-NOT: rt.device
func.func private @declared(tensor<8xf32>)
