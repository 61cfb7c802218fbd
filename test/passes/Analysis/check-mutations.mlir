// RUN: dist-opt %s --test-check-partition -o /dev/null | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s --test-check-partition=mutate=scale -o /dev/null | FileCheck %s --check-prefix=SCALE
// RUN: dist-opt %s --test-check-partition=mutate=mask -o /dev/null | FileCheck %s --check-prefix=MASK
// RUN: not dist-opt %s --test-check-partition=mutate=wrong-slice -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE

// A masked mean over a split batch. What is broken is found, and the first op that differs is named.
// EQUAL: equal
// SCALE: different
// SCALE: diverges first at graph.div of 'mean': element [] is
// MASK: different
// MASK: diverges first at graph.reduce of 'total': element [] is
// NONE: expected an op to mutate by 'wrong-slice'

dist.mesh @mesh ["data"=2]
func.func @loss(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>},
                %m: tensor<8xi1> {graph.role = "mask", dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<f32> {graph.role = "loss", dist.sharding = #dist.sharding<@mesh, []>}) {
  %z = graph.constant dense<0.0> : tensor<8xf32>
  %0 = graph.select %m, %x, %z : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> loc("masked")
  %1 = graph.reduce sum, %0 {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32> loc("total")
  %c = graph.constant dense<6.0> : tensor<f32>
  %2 = graph.div %1, %c : tensor<f32> loc("mean")
  return %2 : tensor<f32>
}
