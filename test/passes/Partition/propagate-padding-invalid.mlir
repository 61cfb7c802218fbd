// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding)" -split-input-file -verify-diagnostics

// Two parts of four would hold nothing.
dist.mesh @mesh ["data"=4]
// expected-error @+1 {{argument 0: dim 0 of 'tensor<2xf32>' has 2 elements, which 'data' cannot split into 4 equal parts, and half of them or more would be padding; the least that works is 4}}
func.func @argument(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }

// -----
dist.mesh @mesh ["data"=16, "model"=16]
// expected-error @+1 {{argument 0: dim 0 of 'tensor<17xf32>' has 17 elements, which 'data,model' cannot split into 256 equal parts, and half of them or more would be padding; the least that works is 256}}
func.func @two_axes(%x: tensor<17xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}]>}) { return }
