// RUN: dist-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected an axis, a place and weights as dist.share}}
func.func @text() attributes {dist.share = "data"} { return }

// -----
// expected-error @+1 {{expected an axis, a place and weights as dist.share}}
func.func @no_weights() attributes {dist.share = {axis = "data", place = 0 : i64}} { return }

// -----
// expected-error @+1 {{expected weights >= 1 in dist.share}}
func.func @weightless() attributes {dist.share = {axis = "data", place = 0 : i64, weights = array<i64: 3, 0>}} { return }

// -----
// expected-error @+1 {{expected the place in dist.share to be one of the 2 that have weights, but got 2}}
func.func @no_place() attributes {dist.share = {axis = "data", place = 2 : i64, weights = array<i64: 3, 1>}} { return }
