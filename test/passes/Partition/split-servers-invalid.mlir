// RUN: dist-opt %s --split-input-file -dist-split-servers=server=1 -verify-diagnostics

// expected-error @+1 {{dist-split-servers: the module has no function 'apply'; run dist-place-server-variables first}}
module {
}

// -----

module {
  graph.variable @a : tensor<4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 4}]} = dense<0.0> : tensor<4xf32>
  // expected-error @+1 {{has no variable that server 1 holds a part of}}
  func.func @apply(%a: tensor<4xf32> {graph.name = "a", graph.role = "gradient"}) {
    return
  }
}

// -----

// A sum over the rows is not that of a part.
module {
  // expected-error @+1 {{'a' cannot be cut: its update is not row by row}}
  graph.variable @a : tensor<4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 2}, {server = 1, begin = 2, size = 2}]} = dense<0.0> : tensor<4xf32>
  func.func @apply(%g: tensor<4xf32> {graph.name = "a", graph.role = "gradient"},
                   %a: tensor<4xf32> {graph.role = "variable", graph.variable = @a})
      -> (tensor<4xf32> {graph.role = "variable", graph.variable = @a}) {
    %0 = graph.reduce sum, %g {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %1 = graph.broadcast %0 {dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
    %2 = graph.sub %a, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----

// Rows that change their places are not those of a part.
module {
  // expected-error @+1 {{'a' cannot be cut: its update is not row by row}}
  graph.variable @a : tensor<4x4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 2}, {server = 1, begin = 2, size = 2}]} = dense<0.0> : tensor<4x4xf32>
  func.func @apply(%g: tensor<4x4xf32> {graph.name = "a", graph.role = "gradient"},
                   %a: tensor<4x4xf32> {graph.role = "variable", graph.variable = @a})
      -> (tensor<4x4xf32> {graph.role = "variable", graph.variable = @a}) {
    %0 = graph.transpose %g {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = graph.sub %a, %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}

// -----

// expected-error @+1 {{expected dist.server_parts to be parts {server, begin, size}, each behind the one before}}
graph.variable @a : tensor<4xf32> {dist.server_parts = [{server = 0, begin = 1, size = 2}]} = dense<0.0> : tensor<4xf32>

// -----

// expected-error @+1 {{expected dist.server_parts to be parts {server, begin, size}, each behind the one before}}
graph.variable @a : tensor<4xf32> {dist.server_parts = [{server = -1, begin = 0, size = 2}]} = dense<0.0> : tensor<4xf32>

// -----

// expected-error @+1 {{expected dist.server_parts to be parts {server, begin, size}, each behind the one before}}
graph.variable @a : tensor<4xf32> {dist.server_parts = []} = dense<0.0> : tensor<4xf32>

// -----

module {
  // expected-error @+1 {{expected servers to hold its 4 rows, but got 6; run dist-place-server-variables first}}
  graph.variable @a : tensor<4xf32> trainable {dist.server_parts = [{server = 0, begin = 0, size = 2}, {server = 1, begin = 2, size = 4}]} = dense<0.0> : tensor<4xf32>
  func.func @apply(%g: tensor<4xf32> {graph.name = "a", graph.role = "gradient"}) {
    return
  }
}

// -----

module {
  // expected-error @+1 {{expected servers to hold its 4 rows, but got 0; run dist-place-server-variables first}}
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  func.func @apply(%g: tensor<4xf32> {graph.name = "a", graph.role = "gradient"}) {
    return
  }
}

// -----

module {
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  // expected-error @+1 {{argument 1 is a second gradient of 'a'}}
  func.func @apply(%g: tensor<4xf32> {graph.name = "a", graph.role = "gradient"},
                   %h: tensor<4xf32> {graph.name = "a", graph.role = "gradient"}) {
    return
  }
}

// -----

module {
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  // expected-error @+1 {{argument 1 has not the type of its variable}}
  func.func @apply(%g: tensor<4xf32> {graph.name = "a", graph.role = "gradient"},
                   %a: tensor<f32> {graph.role = "variable", graph.variable = @a}) {
    return
  }
}

// -----

module {
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  // expected-error @+1 {{result 0 has not the type of its variable}}
  func.func @apply(%g: tensor<4xf32> {graph.name = "a", graph.role = "gradient"},
                   %s: tensor<f32> {graph.name = "s", graph.role = "input"})
      -> (tensor<f32> {graph.role = "variable", graph.variable = @a}) {
    return %s : tensor<f32>
  }
}
