// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition)" | FileCheck %s
// RUN: dist-opt %s --pass-pipeline="builtin.module(dist-propagate-sharding,func.func(dist-insert-reshards,dist-insert-all-reduce,dist-verify-unreduced),dist-partition,test-transfer-volume)" -o /dev/null | FileCheck %s --check-prefix=VOLUME

// The plan of each reshard, and the bytes that one rank sends by it.
dist.mesh @mesh ["x"=2, "y"=3, "z"=2]

// Nothing to do.
// CHECK-LABEL: func @same(
func.func @same(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: return
  // VOLUME: @same: nothing is sent
  return %v : tensor<1536x1536xf32>
}

// Whole to split: each rank keeps its part.
// CHECK-LABEL: func @slice(
func.func @slice(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: dist.all_slice %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<1536x1536xf32>) -> tensor<768x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @slice: nothing is sent
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @slice_both(
func.func @slice_both(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // CHECK: dist.all_slice %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<1536x1536xf32>) -> tensor<768x1536xf32>
  // CHECK-NEXT: dist.all_slice %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 1>{{.*}} : (tensor<768x1536xf32>) -> tensor<768x512xf32>
  // CHECK-NEXT: return
  // VOLUME: @slice_both: nothing is sent
  return %v : tensor<1536x1536xf32>
}

// Two axes of one dim are one cut.
// CHECK-LABEL: func @slice_nested(
func.func @slice_nested(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>}) {
  // CHECK: dist.all_slice %{{.+}} over @mesh ["x", "y"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<1536x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @slice_nested: nothing is sent
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @gather(
func.func @gather(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<768x1536xf32>) -> tensor<1536x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @gather: all_gather 1 x, 4718592 bytes; 4718592 bytes in all
  return %v : tensor<1536x1536xf32>
}

// The minor axis alone.
// CHECK-LABEL: func @gather_minor(
func.func @gather_minor(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<256x1536xf32>) -> tensor<768x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @gather_minor: all_gather 1 x, 3145728 bytes; 3145728 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Two axes of one dim in one step.
// CHECK-LABEL: func @gather_both_axes(
func.func @gather_both_axes(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["x", "y"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<256x1536xf32>) -> tensor<1536x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @gather_both_axes: all_gather 1 x, 7864320 bytes; 7864320 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @gather_both_dims(
func.func @gather_both_dims(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<768x512xf32>) -> tensor<1536x512xf32>
  // CHECK-NEXT: dist.all_gather %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 1>{{.*}} : (tensor<1536x512xf32>) -> tensor<1536x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @gather_both_dims: all_gather 2 x, 7864320 bytes; 7864320 bytes in all
  return %v : tensor<1536x1536xf32>
}

// The major axis goes: shards are first put in the other order.
// CHECK-LABEL: func @gather_major(
func.func @gather_major(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  // CHECK: dist.permute %{{.+}} over @mesh ["x", "y"] {{.*}}sources = array<i64: 0, 2, 4, 1, 3, 5>{{.*}} : (tensor<256x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: dist.all_gather %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<256x1536xf32>) -> tensor<512x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @gather_major: all_gather 1 x, 1572864 bytes, permute 1 x, 1572864 bytes; 3145728 bytes in all
  return %v : tensor<1536x1536xf32>
}

// An axis moves to another dim.
// CHECK-LABEL: func @exchange(
func.func @exchange(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["x"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<768x1536xf32>) -> tensor<1536x768xf32>
  // CHECK-NEXT: return
  // VOLUME: @exchange: all_to_all 1 x, 2359296 bytes; 2359296 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Two axes move at once.
// CHECK-LABEL: func @exchange_two(
func.func @exchange_two(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x", "y"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["x", "y"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<256x1536xf32>) -> tensor<1536x256xf32>
  // CHECK-NEXT: return
  // VOLUME: @exchange_two: all_to_all 1 x, 1310720 bytes; 1310720 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @exchange_minor(
func.func @exchange_minor(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["y"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<256x1536xf32>) -> tensor<768x512xf32>
  // CHECK-NEXT: return
  // VOLUME: @exchange_minor: all_to_all 1 x, 1048576 bytes; 1048576 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @exchange_major(
func.func @exchange_major(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["x", "y"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<256x1536xf32>) -> tensor<1536x256xf32>
  // CHECK-NEXT: dist.all_to_all %{{.+}} over @mesh ["y"] {{.*}}concat_dims = array<i64: 1>{{.*}}split_dims = array<i64: 0>{{.*}} : (tensor<1536x256xf32>) -> tensor<512x768xf32>
  // CHECK-NEXT: return
  // VOLUME: @exchange_major: all_to_all 2 x, 2359296 bytes; 2359296 bytes in all
  return %v : tensor<1536x1536xf32>
}

// They arrive in another order.
// CHECK-LABEL: func @exchange_reorder(
func.func @exchange_reorder(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y", "x"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["y"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<256x1536xf32>) -> tensor<768x512xf32>
  // CHECK-NEXT: dist.all_to_all %{{.+}} over @mesh ["x"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<768x512xf32>) -> tensor<1536x256xf32>
  // CHECK-NEXT: return
  // VOLUME: @exchange_reorder: all_to_all 2 x, 1835008 bytes; 1835008 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Two dims change their axes, of unequal sizes.
// CHECK-LABEL: func @transpose(
func.func @transpose(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["x"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<768x512xf32>) -> tensor<1536x256xf32>
  // CHECK-NEXT: dist.all_to_all %{{.+}} over @mesh ["y", "x"] {{.*}}concat_dims = array<i64: 1>{{.*}}split_dims = array<i64: 0>{{.*}} : (tensor<1536x256xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: dist.all_to_all %{{.+}} over @mesh ["x"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<256x1536xf32>) -> tensor<512x768xf32>
  // CHECK-NEXT: return
  // VOLUME: @transpose: all_to_all 3 x, 2883584 bytes; 2883584 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Of equal sizes: one move of whole shards.
// CHECK-LABEL: func @transpose_equal(
func.func @transpose_equal(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"z"}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"z"}, {"x"}]>}) {
  // CHECK: dist.permute %{{.+}} over @mesh ["x", "z"] {{.*}}sources = array<i64: 0, 2, 1, 3>{{.*}} : (tensor<768x768xf32>) -> tensor<768x768xf32>
  // CHECK-NEXT: return
  // VOLUME: @transpose_equal: permute 1 x, 2359296 bytes; 2359296 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Two axes of one dim in another order.
// CHECK-LABEL: func @swap(
func.func @swap(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y", "x"}, {}]>}) {
  // CHECK: dist.permute %{{.+}} over @mesh ["x", "y"] {{.*}}sources = array<i64: 0, 2, 4, 1, 3, 5>{{.*}} : (tensor<256x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @swap: permute 1 x, 1572864 bytes; 1572864 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @rotate(
func.func @rotate(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y", "z"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y", "z", "x"}, {}]>}) {
  // CHECK: dist.permute %{{.+}} over @mesh ["x", "y", "z"] {{.*}}sources = array<i64: 0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11>{{.*}} : (tensor<128x1536xf32>) -> tensor<128x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @rotate: permute 1 x, 786432 bytes; 786432 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Another axis of the same size.
// CHECK-LABEL: func @replace_equal(
func.func @replace_equal(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"z"}, {}]>}) {
  // CHECK: dist.permute %{{.+}} over @mesh ["x", "z"] {{.*}}sources = array<i64: 0, 2, 1, 3>{{.*}} : (tensor<768x1536xf32>) -> tensor<768x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @replace_equal: permute 1 x, 4718592 bytes; 4718592 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Another axis of another size.
// CHECK-LABEL: func @replace_smaller(
func.func @replace_smaller(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: dist.all_slice %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<512x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: dist.permute %{{.+}} over @mesh ["x", "y"] {{.*}}sources = array<i64: 0, 3, 1, 4, 2, 5>{{.*}} : (tensor<256x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: dist.all_gather %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<256x1536xf32>) -> tensor<768x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @replace_smaller: all_gather 1 x, 3145728 bytes, permute 1 x, 1572864 bytes; 4718592 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @replace_larger(
func.func @replace_larger(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}]>}) {
  // CHECK: dist.all_slice %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<768x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: dist.permute %{{.+}} over @mesh ["x", "y"] {{.*}}sources = array<i64: 0, 2, 4, 1, 3, 5>{{.*}} : (tensor<256x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: dist.all_gather %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<256x1536xf32>) -> tensor<512x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @replace_larger: all_gather 1 x, 1572864 bytes, permute 1 x, 1572864 bytes; 3145728 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @one_dim(
func.func @one_dim(%v: tensor<6144xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}]>})
    -> (tensor<6144xf32> {dist.sharding = #dist.sharding<@mesh, [{"z"}]>}) {
  // CHECK: dist.permute %{{.+}} over @mesh ["x", "z"] {{.*}}sources = array<i64: 0, 2, 1, 3>{{.*}} : (tensor<3072xf32>) -> tensor<3072xf32>
  // CHECK-NEXT: return
  // VOLUME: @one_dim: permute 1 x, 12288 bytes; 12288 bytes in all
  return %v : tensor<6144xf32>
}

// CHECK-LABEL: func @three_dims(
func.func @three_dims(%v: tensor<96x96x96xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}, {"z"}]>})
    -> (tensor<96x96x96xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"z"}, {"x"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["x"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<48x32x48xf32>) -> tensor<96x16x48xf32>
  // CHECK-NEXT: dist.permute %{{.+}} over @mesh ["x", "y", "z"] {{.*}}sources = array<i64: 0, 8, 6, 4, 2, 10, 1, 9, 7, 5, 3, 11>{{.*}} : (tensor<96x16x48xf32>) -> tensor<96x16x48xf32>
  // CHECK-NEXT: dist.all_to_all %{{.+}} over @mesh ["y"] {{.*}}concat_dims = array<i64: 1>{{.*}}split_dims = array<i64: 0>{{.*}} : (tensor<96x16x48xf32>) -> tensor<32x48x48xf32>
  // CHECK-NEXT: return
  // VOLUME: @three_dims: all_to_all 2 x, 344064 bytes, permute 1 x, 294912 bytes; 638976 bytes in all
  return %v : tensor<96x96x96xf32>
}

