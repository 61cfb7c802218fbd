// RUN: dist-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @neutral
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>)
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %ones = graph.broadcast %one {dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
  %0 = graph.add %x, %zero : tensor<4xf32>
  %1 = graph.sub %0, %zero : tensor<4xf32>
  %2 = graph.mul %ones, %1 : tensor<4xf32>
  %3 = graph.div %2, %ones : tensor<4xf32>
  %4 = graph.neg %3 : tensor<4xf32>
  %5 = graph.neg %4 : tensor<4xf32>
  // CHECK-NEXT: return %[[X]]
  return %5 : tensor<4xf32>
}

// A product with zero stays: it is NaN where the other is.
// CHECK-LABEL: @mul_zero
func.func @mul_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  // CHECK: graph.mul
  %0 = graph.mul %x, %zero : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @cube
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>)
func.func @cube(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<3.0> : tensor<4xf32>
  // CHECK: %[[S:.+]] = graph.mul %[[X]], %[[X]]
  // CHECK: %[[C:.+]] = graph.mul %[[S]], %[[X]]
  // CHECK: return %[[C]]
  %0 = graph.pow %x, %c : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @half_power
func.func @half_power(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant dense<0.5> : tensor<4xf32>
  // CHECK: graph.pow
  %0 = graph.pow %x, %c : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @select_known
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>, %{{.+}}: tensor<4xf32>)
func.func @select_known(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %true = graph.constant dense<true> : tensor<4xi1>
  // CHECK-NEXT: return %[[X]]
  %0 = graph.select %true, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// There and back through a wider float is nothing; through a narrower one it rounds.
// CHECK-LABEL: @convert_twice
// CHECK-SAME: (%[[X:.+]]: tensor<4xbf16>, %[[Y:.+]]: tensor<4xf32>)
func.func @convert_twice(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = graph.convert %x : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = graph.convert %0 : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK: %[[N:.+]] = graph.convert %[[Y]]
  // CHECK: %[[W:.+]] = graph.convert %[[N]]
  %2 = graph.convert %y : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = graph.convert %2 : (tensor<4xbf16>) -> tensor<4xf32>
  // CHECK: return %[[X]], %[[W]]
  return %1, %3 : tensor<4xbf16>, tensor<4xf32>
}

// Integers wrap where they are converted: 255 is added, not what saturates, 0.
// CHECK-LABEL: @wraps
// CHECK: graph.add
// CHECK-LABEL: @wraps_to_zero
// CHECK-NOT: graph.add
func.func @wraps(%x: tensor<1x100000xui8>) -> tensor<1x100000xui8> {
  %c = graph.constant dense<-1> : tensor<i64>
  %b = graph.broadcast %c {dims = array<i64>} : (tensor<i64>) -> tensor<1x100000xi64>
  %d = graph.convert %b : (tensor<1x100000xi64>) -> tensor<1x100000xui8>
  %y = graph.add %x, %d : tensor<1x100000xui8>
  return %y : tensor<1x100000xui8>
}
func.func @wraps_to_zero(%x: tensor<1x100000xui8>) -> tensor<1x100000xui8> {
  %c = graph.constant dense<256> : tensor<i64>
  %b = graph.broadcast %c {dims = array<i64>} : (tensor<i64>) -> tensor<1x100000xi64>
  %d = graph.convert %b : (tensor<1x100000xi64>) -> tensor<1x100000xui8>
  %y = graph.add %x, %d : tensor<1x100000xui8>
  return %y : tensor<1x100000xui8>
}
