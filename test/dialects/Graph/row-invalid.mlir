// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @gather_rows_c1(%x: tensor<0x6xf32>, %i: tensor<3xi64>, %n: tensor<0xi32>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.gather_rows %x, %i, %n {num_rows = 4 : i64} : (tensor<0x6xf32>, tensor<3xi64>, tensor<0xi32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @gather_rows_c2(%x: tensor<4x6xf32>, %i: tensor<3xi64>, %n: tensor<4x1xi32>) {
  // expected-error @+2 {{'graph.gather_rows' op expected a number for each row of 'tensor<4x6xf32>', but got 'tensor<4x1xi32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.gather_rows %x, %i, %n {num_rows = 4 : i64} : (tensor<4x6xf32>, tensor<3xi64>, tensor<4x1xi32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @gather_rows_count(%x: tensor<4x6xf32>, %i: tensor<3xi64>, %n: tensor<4xi32>) {
  // expected-error @below {{attribute 'num_rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = graph.gather_rows %x, %i, %n {num_rows = 0 : i64} : (tensor<4x6xf32>, tensor<3xi64>, tensor<4xi32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @scatter_add_rows_c1(%x: tensor<f32>, %i: tensor<i64>, %u: tensor<f32>, %n: tensor<1xi32>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_add_rows %x, %i, %u, %n {num_rows = 4 : i64} : (tensor<f32>, tensor<i64>, tensor<f32>, tensor<1xi32>) -> tensor<f32>
  return
}

// -----

func.func @scatter_add_rows_c2(%x: tensor<4x6xf32>, %i: tensor<3xi64>, %u: tensor<3x6xf32>, %n: tensor<3xi32>) {
  // expected-error @+2 {{expected a number for each row of 'tensor<4x6xf32>', but got 'tensor<3xi32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_add_rows %x, %i, %u, %n {num_rows = 4 : i64} : (tensor<4x6xf32>, tensor<3xi64>, tensor<3x6xf32>, tensor<3xi32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_add_rows_c3(%x: tensor<4x6xf32>, %i: tensor<3xi64>, %u: tensor<2x6xf32>, %n: tensor<4xi32>) {
  // expected-error @+2 {{expected updates of type 'tensor<3x6xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_add_rows %x, %i, %u, %n {num_rows = 4 : i64} : (tensor<4x6xf32>, tensor<3xi64>, tensor<2x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  return
}