// A cut waits until its dim is rid of what must go.
// CHECK-LABEL: func @cut_before_exchange(
func.func @cut_before_exchange(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["x"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<768x1536xf32>) -> tensor<1536x768xf32>
  // CHECK-NEXT: dist.all_slice %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<1536x768xf32>) -> tensor<512x768xf32>
  // CHECK-NEXT: return
  // VOLUME: @cut_before_exchange: all_to_all 1 x, 2359296 bytes; 2359296 bytes in all
  return %v : tensor<1536x1536xf32>
}

// A sum, everywhere.
// CHECK-LABEL: func @reduce(
func.func @reduce(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: dist.all_reduce %{{.+}} over @mesh ["x"] {{.*}} : (tensor<1536x1536xf32>) -> tensor<1536x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @reduce: all_reduce 1 x, 9437184 bytes; 9437184 bytes in all
  return %v : tensor<1536x1536xf32>
}

// A sum that is to be split: half of an all-reduce.
// CHECK-LABEL: func @scatter(
func.func @scatter(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: dist.reduce_scatter %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<1536x1536xf32>) -> tensor<768x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @scatter: reduce_scatter 1 x, 4718592 bytes; 4718592 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @scatter_minor(
func.func @scatter_minor(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}], unreduced = {"x"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y", "x"}, {}]>}) {
  // CHECK: dist.reduce_scatter %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<512x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @scatter_minor: reduce_scatter 1 x, 1572864 bytes; 1572864 bytes in all
  return %v : tensor<1536x1536xf32>
}

