// RUN: dist-opt %s --test-op-rules -verify-diagnostics -o /dev/null
// Every element-wise op: derivative, splits and linear sets against the evaluator.

func.func @neg(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 1 derivatives}}
  %0 = graph.neg %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @abs(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.abs %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @sign(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.sign %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @exp(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.exp %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @log(%x: tensor<4x6xf64> {test.range = [0.2, 3.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.log %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @log1p(%x: tensor<4x6xf64> {test.range = [-0.5, 2.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.log1p %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @expm1(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.expm1 %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @sqrt(%x: tensor<4x6xf64> {test.range = [0.2, 3.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.sqrt %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @rsqrt(%x: tensor<4x6xf64> {test.range = [0.2, 3.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.rsqrt %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @tanh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.tanh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @logistic(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.logistic %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @erf(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.erf %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @relu(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.relu %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @sin(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.sin %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @cos(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.cos %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @tan(%x: tensor<4x6xf64> {test.range = [-1.0, 1.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.tan %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @asin(%x: tensor<4x6xf64> {test.range = [-0.9, 0.9]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.asin %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @acos(%x: tensor<4x6xf64> {test.range = [-0.9, 0.9]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.acos %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @atan(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.atan %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @sinh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.sinh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @cosh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.cosh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @asinh(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.asinh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @acosh(%x: tensor<4x6xf64> {test.range = [1.2, 3.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.acosh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @atanh(%x: tensor<4x6xf64> {test.range = [-0.9, 0.9]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.atanh %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @floor(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.floor %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @ceil(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.ceil %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @round(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.round %x : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @add(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.add %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @sub(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.sub %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @mul(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.mul %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @div(%x: tensor<4x6xf64> {test.range = [0.2, 2.0]}, %y: tensor<4x6xf64> {test.range = [0.2, 2.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.div %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @rem(%x: tensor<4x6xf64> {test.range = [0.2, 2.0]}, %y: tensor<4x6xf64> {test.range = [0.2, 2.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.rem %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @pow(%x: tensor<4x6xf64> {test.range = [0.2, 2.0]}, %y: tensor<4x6xf64> {test.range = [0.2, 2.0]}) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.pow %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @max(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.max %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @min(%x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 2 derivatives}}
  %0 = graph.min %x, %y : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// The exponent is known: no logarithm of a negative base is built.
func.func @pow_of_negative_base(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  %c = graph.constant dense<3.0> : tensor<4x6xf64>
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.pow %x, %c : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @pow_at_zero(%x: tensor<4x6xf64> {test.range = [0.0, 0.0]}) -> tensor<4x6xf64> {
  %c = graph.constant dense<2.0> : tensor<4x6xf64>
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.pow %x, %c : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @pow_to_the_zero(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  %c = graph.constant dense<0.0> : tensor<4x6xf64>
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.pow %x, %c : tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @int_and(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.and %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_or(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.or %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_xor(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.xor %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_shift_left(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.shift_left %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_shift_right(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.shift_right %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_add(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.add %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_sub(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.sub %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_mul(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.mul %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_div(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.div %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_rem(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.rem %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_pow(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.pow %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_max(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.max %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_min(%x: tensor<4x6xi32> {test.range = [-9, 9]}, %y: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.min %x, %y : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @int_not(%x: tensor<4x6xi32>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.not %x : tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @is_nan(%x: tensor<4x6xf64>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.is_nan %x : (tensor<4x6xf64>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @is_inf(%x: tensor<4x6xf64>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.is_inf %x : (tensor<4x6xf64>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @compare_eq(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.compare eq, %x, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @compare_ne(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.compare ne, %x, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @compare_lt(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.compare lt, %x, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @compare_le(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.compare le, %x, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @compare_gt(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.compare gt, %x, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @compare_ge(%x: tensor<4x6xi32>, %y: tensor<4x6xi32>) -> tensor<4x6xi1> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.compare ge, %x, %y : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>
  return %0 : tensor<4x6xi1>
}
func.func @select(%p: tensor<4x6xi1>, %x: tensor<4x6xf64>, %y: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 2 derivatives}}
  %0 = graph.select %p, %x, %y : (tensor<4x6xi1>, tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
// Zero is its own part: the other value may be unreduced alone.
func.func @select_or_zero(%p: tensor<4x6xi1>, %x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  %c = graph.constant dense<0.0> : tensor<4x6xf64>
  // expected-remark @below {{rules hold: 2 factors, 2 linear sets, 2 derivatives}}
  %0 = graph.select %p, %x, %c : (tensor<4x6xi1>, tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @convert_wider(%x: tensor<4x6xf32>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 1 linear sets, 0 derivatives}}
  %0 = graph.convert %x : (tensor<4x6xf32>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
func.func @convert_to_int(%x: tensor<4x6xf64>) -> tensor<4x6xi32> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 0 derivatives}}
  %0 = graph.convert %x : (tensor<4x6xf64>) -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @convert_same_values(%x: tensor<4x6xf64>) -> tensor<4x6xf64> {
  // expected-remark @below {{rules hold: 2 factors, 0 linear sets, 1 derivatives}}
  %0 = graph.convert %x : (tensor<4x6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}
