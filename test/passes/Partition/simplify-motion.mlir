// RUN: dist-opt %s --pass-pipeline="builtin.module(func.func(dist-simplify-collectives))" | FileCheck %s
// RUN: dist-opt %s --test-check-simplify -o /dev/null | FileCheck %s --check-prefix=EQUAL

dist.mesh @mesh ["x"=2, "y"=3]

// A sum of sums is reduced once, also where one is scaled on its way.
// CHECK-LABEL: func @sum_of_reduces
// EQUAL: @sum_of_reduces: equal
func.func @sum_of_reduces(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>},
                          %b: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>},
                          %c: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  // CHECK-NEXT: %[[M:.+]] = graph.mul %arg0, %arg2 {{.*}}unreduced = {"x"}
  // CHECK-NEXT: %[[S:.+]] = graph.sub %[[M]], %arg1 {{.*}}unreduced = {"x"}
  // CHECK-NEXT: %[[R:.+]] = dist.all_reduce %[[S]] over @mesh ["x"] {{.*}}reason = "first; second"
  // CHECK-NEXT: return %[[R]]
  %0 = dist.all_reduce %a over @mesh ["x"] {reason = "first", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce %b over @mesh ["x"] {reason = "second", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.mul %0, %c {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %3 = graph.sub %2, %1 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Two times one value is one value.
// CHECK-LABEL: func @sum_with_itself
// EQUAL: @sum_with_itself: equal
func.func @sum_with_itself(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>}) -> tensor<4xf32> {
  // CHECK-NEXT: dist.all_reduce
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: return
  %0 = dist.all_reduce %a over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.add %0, %0 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Fewer bytes after the op.
// CHECK-LABEL: func @reduce_below
// EQUAL: @reduce_below: equal
func.func @reduce_below(%a: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>},
                        %w: tensor<4x2xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> tensor<6x2xf32> {
  // CHECK-NEXT: %[[D:.+]] = graph.dot_general %arg0, %arg1
  // CHECK-NEXT: dist.all_reduce %[[D]] over @mesh ["x"] {{.*}} : (tensor<6x2xf32>) -> tensor<6x2xf32>
  // CHECK-NEXT: return
  %0 = dist.all_reduce %a over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
  return %1 : tensor<6x2xf32>
}

// Each rank has columns of its own: the product is not a sum of products.
// CHECK-LABEL: func @other_operand_differs
// EQUAL: @other_operand_differs: equal
func.func @other_operand_differs(%a: tensor<6x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>},
                                 %w: tensor<4x1xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<6x1xf32> {
  // CHECK-NEXT: dist.all_reduce
  // CHECK-NEXT: graph.dot_general
  // CHECK-NEXT: return
  %0 = dist.all_reduce %a over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = graph.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, [{}, {"x"}]>]} : (tensor<6x4xf32>, tensor<4x1xf32>) -> tensor<6x1xf32>
  return %1 : tensor<6x1xf32>
}

// Not linear; of a maximum; over other axes; with another reader; no fewer bytes.
// CHECK-LABEL: func @stays
// EQUAL: @stays: equal
func.func @stays(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>},
                 %b: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"y"}>},
                 %c: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.+]] = dist.all_reduce %arg0 over @mesh ["x"]
  // CHECK-NEXT: %[[B:.+]] = dist.all_reduce %arg1 over @mesh ["y"]
  // CHECK-NEXT: %[[M:.+]] = dist.all_reduce %arg0 over @mesh ["x"] by max
  // CHECK-NEXT: graph.exp
  // CHECK-NEXT: graph.add %[[A]], %[[B]]
  // CHECK-NEXT: graph.reduce sum, %[[M]]
  // CHECK-NEXT: graph.reduce max, %[[A]]
  // CHECK-NEXT: graph.mul %[[B]], %arg2
  %0 = dist.all_reduce %a over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce %b over @mesh ["y"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.all_reduce %a over @mesh ["x"] by max {reason = "max", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.exp %0 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %4 = graph.add %0, %1 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %5 = graph.reduce sum, %2 {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, []>]} : (tensor<4xf32>) -> tensor<f32>
  %6 = graph.reduce max, %0 {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, []>]} : (tensor<4xf32>) -> tensor<f32>
  %7 = graph.mul %1, %c {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  return %3, %4, %5, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>
}

// A square is not linear, though a product is in each operand.
// CHECK-LABEL: func @square_stays
// EQUAL: @square_stays: equal
func.func @square_stays(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>},
                        %b: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}], unreduced = {"x"}>}) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NEXT: %[[A:.+]] = dist.all_reduce %arg0
  // CHECK-NEXT: %[[S:.+]] = graph.mul %[[A]], %[[A]]
  // CHECK-NEXT: graph.reduce sum, %[[S]]
  // CHECK-NEXT: %[[B:.+]] = dist.all_reduce %arg1
  // CHECK-NEXT: graph.dot_general %[[B]], %[[B]]
  %0 = dist.all_reduce %a over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.mul %0, %0 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<4xf32>
  %2 = graph.reduce sum, %1 {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, []>]} : (tensor<4xf32>) -> tensor<f32>
  %3 = dist.all_reduce %b over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.dot_general %3, %3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, []>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %2, %4 : tensor<f32>, tensor<f32>
}

