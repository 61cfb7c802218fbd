// RUN: dist-opt %s --split-input-file --dist-split-host -verify-diagnostics

// expected-error @+1 {{is on the host, but no mesh says which devices read it; run dist-replicate and dist-partition first}}
graph.variable @w : tensor<4xf32> {dist.placement = #dist.placement<host>} = dense<0.1> : tensor<4xf32>

// -----

// What the host has is the same on all devices.
dist.mesh @mesh ["data"=2]
graph.variable @w : tensor<4xf32> {dist.placement = #dist.placement<host>} = dense<0.1> : tensor<4xf32>
// expected-error @+1 {{gives @w a value that devices make and that is no sum over all of them, but the variable is on the host by its annotation; leave it on the devices}}
func.func @step(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}, %w: tensor<4xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}]>}) {
  %0 = graph.add %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Who has not placed it himself is told what does.
module attributes {dist.why = {host = "--strategy=central-storage"}} {
  dist.mesh @mesh ["data"=2]
  graph.variable @w : tensor<4xf32> {dist.placement = #dist.placement<host>} = dense<0.1> : tensor<4xf32>
  // expected-error @+1 {{but the variable is on the host by --strategy=central-storage; give --strategy mirrored, which has it on the devices}}
  func.func @step(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}, %w: tensor<4xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}]>})
      -> (tensor<4xf32> {graph.variable = @w, dist.sharding = #dist.sharding<@mesh, [{}]>}) {
    %0 = graph.add %x, %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
