// RUN: dist-opt %s --graph-select-entries | FileCheck %s --check-prefix=ALL
// RUN: dist-opt %s --graph-select-entries=entries=train | FileCheck %s --check-prefix=TRAIN
// RUN: dist-opt %s --graph-select-entries=entries=predict,gradients | FileCheck %s --check-prefix=HALF
// RUN: dist-opt %s --graph-select-entries=entries=apply | FileCheck %s --check-prefix=APPLY
// RUN: not dist-opt %s --graph-select-entries=entries=fit 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dist-opt %s --graph-select-entries=entries=evaluate 2>&1 | FileCheck %s --check-prefix=NONE
// NAME: error: --entries: expected train, evaluate, predict, gradients or apply, but got 'fit'
// NONE: error: --entries: there is no 'evaluate' to compile; give --loss

// ALL: @"optimizer/w/momentum"
// ALL: func @predict
// ALL: func @train_step()
// ALL: func @train_step_partial()
// ALL: func @gradients
// ALL: func @apply

// TRAIN-NOT: optimizer
// TRAIN: graph.variable @w
// TRAIN-NOT: func @predict
// TRAIN: func @train_step()
// TRAIN: func @train_step_partial()
// TRAIN-NOT: func

// State of the model stays, whoever reads it; the optimizer's goes with its
// readers.
// HALF: graph.variable @w
// HALF-NOT: optimizer
// HALF: func @predict
// HALF-NOT: func @train
// HALF: func @gradients
// HALF-NOT: func @apply

// APPLY: @"optimizer/w/momentum"
// APPLY-NOT: func @predict
// APPLY: func @apply
graph.variable @w : tensor<4xf32> trainable = dense<1.0> : tensor<4xf32>
graph.variable @"optimizer/w/momentum" : tensor<4xf32> {group = "slot", slot_of = @w} = dense<0.0> : tensor<4xf32>
func.func @predict() {
  return
}
func.func @train_step() {
  return
}
func.func @train_step_partial() {
  return
}
func.func @gradients() {
  return
}
func.func @apply(%m: tensor<4xf32> {graph.role = "variable", graph.variable = @"optimizer/w/momentum"}) {
  return
}
