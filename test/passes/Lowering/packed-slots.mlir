// RUN: dist-opt %s --rt-plan-memory | FileCheck %s
// RUN: dist-opt %s --rt-hoist-preparation | FileCheck %s --check-prefix=HOIST

graph.variable @w : tensor<4x8xf32> trainable {group = "parameter"} = dense<0.0> : tensor<4x8xf32>
#plain = {dims = array<i64: 4, 8>, strides = array<i64: 8, 1>, type = "f32"}
#packed = {dims = array<i64: 4, 8>, type = "f32"}
#x = {dims = array<i64: 2, 4>, strides = array<i64: 4, 1>, type = "f32"}
#y = {dims = array<i64: 2, 8>, strides = array<i64: 8, 1>, type = "f32"}
#product = {kind = "matmul", memories = [#x, #packed, #y]}
#other = {kind = "matmul", memories = [#x, #packed, #y], relu}

// How large a value in the library's own layout is, only the machine that runs it
// knows: it lies in a slot, behind the three arguments and the result, and none of
// the arena. What is not alive at once takes turns.
// CHECK-LABEL: rt.program @in_turns arena 128
// CHECK-SAME: rt.slots = {{\[\[}}{kernel = {kind = "matmul", memories = [{{.*}}]}, memory = 1 : i64}, {kernel = {kind = "matmul", memories = [{{.*}}], relu}, memory = 1 : i64}]]
// CHECK: %[[SLOT:.+]] = rt.binding 4
// CHECK: rt.library_call {kind = "reorder"{{.*}}(%{{.+}}, %[[SLOT]])
// CHECK: rt.library_call {kind = "matmul"{{.*}}(%{{.+}}, %[[SLOT]], %{{.+}})
// CHECK: rt.library_call {kind = "reorder"{{.*}}(%{{.+}}, %[[SLOT]])
// CHECK: rt.library_call {kind = "matmul"{{.*}}(%{{.+}}, %[[SLOT]], %{{.+}})
func.func @in_turns(%x: tensor<2x4xf32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %0 = rt.library(%a) {kind = "reorder", memories = [#plain, #packed], packed_kernel = #product, packed_memory = 1} : (tensor<4x8xf32>) -> tensor<256xi8>
  %1 = rt.library(%x, %0) {kind = "matmul", memories = [#x, #packed, #y]} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  %2 = rt.library(%b) {kind = "reorder", memories = [#plain, #packed], packed_kernel = #other, packed_memory = 1} : (tensor<4x8xf32>) -> tensor<256xi8>
  %3 = rt.library(%x, %2) {kind = "matmul", memories = [#x, #packed, #y], relu} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  %4 = rt.library(%x, %1, %3) {kind = "matmul", memories = [#x, #y, #y, #y]} : (tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// CHECK-LABEL: rt.program @at_once
// CHECK-SAME: rt.slots = {{\[\[}}{{.*}}], [{{.*}}]]
// CHECK-DAG: rt.binding 4
// CHECK-DAG: rt.binding 5
func.func @at_once(%x: tensor<2x4xf32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %0 = rt.library(%a) {kind = "reorder", memories = [#plain, #packed], packed_kernel = #product, packed_memory = 1} : (tensor<4x8xf32>) -> tensor<256xi8>
  %1 = rt.library(%b) {kind = "reorder", memories = [#plain, #packed], packed_kernel = #product, packed_memory = 1} : (tensor<4x8xf32>) -> tensor<256xi8>
  %2 = rt.library(%x, %0, %1) {kind = "matmul", memories = [#x, #packed, #packed, #y]} : (tensor<2x4xf32>, tensor<256xi8>, tensor<256xi8>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// Weights that are packed for two kernels have one source, so that they are one
// buffer where the library packs them alike.
// HOIST-LABEL: func.func @predict(
// HOIST-SAME: {graph.name = "prepared_0", graph.role = "prepared", rt.packed = {kernel = {kind = "matmul", memories = [{{[^]]*}}]}, memory = 1 : i64, source = 0 : i64}}
// HOIST-SAME: {graph.name = "prepared_1", graph.role = "prepared", rt.packed = {kernel = {kind = "matmul", memories = [{{[^]]*}}], relu}, memory = 1 : i64, source = 0 : i64}}
func.func @predict(%x: tensor<2x4xf32>, %w: tensor<4x8xf32> {graph.role = "variable", graph.variable = @w}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = rt.library(%w) {kind = "reorder", memories = [#plain, #packed], packed_kernel = #product, packed_memory = 1} : (tensor<4x8xf32>) -> tensor<256xi8>
  %1 = rt.library(%x, %0) {kind = "matmul", memories = [#x, #packed, #y]} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  %2 = rt.library(%w) {kind = "reorder", memories = [#plain, #packed], packed_kernel = #other, packed_memory = 1} : (tensor<4x8xf32>) -> tensor<256xi8>
  %3 = rt.library(%x, %2) {kind = "matmul", memories = [#x, #packed, #y], relu} : (tensor<2x4xf32>, tensor<256xi8>) -> tensor<2x8xf32>
  return %1, %3 : tensor<2x8xf32>, tensor<2x8xf32>
}
