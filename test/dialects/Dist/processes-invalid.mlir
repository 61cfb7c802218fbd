// RUN: dist-opt %s -split-input-file -verify-diagnostics
// RUN: not dist-opt --dist-create-mesh="axes=host:2 processes=host" %S/processes.mlir 2>&1 | FileCheck %s
// CHECK: error: expected processes as NAME:NUMBER with a number >= 1, but got 'host'

// expected-error @+1 {{has processes along 'host', which is none of its axes}}
dist.mesh @m ["data"=4] {processes = {host = 2 : i64}}

// -----
// expected-error @+1 {{expected the processes along 'data' to be a number > 1 that divides 4, but got 3 : i64}}
dist.mesh @m ["data"=4] {processes = {data = 3 : i64}}

// -----
// expected-error @+1 {{expected the processes along 'data' to be a number > 1 that divides 4, but got 1 : i64}}
dist.mesh @m ["data"=4] {processes = {data = 1 : i64}}

// -----
// A part belongs to its axis.
// expected-error @+1 {{has processes along 'a:(1)2', which is none of its axes}}
dist.mesh @m ["a:(1)2"=2, "a:(2)2"=2] {processes = {"a:(1)2" = 2 : i64}}

// -----
// expected-error @+1 {{expected no host of a mesh in several processes}}
dist.mesh @m ["data"=4] with host {processes = {data = 2 : i64}}

// -----
// expected-error @+1 {{expected 'processes' to be a dictionary of axes, but got 2 : i64}}
dist.mesh @m ["data"=4] {processes = 2 : i64}