// The sum over the major axis.
// CHECK-LABEL: func @scatter_major(
func.func @scatter_major(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}], unreduced = {"x"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x", "y"}, {}]>}) {
  // CHECK: dist.reduce_scatter %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<512x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: dist.permute %{{.+}} over @mesh ["x", "y"] {{.*}}sources = array<i64: 0, 3, 1, 4, 2, 5>{{.*}} : (tensor<256x1536xf32>) -> tensor<256x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @scatter_major: permute 1 x, 1572864 bytes, reduce_scatter 1 x, 1572864 bytes; 3145728 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Two axes in one step.
// CHECK-LABEL: func @scatter_two(
func.func @scatter_two(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x", "y"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>}) {
  // CHECK: dist.reduce_scatter %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<1536x1536xf32>) -> tensor<768x1536xf32>
  // CHECK-NEXT: dist.reduce_scatter %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 1>{{.*}} : (tensor<768x1536xf32>) -> tensor<768x512xf32>
  // CHECK-NEXT: return
  // VOLUME: @scatter_two: reduce_scatter 2 x, 7864320 bytes; 7864320 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Reduced while the shards are small.
// CHECK-LABEL: func @reduce_and_gather(
func.func @reduce_and_gather(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}], unreduced = {"x"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>}) {
  // CHECK: dist.all_reduce %{{.+}} over @mesh ["x"] {{.*}} : (tensor<512x1536xf32>) -> tensor<512x1536xf32>
  // CHECK-NEXT: dist.all_gather %{{.+}} over @mesh ["y"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<512x1536xf32>) -> tensor<1536x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @reduce_and_gather: all_gather 1 x, 6291456 bytes, all_reduce 1 x, 3145728 bytes; 9437184 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @reduce_and_move(
func.func @reduce_and_move(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}], unreduced = {"x"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}]>}) {
  // CHECK: dist.all_reduce %{{.+}} over @mesh ["x"] {{.*}} : (tensor<512x1536xf32>) -> tensor<512x1536xf32>
  // CHECK-NEXT: dist.all_to_all %{{.+}} over @mesh ["y"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<512x1536xf32>) -> tensor<1536x512xf32>
  // CHECK-NEXT: return
  // VOLUME: @reduce_and_move: all_reduce 1 x, 3145728 bytes, all_to_all 1 x, 2097152 bytes; 5242880 bytes in all
  return %v : tensor<1536x1536xf32>
}

