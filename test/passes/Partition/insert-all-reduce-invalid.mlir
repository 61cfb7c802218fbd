// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce))" -verify-diagnostics
dist.mesh @mesh ["data"=2]

func.func @integer_share(%total: tensor<i64> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>},
                         %count: tensor<i64> {dist.sharding = #dist.sharding<@mesh, []>})
    -> (tensor<i64> {dist.sharding = #dist.sharding<@mesh, [], unreduced = {"data"}>}) {
  // expected-error @+1 {{adds a whole value of integers to one that is a sum over 'data'; make the variable a float one}}
  %0 = graph.add %total, %count : tensor<i64>
  return %0 : tensor<i64>
}
