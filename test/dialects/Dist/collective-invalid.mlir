// RUN: dist-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected axis 'a' to be listed once}}
dist.mesh @mesh_c1 ["a"=2, "a"=2]

// -----
// expected-error @+1 {{expected axis 'a' to have a size >= 1, but got 0}}
dist.mesh @mesh_c2 ["a"=0]

// -----
// expected-error @+1 {{expected at most 1048576 ranks, but got 18446744073709551615}}
dist.mesh @mesh_c3 ["a"=9223372036854775807, "b"=4]

// -----
func.func @sharding_axis_twice(
  // expected-error @+1 {{expected axis 'a' to be used once in a sharding}}
  %a: tensor<4x4xf32> {dist.sharding = #dist.sharding<@m, [{"a"}, {"a"}]>}) { return }

// -----
dist.mesh @m ["a"=2]
// expected-error @+1 {{argument 0: expected an axis of @m, but got 'b'}}
func.func @sharding_unknown_axis(%a: tensor<4x4xf32> {dist.sharding = #dist.sharding<@m, [{"b"}, {}]>}) { return }

// -----
// expected-error @+1 {{argument 0: expected a dist.mesh named @m}}
func.func @sharding_unknown_mesh(%a: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{}]>}) { return }

// -----
dist.mesh @m ["a"=2]
// expected-error @+1 {{result 0: expected a sharding of 2 dims for 'tensor<4x4xf32>', but got one of 1}}
func.func private @sharding_dims() -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@m, [{"a"}]>})

// -----
func.func @shardings_count() {
  // expected-error @+1 {{expected dist.shardings to have one sharding a result}}
  %0 = arith.constant {dist.shardings = []} dense<0.0> : tensor<8xf32>
  return
}

// -----
func.func @reshard_c1(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a dist.mesh named @m}}
  %0 = dist.reshard %a to <@m, [{"a"}]> because "r" : tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2, "b"=2]
func.func @all_reduce_c1(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected mesh axis 'a' to be listed once}}
  %0 = dist.all_reduce %a over @m ["a", "a"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_reduce_c1_unknown(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected an axis of @m, but got 'x'}}
  %0 = dist.all_reduce %a over @m ["x"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_reduce_c2(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a reason}}
  %0 = dist.all_reduce %a over @m ["a"] {reason = "", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_reduce_c2_origin(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected an origin}}
  %0 = dist.all_reduce %a over @m ["a"] {reason = "r", origin = ""} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_reduce_c3(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of type 'tensor<4xf32>', but got 'tensor<2xf32>'}}
  %0 = dist.all_reduce %a over @m ["a"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_gather_c3(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected dims to be within the dims of 'tensor<4xf32>', but got 1}}
  %0 = dist.all_gather %a over @m ["a"] {dims = array<i64: 1>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_gather_c4(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of type 'tensor<8xf32>' for groups of 2 ranks, but got 'tensor<4xf32>'}}
  %0 = dist.all_gather %a over @m ["a"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_slice_c4(%a: tensor<3xf32>) {
  // expected-error @+1 {{expected dim 0 of 'tensor<3xf32>' to be divisible by the group's 2 ranks}}
  %0 = dist.all_slice %a over @m ["a"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<3xf32>) -> tensor<1xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @reduce_scatter_c4(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of type 'tensor<2xf32>' for groups of 2 ranks, but got 'tensor<4xf32>'}}
  %0 = dist.reduce_scatter %a over @m ["a"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @all_to_all_c3(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected split and concat dims to differ}}
  %0 = dist.all_to_all %a over @m ["a"] {split_dims = array<i64: 0>, concat_dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @permute_c4(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected each rank at most once as a source, or -1, but got 1}}
  %0 = dist.permute %a over @m ["a"] {sources = array<i64: 1, 1>, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @broadcast_c4(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a root below 2, but got 2}}
  %0 = dist.broadcast %a over @m ["a"] {root = 2 : i64, reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @wait_c1(%a: tensor<4xf32>) {
  %t = dist.all_reduce_start %a over @m ["a"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> !dist.token<tensor<4xf32>>
  // expected-error @+1 {{expected the result types of '!dist.token<tensor<4xf32>>'}}
  %0 = dist.wait %t : (!dist.token<tensor<4xf32>>) -> tensor<2xf32>
  return
}

// -----
func.func @wait_c2(%t: !dist.token<tensor<4xf32>>) {
  // expected-error @+1 {{expected a token of a start op}}
  %0 = dist.wait %t : (!dist.token<tensor<4xf32>>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @send_c3() {
  // expected-error @+1 {{expected at least one tensor}}
  "dist.send"() {mesh = @m, axes = ["a"], peer = 0 : i64, tag = 0 : i64, reason = "r", origin = "o"} : () -> ()
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @send_c4(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a peer below 2, but got 2}}
  dist.send %a over @m ["a"] to 2 tag 0 {reason = "r", origin = "o"} : tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @recv_c4() {
  // expected-error @+1 {{expected a peer below 2, but got 5}}
  %0 = dist.recv over @m ["a"] from 5 tag 0 {reason = "r", origin = "o"} : tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @recv_tag() {
  // expected-error @+1 {{attribute 'tag' failed to satisfy constraint}}
  %0 = dist.recv over @m ["a"] from 0 tag -1 {reason = "r", origin = "o"} : tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @start_without_wait(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected its token to be waited for once}}
  %t = dist.all_reduce_start %a over @m ["a"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> !dist.token<tensor<4xf32>>
  return
}

// -----
dist.mesh @m ["a"=2] with host
func.func @host_reduce_c1(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected an axis of @m, but got 'b'}}
  dist.host_reduce %a over @m ["b"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> ()
  return
}

// -----
dist.mesh @m ["a"=2] with host
func.func @host_broadcast_c2(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a reason}}
  dist.host_broadcast %a over @m ["a"] {reason = "", origin = "o"} : (tensor<4xf32>) -> ()
  return
}

// -----
dist.mesh @m ["a"=2] with host
func.func @host_reduce_c3(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected operands, where it gives, or results, where it takes, but got 1 and 1}}
  %0 = dist.host_reduce %a over @m ["a"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----
dist.mesh @m ["a"=2] with host
func.func @host_broadcast_c3() {
  // expected-error @+1 {{expected operands, where it gives, or results, where it takes, but got 0 and 0}}
  dist.host_broadcast over @m ["a"] {reason = "r", origin = "o"} : () -> ()
  return
}

// -----
dist.mesh @m ["a"=2]
func.func @host_broadcast_c4(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a mesh with host}}
  dist.host_broadcast %a over @m ["a"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> ()
  return
}

// -----
dist.mesh @m ["a"=2, "b"=2] with host
func.func @host_reduce_c5(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected all axes of the mesh, but got a}}
  dist.host_reduce %a over @m ["a"] {reason = "r", origin = "o"} : (tensor<4xf32>) -> ()
  return
}

// -----
// expected-error @+1 {{expected a #dist.placement as dist.placement}}
graph.variable @w : tensor<4xf32> {dist.placement = "host"} = dense<0.0> : tensor<4xf32>
