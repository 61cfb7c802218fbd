// RUN: dist-opt %s -split-input-file -verify-diagnostics

func.func @gather_c1(%x: tensor<4x6xf32>, %i: tensor<3xi64>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.gather %x, %i {axis = 2 : i64} : (tensor<4x6xf32>, tensor<3xi64>) -> tensor<3x6xf32>
  return
}

// -----

func.func @scatter_add_c1(%x: tensor<4x6xf32>, %i: tensor<3xi64>, %u: tensor<3x6xf32>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_add %x, %i, %u {axis = -1 : i64} : (tensor<4x6xf32>, tensor<3xi64>, tensor<3x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_add_c2(%x: tensor<4x6xf32>, %i: tensor<3xi64>, %u: tensor<2x6xf32>) {
  // expected-error @+2 {{expected updates of type 'tensor<3x6xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_add %x, %i, %u {axis = 0 : i64} : (tensor<4x6xf32>, tensor<3xi64>, tensor<2x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @gather_elements_c1(%x: tensor<4x6xf32>, %i: tensor<4x2xi64>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.gather_elements %x, %i {axis = 5 : i64} : (tensor<4x6xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @gather_elements_c2(%x: tensor<4x6xf32>, %i: tensor<5x2xi64>) {
  // expected-error @+2 {{no larger in any but axis 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<4x6xf32>, tensor<5x2xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @scatter_elements_c1(%x: tensor<4x6xf32>, %i: tensor<4x2xi64>, %u: tensor<4x2xf32>) {
  // expected-error @+2 {{expected axis to name a dim of at least one element}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_elements add, %x, %i, %u {axis = 5 : i64} : (tensor<4x6xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_elements_c2(%x: tensor<4x6xf32>, %i: tensor<4x2xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+2 {{expected indices and updates of one shape}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_elements add, %x, %i, %u {axis = 1 : i64} : (tensor<4x6xf32>, tensor<4x2xi64>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @gather_nd_c1(%x: tensor<4x6xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+2 {{holds at most 2 coordinates}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<4x6xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_nd_c2(%x: tensor<4x6xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+2 {{expected batch dim 0 to agree}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<4x6xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @scatter_nd_c1(%x: tensor<4x6xf32>, %i: tensor<2x3xi64>, %u: tensor<2xf32>) {
  // expected-error @+2 {{holds at most 2 coordinates}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_nd set, %x, %i, %u {batch_dims = 0 : i64} : (tensor<4x6xf32>, tensor<2x3xi64>, tensor<2xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_nd_c2(%x: tensor<4x6xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) {
  // expected-error @+2 {{expected batch dim 0 to agree}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_nd set, %x, %i, %u {batch_dims = 1 : i64} : (tensor<4x6xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_nd_c3(%x: tensor<4x6xf32>, %i: tensor<2x2xi64>, %u: tensor<3xf32>) {
  // expected-error @+2 {{expected updates of type 'tensor<2xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_nd set, %x, %i, %u {batch_dims = 0 : i64} : (tensor<4x6xf32>, tensor<2x2xi64>, tensor<3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @scatter_rows_c1(%u: tensor<4x3xf32>, %i: tensor<4x2xi16>) {
  // expected-error @+2 {{expected updates and indices of one shape, of at least one dim, and a positive size, but got 'tensor<4x3xf32>', 'tensor<4x2xi16>' and 6}}
  // expected-error @below {{failed to infer returned types}}
  %0 = graph.scatter_rows %u, %i {size = 6 : i64} : (tensor<4x3xf32>, tensor<4x2xi16>) -> tensor<4x6xf32>
  return
}
