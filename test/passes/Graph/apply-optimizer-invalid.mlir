// RUN: not dist-opt %s --graph-apply-optimizer=optimizer=adma 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --optimizer: unknown name 'adma'; did you mean 'adam'?
// RUN: not dist-opt %s --graph-apply-optimizer=optimizer=adam:beta3=1 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: --optimizer: 'adam' has no key 'beta3'; did you mean 'beta1'?
// RUN: not dist-opt %s --graph-apply-optimizer=optimizer=adam:lr=fast 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: --optimizer: expected a number after 'lr=', but got 'fast'
// RUN: not dist-opt %s --graph-apply-optimizer=optimizer=adam:lr=nan 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: error: --optimizer: expected a number after 'lr=', but got 'nan'
// RUN: not dist-opt %s --graph-apply-optimizer=optimizer=adam:beta1=1.5 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: --optimizer: expected 'beta1' of 'adam' to be a number, at least 0, below 1, but got '1.5'
// RUN: not dist-opt %s --graph-apply-optimizer=optimizer=lamb:beta2=1 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: --optimizer: expected 'beta2' of 'lamb' to be a number, at least 0, below 1, but got '1'
// RUN: not dist-opt %s --graph-apply-optimizer=optimizer=sgd:momentum=1.5 2>&1 | FileCheck %s --check-prefix=MOST
// MOST: error: --optimizer: expected 'momentum' of 'sgd' to be a number, at least 0, at most 1, but got '1.5'
// RUN: not dist-opt %s --graph-apply-optimizer='optimizer="adam:lr=1,lr=2"' 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --optimizer: key 'lr' is given twice
// RUN: not dist-opt %s --graph-apply-optimizer='lr-schedule=cosine' 2>&1 | FileCheck %s --check-prefix=NEEDS
// NEEDS: error: --lr-schedule: 'cosine' needs a value for 'steps', as in 'cosine:steps=100'
// RUN: not dist-opt %s --graph-apply-optimizer='lr-schedule=cosin' 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: error: --lr-schedule: unknown name 'cosin'; did you mean 'cosine'?
// RUN: not dist-opt %s --graph-apply-optimizer='clip-norm=1 clip-value=1' 2>&1 | FileCheck %s --check-prefix=CLIP
// CLIP: error: --clip-norm and --clip-value: give one of them
// RUN: not dist-opt %s --graph-apply-optimizer='clip-norm=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: --clip-norm: expected a positive number
// RUN: not dist-opt %s --graph-apply-optimizer='optimizer=adamw:weight-decay=0.1 weight-decay=0.2' 2>&1 | FileCheck %s --check-prefix=DECAY
// DECAY: error: --weight-decay: the optimizer's key 'weight-decay' is given too
// RUN: not dist-opt %s --graph-apply-optimizer='accumulate=0' 2>&1 | FileCheck %s --check-prefix=ACC
// ACC: error: --accumulate: expected at least 1, but got 0
// RUN: not dist-opt %s --graph-apply-optimizer='on-nonfinite=panic' 2>&1 | FileCheck %s --check-prefix=FINITE
// FINITE: error: --on-nonfinite: expected continue, skip or stop, but got 'panic'
// RUN: not dist-opt %s --graph-apply-optimizer 2>&1 | FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS: error: 'train_step' has no gradients; run graph-differentiate first
func.func @train_step(%loss: tensor<f32>) -> (tensor<f32> {graph.role = "loss"}) {
  return %loss : tensor<f32>
}
