// RUN: dist-opt %s --dist-average-workers -split-input-file -verify-diagnostics

// expected-error @+1 {{dist-average-workers: expected a module with a mesh; run dist-create-mesh first}}
module {}

// -----

// expected-error @+1 {{has an axis "host" already, which dist-average-workers adds}}
dist.mesh @mesh ["host"=2, "data"=2]

// -----

// expected-error @+1 {{dist-average-workers: expected the mesh of one worker's devices, without a host}}
dist.mesh @mesh ["data"=2] with host

// -----

dist.mesh @mesh ["data"=2]
// expected-error @+1 {{dist-average-workers: expected a partitioned program}}
func.func @predict(%x: tensor<4xf32> {graph.role = "input", graph.batch_dim = 0 : i64}) {
  return
}

// -----

// expected-error @+1 {{dist-average-workers: expected no entry 'sync', which it adds}}
module {
  dist.mesh @mesh ["data"=2]
  func.func @sync() {
    return
  }
}

// -----

dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<2xi1> {group = "parameter", sharding = #dist.sharding<@mesh, [{}]>} = dense<false> : tensor<2xi1>
// expected-error @+1 {{changes @w of 'i1', of which workers have no mean}}
func.func @train_step(%w: tensor<2xi1> {dist.global_type = tensor<2xi1>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "variable", graph.variable = @w})
    -> (tensor<2xi1> {dist.global_type = tensor<2xi1>, dist.sharding = #dist.sharding<@mesh, [{}]>, graph.role = "variable", graph.variable = @w}) {
  return %w : tensor<2xi1>
}
