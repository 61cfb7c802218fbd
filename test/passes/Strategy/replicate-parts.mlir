// Unequal replicas take several parts of the batch: 8 examples are 4 parts of 2,
// which 3 equal replicas could not have.
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-replicate{axes=data:3 parts=4})" -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: func.func @f(%{{.+}}: tensor<8x2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>
func.func @f(%x: tensor<8x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) { return }

// -----
// expected-error @+1 {{argument 0: a batch of 6 cannot be split over 3 replicas with weights of 4 together; compile for a multiple of these}}
func.func @f(%x: tensor<6x2xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) { return }
