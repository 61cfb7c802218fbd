// RUN: dist-opt %s --dist-create-mesh=axes=data:2,model:2 --dist-replicate=axes=data "--dist-tensor-split=rules=bn.*=0:model" | FileCheck %s
// RUN: not dist-opt %s --dist-create-mesh=axes=data:2,model:2 --dist-replicate=axes=data "--dist-tensor-split=rules=bn.mean=1:model" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not dist-opt %s --dist-create-mesh=axes=data:2,model:16 --dist-replicate=axes=data "--dist-tensor-split=rules=bn.mean=0:model" 2>&1 | FileCheck %s --check-prefix=SIZE

// Statistics a replica have one row each before the dims that the user knows: a
// rule counts from what is behind it, as for the scale of the same norm.
// RANK: 'bn.mean' of 'tensor<8xf32>' has no dim 1
// SIZE: dim 0 of 'bn.mean' has 8 elements, which 'model' cannot split into 16 equal parts
// CHECK: graph.variable @bn.scale {{.*}}splits dim 0 over 'model'{{.*}}sharding = #dist.sharding<@mesh, [{"model"}], replicated = {"data"}>
graph.variable @bn.scale : tensor<8xf32> trainable = dense<1.0> : tensor<8xf32>
// CHECK: graph.variable @bn.mean {{.*}}splits dim 0 over 'model'{{.*}}sharding = #dist.sharding<@mesh, [{"data"}, {"model"}]>
graph.variable @bn.mean : tensor<2x8xf32> {group = "buffer", synchronization = 1 : i32, aggregation = 2 : i32} = dense<0.0> : tensor<2x8xf32>

func.func @predict(%x: tensor<2x8xf32> {graph.role = "input", graph.batch_dim = 0 : i64})
    -> (tensor<2x8xf32> {graph.role = "output", graph.batch_dim = 0 : i64}) {
  return %x : tensor<2x8xf32>
}
