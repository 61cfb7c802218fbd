// RUN: dist-opt %s --split-input-file --dist-unroll-microbatches -verify-diagnostics

// A stage's function whose schedule is another pipeline's.
dist.mesh @mesh ["stage"=2]
dist.mesh @microbatches ["microbatch"=2]
// expected-error @+1 {{expected a schedule of 2 microbatches, as dist-split-stages notes it}}
func.func @other() attributes {dist.entry = "f", dist.stage = 0 : i64, pipeline = {schedule = "1f1b", stages = 2 : i64, chunks = 2 : i64, microbatches = 4 : i64}} {
  return
}

// -----

// Two stages that each want the other's value first.
dist.mesh @mesh ["stage"=2]
// expected-error @+1 {{has 4 steps that wait for each other}}
func.func @f_stage0() attributes {dist.entry = "f", dist.stage = 0 : i64, pipeline = {schedule = "1f1b", stages = 2 : i64, chunks = 2 : i64, microbatches = 1 : i64}} {
  %0 = dist.recv over @mesh ["stage"] from 1 tag 1 {reason = "a test", origin = "x"} : tensor<4xf32>
  %1 = graph.exp %0 : tensor<4xf32>
  dist.send %1 over @mesh ["stage"] to 1 tag 0 {reason = "a test", origin = "x"} : tensor<4xf32>
  return
}
func.func @f_stage1() attributes {dist.entry = "f", dist.stage = 1 : i64, pipeline = {schedule = "1f1b", stages = 2 : i64, chunks = 2 : i64, microbatches = 1 : i64}} {
  %0 = dist.recv over @mesh ["stage"] from 0 tag 0 {reason = "a test", origin = "x"} : tensor<4xf32>
  %1 = graph.exp %0 : tensor<4xf32>
  dist.send %1 over @mesh ["stage"] to 0 tag 1 {reason = "a test", origin = "x"} : tensor<4xf32>
  return
}
