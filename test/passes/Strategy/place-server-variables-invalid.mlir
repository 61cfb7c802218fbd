// RUN: dist-opt %s --split-input-file -dist-place-server-variables="servers=3" -verify-diagnostics
// RUN: not dist-opt %s -dist-place-server-variables="servers=0" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: dist-place-server-variables: expected at least 1 server, but got 0
// DEFINE: %{cut} = not dist-opt %s -dist-place-server-variables=
// RUN: %{cut}partitioner=fixed 2>&1 | FileCheck %s --check-prefix=WORD -DGIVEN=fixed
// RUN: %{cut}partitioner=fixed=0 2>&1 | FileCheck %s --check-prefix=WORD -DGIVEN=fixed=0
// RUN: %{cut}partitioner=fixed=2:max=3 2>&1 | FileCheck %s --check-prefix=WORD -DGIVEN=fixed=2:max=3
// RUN: %{cut}partitioner=max-size=2:most=3 2>&1 | FileCheck %s --check-prefix=WORD -DGIVEN=max-size=2:most=3
// RUN: %{cut}partitioner=min-size=2: 2>&1 | FileCheck %s --check-prefix=WORD -DGIVEN=min-size=2:
// RUN: %{cut}partitioner=halves=2 2>&1 | FileCheck %s --check-prefix=WORD -DGIVEN=halves=2
// WORD: error: dist-place-server-variables: --partitioner: expected fixed=K, min-size=BYTES[:max=N] or max-size=BYTES[:max=N], but got '[[GIVEN]]'
// RUN: echo 'graph.variable @a : tensor<5000xf32> = dense<0.> : tensor<5000xf32> func.func @apply(%a: tensor<5000xf32> {graph.name = "a", graph.role = "gradient"}) -> (tensor<5000xf32> {graph.role = "variable", graph.variable = @a}) { return %a : tensor<5000xf32> }' > %t.mlir
// RUN: not dist-opt %t.mlir -dist-place-server-variables=partitioner=max-size=4 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: dist-place-server-variables: --partitioner: 'a' would be 5000 parts, and at most 4096 are possible; give fewer or larger ones

// expected-error @+1 {{dist-place-server-variables: the module has no function 'apply'; run graph-apply-optimizer{separate independent-updates} first}}
module {
}

// -----

// expected-error @+1 {{dist-place-server-variables: 3 servers for 2 variables: some would have nothing; give fewer servers, or a --partitioner that cuts variables}}
module {
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  graph.variable @b : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  func.func @apply(%a: tensor<4xf32> {graph.name = "a", graph.role = "gradient"},
                   %b: tensor<4xf32> {graph.name = "b", graph.role = "gradient"}) {
    return
  }
}

// -----

// One variable's update reads another's gradient.
module {
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  graph.variable @b : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  func.func @apply(%a: tensor<4xf32> {graph.name = "a", graph.role = "gradient"},
                   %b: tensor<4xf32> {graph.name = "b", graph.role = "gradient"})
      -> (tensor<4xf32> {graph.role = "variable", graph.variable = @a}) {
    // expected-error @+1 {{computes from 'a' and 'b', which two servers may have; make @apply by graph-apply-optimizer{separate independent-updates}}}
    %0 = graph.add %a, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  // expected-error @+1 {{result 0 is computed from 'a', but is none of its own}}
  func.func @apply(%a: tensor<4xf32> {graph.name = "a", graph.role = "gradient"})
      -> (tensor<4xf32> {graph.name = "norm", graph.role = "output"}) {
    return %a : tensor<4xf32>
  }
}

// -----

module {
  // expected-error @+1 {{argument 0 is a gradient of no variable}}
  func.func @apply(%a: tensor<4xf32> {graph.name = "a", graph.role = "gradient"}) {
    return
  }
}

// -----

module {
  graph.variable @a : tensor<4xf32> trainable = dense<0.0> : tensor<4xf32>
  // expected-error @+1 {{'mean' has a new value after each step of a worker, which @apply does not take; make it by graph-apply-optimizer{separate independent-updates}}}
  graph.variable @mean : tensor<4xf32> {group = "buffer"} = dense<0.0> : tensor<4xf32>
  func.func @gradients(%m: tensor<4xf32> {graph.role = "variable", graph.variable = @mean})
      -> (tensor<4xf32> {graph.role = "variable", graph.variable = @mean}) {
    return %m : tensor<4xf32>
  }
  func.func @apply(%a: tensor<4xf32> {graph.name = "a", graph.role = "gradient"}) {
    return
  }
}

// -----

module {
  // expected-error @+1 {{'mean' has a value of its own on each of a worker's devices, and servers hold one; add --sync-batch-norm, or give a worker one device}}
  graph.variable @mean : tensor<2x4xf32> {group = "buffer", synchronization = 1 : i32, aggregation = 2 : i32} = dense<0.0> : tensor<2x4xf32>
  func.func @apply(%a: tensor<2x4xf32> {graph.name = "mean", graph.role = "gradient"},
                   %m: tensor<2x4xf32> {graph.role = "variable", graph.variable = @mean})
      -> (tensor<2x4xf32> {graph.role = "variable", graph.variable = @mean}) {
    return %a : tensor<2x4xf32>
  }
}
