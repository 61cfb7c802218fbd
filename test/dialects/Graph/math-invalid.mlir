// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @select_c1(%p: tensor<4x6xi1>, %x: tensor<4x6xf32>, %y: tensor<4x6xf64>) {
  // expected-error @below {{expected both values to have one type}}
  %0 = graph.select %p, %x, %y : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf64>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_shape(%p: tensor<4xi1>, %x: tensor<4x6xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape}}
  %0 = graph.select %p, %x, %x : (tensor<4xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @compare_types(%x: tensor<4x6xf32>, %y: tensor<4x6xf64>) {
  // expected-error @below {{all operands to have the same type}}
  %0 = graph.compare lt, %x, %y : (tensor<4x6xf32>, tensor<4x6xf64>) -> tensor<4x6xi1>
  return
}

// -----

func.func @compare_result(%x: tensor<4x6xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape}}
  %0 = graph.compare lt, %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @exp_of_ints(%x: tensor<4xi32>) {
  // expected-error @below {{must be statically shaped tensor of floating-point values}}
  %0 = graph.exp %x : tensor<4xi32>
  return
}

// -----

func.func @not_of_floats(%x: tensor<4xf32>) {
  // expected-error @below {{must be statically shaped tensor of integer values}}
  %0 = graph.not %x : tensor<4xf32>
  return
}

// -----

func.func @convert_shape(%x: tensor<4x6xf32>) {
  // expected-error @below {{requires the same shape for all operands and results}}
  %0 = graph.convert %x : (tensor<4x6xf32>) -> tensor<6x4xf64>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error @below {{must be statically shaped tensor}}
  %0 = graph.neg %x : tensor<?xf32>
  return
}
