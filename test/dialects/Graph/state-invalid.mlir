// RUN: dist-opt %s -split-input-file -verify-diagnostics

// variable_c1
// expected-error @below {{expected the initial value to have the variable's type}}
graph.variable @w : tensor<2xf32> = dense<0.0> : tensor<3xf32>

// -----

// variable_c2
// expected-error @below {{expected a trainable variable to have a float type}}
graph.variable @w : tensor<2xi64> trainable = dense<0> : tensor<2xi64>

// -----

func.func @read_c1() -> tensor<2xf32> {
  // expected-error @below {{expected @w to be a graph.variable, but found none of that name}}
  %0 = graph.read @w : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

graph.variable @w : tensor<2xf32> = dense<0.0> : tensor<2xf32>
func.func @assign_c1(%x: tensor<3xf32>) {
  // expected-error @below {{expected the type 'tensor<2xf32>' of @w, but got 'tensor<3xf32>'}}
  graph.assign @w, %x : tensor<3xf32>
  return
}

// -----

// TensorFlow's table: a mean of integers is none.
// expected-error @below {{expected a variable with MEAN aggregation to have a float type, but got 'tensor<2xi32>'; aggregate integers by SUM or ONLY_FIRST_REPLICA}}
graph.variable @v : tensor<2xi32> {synchronization = 1 : i32, aggregation = 2 : i32} = dense<0> : tensor<2xi32>

// -----

// A misspelt role would silently be an input.
// expected-error @below {{expected graph.role to be a role of entries' arguments and results (input, label, mask, count, variable, output, loss, learning_rate, prepared, finite, metric or gradient), but got "lable"}}
func.func @role(%y: tensor<2xi64> {graph.role = "lable"}) {
  return
}

// -----

// expected-error @below {{expected graph.role to be a role of entries' arguments and results (input, label, mask, count, variable, output, loss, learning_rate, prepared, finite, metric or gradient), but got 3 : i64}}
func.func @role_of_result(%x: tensor<2xf32>) -> (tensor<2xf32> {graph.role = 3}) {
  return %x : tensor<2xf32>
}
