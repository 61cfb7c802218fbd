// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-simplify-collectives))" | FileCheck %s
// RUN: dist-opt %s --test-check-simplify -o /dev/null | FileCheck %s --check-prefix=EQUAL

dist.mesh @mesh ["x"=2, "y"=3, "one"=1]

// Of the sum only a part is read.
// CHECK-LABEL: func @slice_of_reduce
// EQUAL: @slice_of_reduce: equal
func.func @slice_of_reduce(%v: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>}) -> tensor<6x2xf32> {
  // CHECK-NEXT: dist.reduce_scatter %arg0 over @mesh ["x"] {dims = array<i64: 1>{{.*}}op_id = 0{{.*}}reason = "sum; part"
  // CHECK-NEXT: return
  %0 = dist.all_reduce %v over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = dist.all_slice %0 over @mesh ["x"] {dims = array<i64: 1>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]} : (tensor<6x4xf32>) -> tensor<6x2xf32>
  return %1 : tensor<6x2xf32>
}

// Scattered over the axis of the cut, reduced over the other.
// CHECK-LABEL: func @slice_of_reduce_over_two
// EQUAL: @slice_of_reduce_over_two: equal
func.func @slice_of_reduce_over_two(%v: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x", "y"}>}) -> tensor<2x4xf32> {
  // CHECK-NEXT: %[[P:.+]] = dist.reduce_scatter %arg0 over @mesh ["y"] {{.*}}[{"y"}, {}], unreduced = {"x"}
  // CHECK-NEXT: %[[R:.+]] = dist.all_reduce %[[P]] over @mesh ["x"] {{.*}} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: return %[[R]]
  %0 = dist.all_reduce %v over @mesh ["x", "y"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = dist.all_slice %0 over @mesh ["y"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>]} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// A cut over another axis goes first: less is reduced.
// CHECK-LABEL: func @slice_before_reduce
// EQUAL: @slice_before_reduce: equal
func.func @slice_before_reduce(%v: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>}) -> tensor<2x4xf32> {
  // CHECK-NEXT: %[[P:.+]] = dist.all_slice %arg0 over @mesh ["y"] {{.*}}unreduced = {"x"}
  // CHECK-NEXT: dist.all_reduce %[[P]] over @mesh ["x"] {{.*}} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: return
  %0 = dist.all_reduce %v over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = dist.all_slice %0 over @mesh ["y"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>]} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// Somebody reads the whole sum: nothing to gain.
// CHECK-LABEL: func @sum_with_two_readers
// EQUAL: @sum_with_two_readers: equal
func.func @sum_with_two_readers(%v: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>}) -> (tensor<6x4xf32>, tensor<6x2xf32>) {
  // CHECK-NEXT: dist.all_reduce
  // CHECK-NEXT: dist.all_slice
  // CHECK-NEXT: return
  %0 = dist.all_reduce %v over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = dist.all_slice %0 over @mesh ["x"] {dims = array<i64: 1>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]} : (tensor<6x4xf32>) -> tensor<6x2xf32>
  return %0, %1 : tensor<6x4xf32>, tensor<6x2xf32>
}

// Gathered to be cut again: along one dim nothing, or what is left; along another an exchange.
// CHECK-LABEL: func @slice_of_gather
// EQUAL: @slice_of_gather: equal
func.func @slice_of_gather(%v: tensor<2x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<2x12xf32>, tensor<6x12xf32>, tensor<12x2xf32>) {
  // CHECK-NEXT: %[[A:.+]] = dist.all_gather %arg0 over @mesh ["y"] {{.*}} : (tensor<2x12xf32>) -> tensor<6x12xf32>
  // CHECK-NEXT: %[[B:.+]] = dist.all_to_all %arg0 over @mesh ["x", "y"] {{.*}} : (tensor<2x12xf32>) -> tensor<12x2xf32>
  // CHECK-NEXT: return %arg0, %[[A]], %[[B]]
  %0 = dist.all_gather %v over @mesh ["x", "y"] {dims = array<i64: 0>, reason = "whole", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<2x12xf32>) -> tensor<12x12xf32>
  %1 = dist.all_slice %0 over @mesh ["x", "y"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"x", "y"}, {}]>]} : (tensor<12x12xf32>) -> tensor<2x12xf32>
  %2 = dist.all_slice %0 over @mesh ["x"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : (tensor<12x12xf32>) -> tensor<6x12xf32>
  %3 = dist.all_slice %0 over @mesh ["x", "y"] {dims = array<i64: 1>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {"x", "y"}]>]} : (tensor<12x12xf32>) -> tensor<12x2xf32>
  return %1, %2, %3 : tensor<2x12xf32>, tensor<6x12xf32>, tensor<12x2xf32>
}

