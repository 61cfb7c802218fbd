// RUN: dist-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: @neg
func.func @neg(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.neg{{.*}} : tensor<4x6xf64>
  %0 = graph.neg %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @abs
func.func @abs(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.abs{{.*}} : tensor<4x6xf64>
  %0 = graph.abs %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @sign
func.func @sign(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.sign{{.*}} : tensor<4x6xf64>
  %0 = graph.sign %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @exp
func.func @exp(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.exp{{.*}} : tensor<4x6xf64>
  %0 = graph.exp %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @log
func.func @log(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.log{{.*}} : tensor<4x6xf64>
  %0 = graph.log %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @log1p
func.func @log1p(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.log1p{{.*}} : tensor<4x6xf64>
  %0 = graph.log1p %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @expm1
func.func @expm1(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.expm1{{.*}} : tensor<4x6xf64>
  %0 = graph.expm1 %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @sqrt
func.func @sqrt(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.sqrt{{.*}} : tensor<4x6xf64>
  %0 = graph.sqrt %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @rsqrt
func.func @rsqrt(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.rsqrt{{.*}} : tensor<4x6xf64>
  %0 = graph.rsqrt %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @tanh
func.func @tanh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.tanh{{.*}} : tensor<4x6xf64>
  %0 = graph.tanh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @logistic
func.func @logistic(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.logistic{{.*}} : tensor<4x6xf64>
  %0 = graph.logistic %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @erf
func.func @erf(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.erf{{.*}} : tensor<4x6xf64>
  %0 = graph.erf %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @relu
func.func @relu(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.relu{{.*}} : tensor<4x6xf64>
  %0 = graph.relu %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @sin
func.func @sin(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.sin{{.*}} : tensor<4x6xf64>
  %0 = graph.sin %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @cos
func.func @cos(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.cos{{.*}} : tensor<4x6xf64>
  %0 = graph.cos %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @tan
func.func @tan(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.tan{{.*}} : tensor<4x6xf64>
  %0 = graph.tan %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @asin
func.func @asin(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.asin{{.*}} : tensor<4x6xf64>
  %0 = graph.asin %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @acos
func.func @acos(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.acos{{.*}} : tensor<4x6xf64>
  %0 = graph.acos %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @atan
func.func @atan(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.atan{{.*}} : tensor<4x6xf64>
  %0 = graph.atan %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @sinh
func.func @sinh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.sinh{{.*}} : tensor<4x6xf64>
  %0 = graph.sinh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @cosh
func.func @cosh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.cosh{{.*}} : tensor<4x6xf64>
  %0 = graph.cosh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @asinh
func.func @asinh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.asinh{{.*}} : tensor<4x6xf64>
  %0 = graph.asinh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @acosh
func.func @acosh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.acosh{{.*}} : tensor<4x6xf64>
  %0 = graph.acosh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @atanh
func.func @atanh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.atanh{{.*}} : tensor<4x6xf64>
  %0 = graph.atanh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @stop_gradient
func.func @stop_gradient(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.stop_gradient{{.*}} : tensor<4x6xf64>
  %0 = graph.stop_gradient %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @floor
func.func @floor(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.floor{{.*}} : tensor<4x6xf64>
  %0 = graph.floor %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @ceil
func.func @ceil(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.ceil{{.*}} : tensor<4x6xf64>
  %0 = graph.ceil %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @round
func.func @round(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.round{{.*}} : tensor<4x6xf64>
  %0 = graph.round %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @add
func.func @add(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.add{{.*}} : tensor<4x6xf64>
  %0 = graph.add %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @sub
func.func @sub(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.sub{{.*}} : tensor<4x6xf64>
  %0 = graph.sub %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @mul
func.func @mul(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.mul{{.*}} : tensor<4x6xf64>
  %0 = graph.mul %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @div
func.func @div(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.div{{.*}} : tensor<4x6xf64>
  %0 = graph.div %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @rem
func.func @rem(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.rem{{.*}} : tensor<4x6xf64>
  %0 = graph.rem %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @pow
func.func @pow(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.pow{{.*}} : tensor<4x6xf64>
  %0 = graph.pow %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @max
func.func @max(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.max{{.*}} : tensor<4x6xf64>
  %0 = graph.max %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @min
func.func @min(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.min{{.*}} : tensor<4x6xf64>
  %0 = graph.min %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @int_and
func.func @int_and(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // CHECK: graph.and{{.*}} : tensor<4x6xi32>
  %0 = graph.and %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// CHECK-LABEL: @int_or
func.func @int_or(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // CHECK: graph.or{{.*}} : tensor<4x6xi32>
  %0 = graph.or %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// CHECK-LABEL: @int_xor
func.func @int_xor(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // CHECK: graph.xor{{.*}} : tensor<4x6xi32>
  %0 = graph.xor %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// CHECK-LABEL: @int_shift_left
func.func @int_shift_left(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // CHECK: graph.shift_left{{.*}} : tensor<4x6xi32>
  %0 = graph.shift_left %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// CHECK-LABEL: @int_shift_right
func.func @int_shift_right(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // CHECK: graph.shift_right{{.*}} : tensor<4x6xi32>
  %0 = graph.shift_right %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// CHECK-LABEL: @int_not
func.func @int_not(%x: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // CHECK: graph.not{{.*}} : tensor<4x6xi32>
  %0 = graph.not %x : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
// CHECK-LABEL: @is_nan
func.func @is_nan(%x: tensor<4x6xf64>) -> tensor<4x6xi1> {
  // CHECK: graph.is_nan{{.*}} : (tensor<4x6xf64>) -> tensor<4x6xi1>
  %0 = graph.is_nan %x : (tensor<4x6xf64>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
// CHECK-LABEL: @is_inf
func.func @is_inf(%x: tensor<4x6xf64>) -> tensor<4x6xi1> {
  // CHECK: graph.is_inf{{.*}} : (tensor<4x6xf64>) -> tensor<4x6xi1>
  %0 = graph.is_inf %x : (tensor<4x6xf64>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
// CHECK-LABEL: @compare_eq
func.func @compare_eq(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi1> {
  // CHECK: graph.compare{{.*}} : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  %0 = graph.compare eq, %x, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
// CHECK-LABEL: @select
func.func @select(%p: tensor<4x6xi1>, %x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // CHECK: graph.select{{.*}} : (tensor<4x6xi1>, tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  %0 = graph.select %p, %x, %y : (tensor<4x6xi1>, tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// CHECK-LABEL: @convert_wider
func.func @convert_wider(%x: tensor<4x6xf32>) -> tensor<4x6xf64> {
  // CHECK: graph.convert{{.*}} : (tensor<4x6xf32>) -> tensor<4x6xf64>
  %0 = graph.convert %x : (tensor<4x6xf32>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
