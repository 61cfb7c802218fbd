// RUN: not dist-opt %s --dist-annotate-pipeline="axes=data:2 data-axes=data strategies=mirored" 2>&1 | FileCheck %s
// CHECK: error: dist-annotate-pipeline: there is no strategy 'mirored'; see --print-strategies
module {
  func.func @predict(%x: tensor<4x8xf32> {graph.name = "x", graph.role = "input", graph.batch_dim = 0 : i64}) -> tensor<4x8xf32> {
    return %x : tensor<4x8xf32>
  }
}