// Gathered in one order and cut in another: whole shards move.
// CHECK-LABEL: func @slice_in_another_order
// EQUAL: @slice_in_another_order: equal
func.func @slice_in_another_order(%v: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}]>}) -> tensor<2xf32> {
  // CHECK-NEXT: dist.all_gather
  // CHECK-NEXT: dist.all_slice
  %0 = dist.all_gather %v over @mesh ["x", "y"] {dims = array<i64: 0>, reason = "whole", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<2xf32>) -> tensor<12xf32>
  %1 = dist.all_slice %0 over @mesh ["y", "x"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"y", "x"}]>]} : (tensor<12xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// What all ranks cut alike comes back whole.
// CHECK-LABEL: func @gather_of_slice
// EQUAL: @gather_of_slice: equal
func.func @gather_of_slice(%v: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  // CHECK-NEXT: return %arg0
  %0 = dist.all_slice %v over @mesh ["x"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : (tensor<4xf32>) -> tensor<2xf32>
  %1 = dist.all_gather %0 over @mesh ["x"] {dims = array<i64: 0>, reason = "whole", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<2xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Each rank has summands of its own: the cut picks among them.
// CHECK-LABEL: func @gather_of_different
// EQUAL: @gather_of_different: equal
func.func @gather_of_different(%v: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>}) -> tensor<4xf32> {
  // CHECK-NEXT: dist.all_slice
  // CHECK-NEXT: dist.all_gather
  %0 = dist.all_slice %v over @mesh ["x"] {dims = array<i64: 0>, reason = "part", origin = "f"} : (tensor<4xf32>) -> tensor<2xf32>
  %1 = dist.all_gather %0 over @mesh ["x"] {dims = array<i64: 0>, reason = "whole", origin = "f"} : (tensor<2xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func @gather_of_scatter
// EQUAL: @gather_of_scatter: equal
func.func @gather_of_scatter(%v: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>}) -> tensor<4xf32> {
  // CHECK-NEXT: dist.all_reduce %arg0 over @mesh ["x"]
  // CHECK-NEXT: return
  %0 = dist.reduce_scatter %v over @mesh ["x"] {dims = array<i64: 0>, reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : (tensor<4xf32>) -> tensor<2xf32>
  %1 = dist.all_gather %0 over @mesh ["x"] {dims = array<i64: 0>, reason = "whole", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<2xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// There and back again; there only.
// CHECK-LABEL: func @exchange_pair
// EQUAL: @exchange_pair: equal
func.func @exchange_pair(%v: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2x4xf32>, tensor<8x1xf32>) {
  // CHECK-NEXT: %[[A:.+]] = dist.all_to_all
  // CHECK-NEXT: %[[B:.+]] = dist.all_to_all %[[A]]
  // CHECK-NEXT: return %arg0, %[[B]]
  %0 = dist.all_to_all %v over @mesh ["x"] {split_dims = array<i64: 1>, concat_dims = array<i64: 0>, reason = "there", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = dist.all_to_all %0 over @mesh ["x"] {split_dims = array<i64: 0>, concat_dims = array<i64: 1>, reason = "back", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %2 = dist.all_to_all %0 over @mesh ["x"] {split_dims = array<i64: 1>, concat_dims = array<i64: 0>, reason = "on", origin = "f"} : (tensor<4x2xf32>) -> tensor<8x1xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<8x1xf32>
}

// Moves of shards are put together; what moves nothing goes.
// CHECK-LABEL: func @permutes
// EQUAL: @permutes: equal
func.func @permutes(%v: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>}) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[A:.+]] = dist.permute %arg0 over @mesh ["y"] {{.*}}sources = array<i64: -1, 0, 1>
  // CHECK-NEXT: return %arg0, %[[A]]
  %0 = dist.permute %v over @mesh ["y"] {sources = array<i64: 1, 2, 0>, reason = "on", origin = "f"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = dist.permute %0 over @mesh ["y"] {sources = array<i64: 2, 0, 1>, reason = "back", origin = "f"} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = dist.permute %0 over @mesh ["y"] {sources = array<i64: -1, 2, 0>, reason = "back", origin = "f"} : (tensor<2xf32>) -> tensor<2xf32>
  return %1, %2 : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @group_of_one
// EQUAL: @group_of_one: equal
func.func @group_of_one(%v: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: return %arg0, %arg0
  %0 = dist.all_reduce %v over @mesh ["one"] {reason = "sum", origin = "f"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_gather %v over @mesh ["one"] {dims = array<i64: 0>, reason = "whole", origin = "f"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Equal but for why they are there; of another value or dim.
// CHECK-LABEL: func @equal_collectives
// EQUAL: @equal_collectives: equal
func.func @equal_collectives(%v: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>) {
  // CHECK-NEXT: %[[A:.+]] = dist.all_gather %arg0 {{.*}}dist.causes = array<i32: 2, 1>{{.*}}op_id = 0{{.*}}origin = "f; g", reason = "one; another"
  // CHECK-NEXT: %[[B:.+]] = dist.all_gather %arg0 {{.*}}op_id = 1
  // CHECK-NEXT: return %[[A]], %[[A]], %[[B]]
  %0 = dist.all_gather %v over @mesh ["x"] {dims = array<i64: 0>, reason = "one", origin = "f", op_id = 3 : i64, dist.causes = array<i32: 2>} : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = dist.all_gather %v over @mesh ["x"] {dims = array<i64: 0>, reason = "another", origin = "g", op_id = 4 : i64, dist.causes = array<i32: 1, 2>} : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %2 = dist.all_gather %v over @mesh ["x"] {dims = array<i64: 1>, reason = "one", origin = "f", op_id = 5 : i64} : (tensor<4x4xf32>) -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>
}

// A variable in shards is gathered before each use by intent: between them it is not kept.
// CHECK-LABEL: func @variable_gathered_twice
// EQUAL: @variable_gathered_twice: equal
func.func @variable_gathered_twice(%v: tensor<4xf32> {graph.variable = @v, dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[A:.+]] = dist.all_gather %arg0
  // CHECK-NEXT: %[[B:.+]] = dist.all_gather %arg0
  // CHECK-NEXT: return %[[A]], %[[B]]
  %0 = dist.all_gather %v over @mesh ["x"] {dims = array<i64: 0>, reason = "forward", origin = "f"} : (tensor<4xf32>) -> tensor<8xf32>
  %1 = dist.all_gather %v over @mesh ["x"] {dims = array<i64: 0>, reason = "backward", origin = "g"} : (tensor<4xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// What stands for a collective has its causes: of a cut sum, those of both.
// CHECK-LABEL: func @causes
// EQUAL: @causes: equal
func.func @causes(%v: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>}) -> (tensor<2x2xf32>) {
  // CHECK-NEXT: dist.all_slice %arg0 over @mesh ["y"] {{.*}}dist.causes = array<i32: 5>
  // CHECK-NEXT: dist.reduce_scatter {{.*}} over @mesh ["x"] {{.*}}dist.causes = array<i32: 3, 4>{{.*}}origin = "f; g", reason = "sum; part"
  %0 = dist.all_reduce %v over @mesh ["x"] {reason = "sum", origin = "f", dist.causes = array<i32: 3>, dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = dist.all_slice %0 over @mesh ["y"] {dims = array<i64: 0>, reason = "rows", origin = "f", dist.causes = array<i32: 5>, dist.shardings = [#dist.sharding<@mesh, [{"y"}, {}]>]} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  %2 = dist.all_slice %1 over @mesh ["x"] {dims = array<i64: 1>, reason = "part", origin = "g", dist.causes = array<i32: 3, 4>, dist.shardings = [#dist.sharding<@mesh, [{"y"}, {"x"}]>]} : (tensor<2x4xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