// A sum stays one while its dims move.
// CHECK-LABEL: func @keep_sum(
func.func @keep_sum(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {}], unreduced = {"x"}>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y"}], unreduced = {"x"}>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["y"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<512x1536xf32>) -> tensor<1536x512xf32>
  // CHECK-NEXT: return
  // VOLUME: @keep_sum: all_to_all 1 x, 2097152 bytes; 2097152 bytes in all
  return %v : tensor<1536x1536xf32>
}

// Whole values are shared out.
// CHECK-LABEL: func @split_to_sum(
func.func @split_to_sum(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<768x1536xf32>) -> tensor<1536x1536xf32>
  // CHECK-NEXT: graph.constant{{.*}} : tensor<1536x1536xf32>
  // CHECK-NEXT: graph.div{{.*}} : tensor<1536x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @split_to_sum: all_gather 1 x, 4718592 bytes; 4718592 bytes in all
  return %v : tensor<1536x1536xf32>
}

// CHECK-LABEL: func @whole_to_sum(
func.func @whole_to_sum(%v: tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
    -> (tensor<1536x1536xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], unreduced = {"x"}>}) {
  // CHECK: graph.constant{{.*}} : tensor<1536x1536xf32>
  // CHECK-NEXT: graph.div{{.*}} : tensor<1536x1536xf32>
  // CHECK-NEXT: return
  // VOLUME: @whole_to_sum: nothing is sent
  return %v : tensor<1536x1536xf32>
}

// Of small tensors the fewest steps are best.
// CHECK-LABEL: func @small_swap(
func.func @small_swap(%v: tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<12x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}, {"x"}]>}) {
  // CHECK: dist.all_gather %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 0>{{.*}} : (tensor<6x4xf32>) -> tensor<12x4xf32>
  // CHECK-NEXT: dist.all_to_all %{{.+}} over @mesh ["y"] {{.*}}concat_dims = array<i64: 1>{{.*}}split_dims = array<i64: 0>{{.*}} : (tensor<12x4xf32>) -> tensor<4x12xf32>
  // CHECK-NEXT: dist.all_slice %{{.+}} over @mesh ["x"] {{.*}}dims = array<i64: 1>{{.*}} : (tensor<4x12xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: return
  // VOLUME: @small_swap: all_gather 1 x, 96 bytes, all_to_all 1 x, 128 bytes; 224 bytes in all
  return %v : tensor<12x12xf32>
}

// Three parts do not go into a dim of four: only the other dim is used.
// CHECK-LABEL: func @indivisible(
func.func @indivisible(%v: tensor<4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<4x12xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"y", "x"}]>}) {
  // CHECK: dist.all_to_all %{{.+}} over @mesh ["x"] {{.*}}concat_dims = array<i64: 0>{{.*}}split_dims = array<i64: 1>{{.*}} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: return
  // VOLUME: @indivisible: all_to_all 1 x, 16 bytes; 16 bytes in all
  return %v : tensor<4x12xf32>
}
