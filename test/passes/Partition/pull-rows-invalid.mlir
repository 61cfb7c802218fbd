// RUN: dist-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expected dist.pulled_rows to be {inputs, places, rows}: names of inputs, and two variables}}
graph.variable @w : tensor<4xf32> trainable {dist.pulled_rows = 1 : i64} = dense<1.0> : tensor<4xf32>

// -----

// expected-error@+1 {{expected dist.pulled_rows to be}}
graph.variable @w : tensor<4xf32> trainable {dist.pulled_rows = {inputs = [], places = @p, rows = @r}} = dense<1.0> : tensor<4xf32>

// -----

// expected-error@+1 {{expected dist.pulled_rows to be}}
graph.variable @w : tensor<4xf32> trainable {dist.pulled_rows = {inputs = ["x", 1], places = @p, rows = @r}} = dense<1.0> : tensor<4xf32>

// -----

// expected-error@+1 {{expected dist.pulled_rows to be}}
graph.variable @w : tensor<4xf32> trainable {dist.pulled_rows = {inputs = ["x"], places = "p", rows = @r}} = dense<1.0> : tensor<4xf32>
