// RUN: not dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=zip})" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: --compress: expected one of f16, bf16, int8, topk:ratio=X, powersgd:rank=X, but got 'zip'
// RUN: not dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=bf16:rank=1})" 2>&1 | FileCheck %s --check-prefix=KEYS
// KEYS: --compress: expected 'bf16' without keys, but got 'bf16:rank=1'
// RUN: not dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=topk:ratio=2})" 2>&1 | FileCheck %s --check-prefix=RATIO
// RATIO: --compress: expected topk:ratio=X, X from 0 to 1, but got 'topk:ratio=2'
// RUN: not dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=powersgd:rank=1.5})" 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: --compress: expected powersgd:rank=X, X an integer from 1 to 16, but got 'powersgd:rank=1.5'
// RUN: not dist-opt %s --pass-pipeline="builtin.module(dist-compress-collectives{method=int8})" 2>&1 | FileCheck %s --check-prefix=FEWER
// FEWER: --compress: 'int8' would send no fewer bytes of any gradient over this many ranks; use bf16 or f16
dist.mesh @mesh ["data"=8]
graph.variable @w : tensor<64xf32> trainable = dense<1.0> : tensor<64xf32>
func.func @train_step(%g: tensor<64xf32>) -> (tensor<64xf32> {graph.variable = @w}) {
  %0 = dist.all_reduce %g over @mesh ["data"] {reason = "sum", origin = "w"} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