// What is cut afterwards is computed in parts: down to the sum, which is scattered.
// CHECK-LABEL: func @cut_first
// EQUAL: @cut_first: equal
func.func @cut_first(%a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>},
                     %b: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) -> tensor<2x6xf32> {
  // CHECK-DAG: %[[A:.+]] = dist.reduce_scatter %arg0 over @mesh ["x"] {{.*}} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  // CHECK-DAG: %[[B:.+]] = dist.all_slice %arg1 over @mesh ["x"] {{.*}} : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK-DAG: %[[W:.+]] = graph.broadcast %[[B]] {{.*}} : (tensor<2xf32>) -> tensor<2x6xf32>
  // CHECK: %[[S:.+]] = graph.add %[[A]], %[[W]] {{.*}} : tensor<2x6xf32>
  // CHECK-NEXT: %[[T:.+]] = graph.tanh %[[S]] {{.*}}[{"x"}, {}]{{.*}} : tensor<2x6xf32>
  // CHECK-NEXT: return %[[T]]
  %0 = dist.all_reduce %a over @mesh ["x"] {reason = "sum", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = graph.broadcast %b {dims = array<i64: 0>, dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : (tensor<4xf32>) -> tensor<4x6xf32>
  %2 = graph.add %0, %1 {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<4x6xf32>
  %3 = graph.tanh %2 {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<4x6xf32>
  %4 = dist.all_slice %3 over @mesh ["x"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// The op needs the dim whole; the value has another reader.
// CHECK-LABEL: func @cut_stays
// EQUAL: @cut_stays: equal
func.func @cut_stays(%a: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) -> (tensor<4x2xf32>, tensor<4x6xf32>, tensor<2x6xf32>) {
  // CHECK-NEXT: graph.softmax %arg0 {{.*}} : tensor<4x6xf32>
  // CHECK-NEXT: dist.all_slice
  // CHECK-NEXT: graph.tanh %arg0 {{.*}} : tensor<4x6xf32>
  // CHECK-NEXT: dist.all_slice
  %0 = graph.softmax %a {axis = 1 : i64, dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<4x6xf32>
  %1 = dist.all_slice %0 over @mesh ["y"] {dims = array<i64: 1>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}, {"y"}]>]} : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %2 = graph.tanh %a {dist.shardings = [#dist.sharding<@mesh, [{}, {}]>]} : tensor<4x6xf32>
  %3 = dist.all_slice %2 over @mesh ["x"] {dims = array<i64: 0>, reason = "part", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{"x"}, {}]>]} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  return %1, %2, %3 : tensor<4x2xf32>, tensor<4x6xf32>, tensor<2x6xf32>
}

// What is gathered to be read as a narrower type is narrowed first; not what is
// read as it is, too.
// CHECK-LABEL: func @gather_narrowed
// EQUAL: @gather_narrowed: equal
func.func @gather_narrowed(%a: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<4xbf16>, tensor<4xbf16>) {
  // CHECK-NEXT: %[[N:.+]] = graph.convert %arg0 {dist.shardings = [#dist.sharding<@mesh, [{"x"}]>]} : (tensor<2xf32>) -> tensor<2xbf16>
  // CHECK-NEXT: %[[G:.+]] = dist.all_gather %[[N]] over @mesh ["x"] {{.*}} : (tensor<2xbf16>) -> tensor<4xbf16>
  // CHECK-NEXT: return %[[G]], %[[G]]
  %0 = dist.all_gather %a over @mesh ["x"] {dims = array<i64: 0>, reason = "whole", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<2xf32>) -> tensor<4xf32>
  %1 = graph.convert %0 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = graph.convert %0 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xbf16>
  return %1, %2 : tensor<4xbf16>, tensor<4xbf16>
}

// CHECK-LABEL: func @gather_both
// EQUAL: @gather_both: equal
func.func @gather_both(%a: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> (tensor<4xbf16>, tensor<4xf32>) {
  // CHECK-NEXT: %[[G:.+]] = dist.all_gather %arg0
  // CHECK-NEXT: graph.convert %[[G]]
  %0 = dist.all_gather %a over @mesh ["x"] {dims = array<i64: 0>, reason = "whole", origin = "f", dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<2xf32>) -> tensor<4xf32>
  %1 = graph.convert %0 {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : (tensor<4xf32>) -> tensor<4xbf16>
  return %1, %0 : tensor<4xbf16>, tensor<4xf32>
}
