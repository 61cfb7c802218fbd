// RUN: dist-opt %s --split-input-file --dist-place-host-variables -verify-diagnostics

// expected-error @+1 {{dist-place-host-variables: expected a module with a mesh; run dist-create-mesh first}}
module {
}

// -----

dist.mesh @mesh ["model"=2]
// expected-error @+1 {{cannot be placed on the host: it is split as #dist.sharding<@mesh, [{"model"}]>; leave out the strategy that splits variables}}
graph.variable @w : tensor<4xf32> trainable {sharding = #dist.sharding<@mesh, [{"model"}]>} = dense<0.1> : tensor<4xf32>
