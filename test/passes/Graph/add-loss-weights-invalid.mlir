// RUN: not dist-opt %s --graph-add-loss='loss=mse class-weights=0=x' 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: --class-weights: expected CLASS=WEIGHT, numbers of at least 0, but got '0=x'
// RUN: not dist-opt %s --graph-add-loss='loss=mse class-weights=0=1,0=2' 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --class-weights: class 0 is given twice
// RUN: not dist-opt %s --graph-add-loss='loss=sparse-categorical-crossentropy class-weights=3=1' 2>&1 | FileCheck %s --check-prefix=CLASS
// CLASS: error: --class-weights: class 3 is given, but the output has 3 classes
// RUN: not dist-opt %s --graph-add-loss='loss=t=sparse-categorical-crossentropy class-weights=1=2' 2>&1 | FileCheck %s --check-prefix=TOKENS
// TOKENS: error: --class-weights: expected one label an example, but got {{.*}}tensor<4x2xi32>
// RUN: not dist-opt %s --graph-add-loss='loss=mse class-weights=1=2 sample-weights=w' 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: --class-weights and --sample-weights: give one of them
// RUN: not dist-opt %s --graph-add-loss='loss=y=mse,t=mse class-weights=1=2' 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: error: --class-weights: expected one loss with labels
// RUN: not dist-opt %s --graph-add-loss='loss=mse sample-weights=x' 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --sample-weights: 'x' is the name of the model's input; give the weights another one
// RUN: not dist-opt %s --graph-add-loss='loss=none loss-output=s sample-weights=w' 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: error: --sample-weights: the loss is one number for a whole batch

// RUN: not dist-opt %s --graph-add-loss='loss=mse,mae' 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: error: --loss: 'mse' is one of several; write OUTPUT=mse
// RUN: not dist-opt %s --graph-add-loss='loss=y=mse,y=mae' 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: --loss: output 'y' has two losses; give one
// RUN: not dist-opt %s --graph-add-loss='loss=y=mse,u=mae' 2>&1 | FileCheck %s --check-prefix=NOOUTPUT
// NOOUTPUT: error: --loss: the model has no output 'u'; it has 'y', 't', 's'
// RUN: not dist-opt %s --graph-add-loss='loss=y=mse,t=mae metrics=mae' 2>&1 | FileCheck %s --check-prefix=METRIC
// METRIC: error: --metrics: 'mae' names no output that --loss names; write OUTPUT=METRIC
// RUN: not dist-opt %s --graph-add-loss='loss=y=mse,t=mae loss-weights=s=2' 2>&1 | FileCheck %s --check-prefix=WEIGHT
// WEIGHT: error: --loss-weights: 's=2' names no output that --loss names
// RUN: not dist-opt %s --graph-add-loss='loss=y=mse,t=mae loss-weights=t=much' 2>&1 | FileCheck %s --check-prefix=MUCH
// MUCH: error: --loss-weights: expected a number for 't', but got 'much'
// RUN: not dist-opt %s --graph-add-loss='loss=y=mse loss-output=y' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: --loss-output: --loss names the output 'y' already; leave it out
func.func @predict(%x: tensor<4x3xf32> {graph.role = "input", graph.name = "x", graph.batch_dim = 0 : i64}, %t: tensor<4x2x3xf32> {graph.role = "input", graph.name = "tokens", graph.batch_dim = 0 : i64}, %s: tensor<f32> {graph.role = "input", graph.name = "scalar"})
    -> (tensor<4x3xf32> {graph.role = "output", graph.name = "y"}, tensor<4x2x3xf32> {graph.role = "output", graph.name = "t"}, tensor<f32> {graph.role = "output", graph.name = "s"}) {
  return %x, %t, %s : tensor<4x3xf32>, tensor<4x2x3xf32>, tensor<f32>
}
