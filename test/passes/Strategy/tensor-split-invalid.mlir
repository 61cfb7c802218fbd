// RUN: not dist-opt %s "--dist-tensor-split=rules=w=1:model" 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not dist-opt %s --dist-create-mesh=axes=model:3 "--dist-tensor-split=rules=w=1" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not dist-opt %s --dist-create-mesh=axes=model:3 "--dist-tensor-split=rules=w=1:rows" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not dist-opt %s --dist-create-mesh=axes=model:3 "--dist-tensor-split=rules=v=1:model" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dist-opt %s --dist-create-mesh=axes=model:3 "--dist-tensor-split=rules=w(=1:model" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not dist-opt %s --dist-create-mesh=axes=model:3 "--dist-tensor-split=rules=w=2:model" 2>&1 | FileCheck %s --check-prefix=TOOFEW
// RUN: not dist-opt %s --dist-create-mesh=axes=model:3 "--dist-tensor-split=rules=w=1:model strict-divisibility=true" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not dist-opt %s --dist-create-mesh=axes=model:16 "--dist-tensor-split=rules=w=1:model" 2>&1 | FileCheck %s --check-prefix=WASTE
// RUN: not dist-opt %s --dist-create-mesh=axes=model:2 "--dist-tensor-split=rules=w=1:model,w=0:model" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dist-opt %s --dist-create-mesh=axes=model:16 --dist-tensor-split 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %s --dist-create-mesh=axes=model:2 --dist-tensor-split=preset=mlp 2>&1 | FileCheck %s --check-prefix=PAIRS
// RUN: not dist-opt %s --dist-create-mesh=axes=rows:2,cols:2 "--dist-tensor-split=axis=rows rules=w=1:model:(1)2" 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not dist-opt %s --dist-create-mesh=axes=model:2 "--dist-tensor-split=rules=table=1:model" 2>&1 | FileCheck %s --check-prefix=PARTOF
// RUN: not dist-opt %s --dist-create-mesh=axes=model:4 "--dist-tensor-split=rules=w=1:model@" 2>&1 | FileCheck %s --check-prefix=PRIORITY
// RUN: not dist-opt %s --dist-create-mesh=axes=a:2,b:2 "--dist-tensor-split=axis=a rules=w=1:a,w=1:b@1" 2>&1 | FileCheck %s --check-prefix=UNLIKE
// RUN: not dist-opt %s --dist-create-mesh=axes=model:4 "--dist-tensor-split=rules=w=1:model:(1)3" 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not dist-opt %s --dist-create-mesh=axes=model:4 "--dist-tensor-split=rules=w=1:model:(1)2,w=0:model" 2>&1 | FileCheck %s --check-prefix=OVERLAP
// RUN: not dist-opt %s --dist-create-mesh=axes=model:4 "--dist-tensor-split=rules=w=1:rows:(1)2" 2>&1 | FileCheck %s --check-prefix=PARTAXIS
// PRIORITY: --split w=1:model@: expected a number >= 0 behind '@', but got ''
// UNLIKE: --split w=1:b@1: dim 1 of 'w' has priority 0 from a rule before; give both the same
// PART: --split: axis 'model' of 4 ranks has no part that ends at 3; give (PRE)SIZE so that PRE x SIZE divides 4
// OVERLAP: --split w=0:model: 'w' is split over 'model' already
// PARTAXIS: --split w=1:rows:(1)2: the mesh has no axis 'rows'; it has 'model'
// WHOLE: --split w=1:model:(1)2: the mesh has no axis 'model'; it has 'rows', 'cols'
// PARTOF: --split table=1:model: matches no variable: the regular expression has to match the whole name; the nearest: 'the.table.w', 'w', 'other'; 'dist-run info' lists all of them

// MESH: dist-tensor-split: expected a module with a mesh
// FORM: --split w=1: expected REGEX=DIM:AXIS
// AXIS: --split w=1:rows: the mesh has no axis 'rows'
// NAME: --split v=1:model: matches no variable: the regular expression has to match the whole name; the nearest: 'w'
// REGEX: --split w(=1:model: 'w(' is no regular expression
// TOOFEW: --split w=2:model: 'w' of 'tensor<4x8xf32>' has no dim 2
// SIZE: --split w=1:model: dim 1 of 'w' has 8 elements, which 'model' cannot split into 3 equal parts; sizes that work are 6 and 9
// WASTE: --split w=1:model: dim 1 of 'w' has 8 elements, which 'model' cannot split into 16 equal parts, and half of them or more would be padding; the least that works is 16
// TWICE: --split w=0:model: 'w' is split over 'model' already
// NONE: --split-preset auto: nothing in the model fits: no variable can be split over 'model' (16 ranks); give --split
// PAIRS: --split-preset mlp: nothing in the model fits: no variable can be split over 'model' (2 ranks) so that what follows computes on parts
graph.variable @w : tensor<4x8xf32> trainable = dense<0.5> : tensor<4x8xf32>
graph.variable @other : tensor<4xf32> trainable = dense<0.5> : tensor<4xf32>
graph.variable @the.table.w : tensor<2x2xf32> trainable = dense<0.5> : tensor<2x2xf32>

func.func @predict(
    %x: tensor<2x4xf32> {graph.role = "input", graph.batch_dim = 0 : i64},
    %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w})
    -> (tensor<2x8xf32> {graph.role = "output", graph.batch_dim = 0 : i64}) {
  %0 = graph.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
