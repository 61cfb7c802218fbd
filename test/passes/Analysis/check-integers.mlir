// RUN: dist-opt %s --test-check-partition -o /dev/null | FileCheck %s
// RUN: dist-opt %s --test-check-partition=mutate=narrow -o /dev/null | FileCheck %s --check-prefix=NARROW

// Integers that are no indices are of all sizes and both signs: what keeps their low bits alone is found, though it
// is right for 0 and 1.
// CHECK: equal
// NARROW: different
// NARROW: diverges first at graph.convert of 'again'

dist.mesh @mesh ["data"=2]
func.func @double(%x: tensor<8xi32> {graph.role = "input", dist.sharding = #dist.sharding<@mesh, [{"data"}]>})
    -> (tensor<8xi64> {graph.role = "output", dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %0 = graph.add %x, %x : tensor<8xi32> loc("twice")
  %1 = graph.convert %0 : (tensor<8xi32>) -> tensor<8xi64> loc("again")
  return %1 : tensor<8xi64>
}
