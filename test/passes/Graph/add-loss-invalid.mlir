// RUN: not dist-opt %s --graph-add-loss='loss=spare-categorical-crossentropy' 2>&1 | FileCheck %s --check-prefix=LOSS
// LOSS: error: --loss: unknown name 'spare-categorical-crossentropy'; did you mean 'sparse-categorical-crossentropy'?
// RUN: not dist-opt %s --graph-add-loss='loss=BCEWithLogitsLoss' 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: error: --loss: unknown name 'BCEWithLogitsLoss'; did you mean 'binary-crossentropy'?
// RUN: not dist-opt %s --graph-add-loss='loss=mse metrics=acc' 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: --metrics: unknown name 'acc'; did you mean 'accuracy'?
// RUN: not dist-opt %s --graph-add-loss='loss=xxxxxxxxxxx' 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --loss: unknown name 'xxxxxxxxxxx'; known are sparse-categorical-crossentropy, categorical-crossentropy
// RUN: not dist-opt %s --graph-add-loss='loss=mse metrics=acuracy' 2>&1 | FileCheck %s --check-prefix=METRIC
// METRIC: error: --metrics: unknown name 'acuracy'; did you mean 'accuracy'?
// RUN: not dist-opt %s --graph-add-loss='loss=mse metrics=top-k:n=5' 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: --metrics: 'top-k' has no key 'n'; known are k
// RUN: not dist-opt %s --graph-add-loss='loss=mse metrics=top-k:k=0' 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: --metrics: expected 'k' of 'top-k' to be an integer, at least 1, at most 1e+09, but got '0'
// RUN: not dist-opt %s --graph-add-loss='loss=mse metrics=mae,mae' 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --metrics: 'mae' is given twice
// RUN: not dist-opt %s --graph-add-loss='loss=mse from-logits=maybe' 2>&1 | FileCheck %s --check-prefix=LOGITS
// LOGITS: error: --from-logits: expected auto, true or false, but got 'maybe'
// RUN: not dist-opt %s --graph-add-loss='loss=mse loss-output=z' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: --loss-output: the model has no output 'z'; it has 'y'
// RUN: not dist-opt %s --graph-add-loss='loss=sparse-categorical-crossentropy metrics=mse' 2>&1 | FileCheck %s --check-prefix=DENSE
// DENSE: error: --metrics: 'mse' needs labels like the output
// RUN: not dist-opt %s --graph-add-loss='loss=sparse-categorical-crossentropy metrics=auc' 2>&1 | FileCheck %s --check-prefix=CURVE
// CURVE: error: --metrics: 'auc' needs labels like the output
// RUN: not dist-opt %s --graph-add-loss='loss=mse metrics=auc:thresholds=1' 2>&1 | FileCheck %s --check-prefix=THRESHOLDS
// THRESHOLDS: error: --metrics: expected 'thresholds' of 'auc' to be an integer, at least 2, at most 100000, but got '1'
// RUN: not dist-opt %s --graph-add-loss='loss=none metrics=mse' 2>&1 | FileCheck %s --check-prefix=LABELS
// LABELS: error: --metrics: 'mse' needs labels, which --loss none has not
func.func @predict(%x: tensor<4x6xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<4x6xf32> {graph.role = "output", graph.name = "y"}) {
  return %x : tensor<4x6xf32>
}
