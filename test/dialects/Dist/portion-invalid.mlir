// RUN: dist-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected an axis, a position and weights as dist.portion}}
func.func @text() attributes {dist.portion = "data"} { return }

// -----
// expected-error @+1 {{expected an axis, a position and weights as dist.portion}}
func.func @no_weights() attributes {dist.portion = {axis = "data", position = 0 : i64}} { return }

// -----
// expected-error @+1 {{expected weights >= 1 in dist.portion}}
func.func @weightless() attributes {dist.portion = {axis = "data", position = 0 : i64, weights = array<i64: 3, 0>}} { return }

// -----
// expected-error @+1 {{expected the position in dist.portion to be one of the 2 that have weights, but got 2}}
func.func @no_place() attributes {dist.portion = {axis = "data", position = 2 : i64, weights = array<i64: 3, 1>}} { return }
