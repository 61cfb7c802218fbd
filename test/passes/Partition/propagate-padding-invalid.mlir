// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding)" -split-input-file -verify-diagnostics

// Two parts of four would hold nothing.
dist.mesh @mesh ["data"=4]
// expected-error @+1 {{argument 0: dim 0 of 'tensor<2xf32>' cannot be split into 4 equal parts over 'data', and half of them or more would be padding; the nearest size that works is 4}}
func.func @argument(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) { return }

// -----
dist.mesh @mesh ["data"=16, "model"=16]
// expected-error @+1 {{argument 0: dim 0 of 'tensor<17xf32>' cannot be split into 256 equal parts over 'data,model'}}
func.func @two_axes(%x: tensor<17xf32> {dist.sharding = #dist.sharding<@mesh, [{"data", "model"}]>}) { return }
