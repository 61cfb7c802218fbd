// StableHLO is read in MLIR's generic form. Of constants the import computes at
// once what its ops would: what StableHLO's specification says.
// RUN: dist-opt %s --emit=graph -o - | dist-opt --graph-fold | FileCheck %s

// A number in the middle, where its place is in the way of the end: all of its window is kept within.
// CHECK-DAG: %[[SLICE:.+]] = graph.constant dense<{{\[}}[4, 5], [7, 8]]> : tensor<2x2xi32>
// CHECK-DAG: %[[UPDATE:.+]] = graph.constant dense<{{\[}}[0, 1, 2], [3, 90, 91], [6, 7, 8]]> : tensor<3x3xi32>
// Windows of a gather are moved within, those of a scatter left out.
// CHECK-DAG: %[[GATHER:.+]] = graph.constant dense<{{\[\[}}[1, 2], [4, 5]], {{\[}}[4, 5], [7, 8]]]> : tensor<2x2x2xi32>
// CHECK-DAG: %[[SCATTER:.+]] = graph.constant dense<{{\[}}[0, 1, 2], [3, 14, 5], [6, 7, 8]]> : tensor<3x3xi32>
// CHECK-DAG: %[[SORTED:.+]] = graph.constant dense<[3.000000e+00, 2.000000e+00, 1.000000e+00]> : tensor<3xf32>
// CHECK-DAG: %[[PLACES:.+]] = graph.constant dense<[1, 2, 0]> : tensor<3xi32>
// CHECK-DAG: %[[BEST:.+]] = graph.constant dense<1> : tensor<i32>
// Five rounds of x = 2 x from 1; then the branch of 'true'.
// CHECK-DAG: %[[LOOP:.+]] = graph.constant dense<32> : tensor<i32>
// CHECK-DAG: %[[BRANCH:.+]] = graph.constant dense<-32> : tensor<i32>
// CHECK-DAG: %[[ROUND:.+]] = graph.constant dense<[-3.000000e+00, 0.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-DAG: %[[SUMS:.+]] = graph.constant dense<[1.000000e+00, 4.000000e+00, 6.000000e+00]> : tensor<3xf32>
// CHECK-DAG: %[[SHIFT:.+]] = graph.constant dense<[-1, 2]> : tensor<2xi32>
// CHECK: return %[[SLICE]], %[[UPDATE]], %[[GATHER]], %[[SCATTER]], %[[SORTED]], %[[PLACES]], %[[BEST]], %[[LOOP]], %[[BRANCH]], %[[ROUND]], %[[SUMS]], %[[SHIFT]] :
"builtin.module"() ({
  "func.func"() <{function_type = () -> (tensor<2x2xi32>, tensor<3x3xi32>, tensor<2x2x2xi32>, tensor<3x3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<2xi32>), sym_name = "main"}> ({
    %x = "stablehlo.constant"() <{value = dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8]]> : tensor<3x3xi32>}> : () -> tensor<3x3xi32>
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %5 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %slice = "stablehlo.dynamic_slice"(%x, %5, %1) <{slice_sizes = array<i64: 2, 2>}> : (tensor<3x3xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
    %row = "stablehlo.constant"() <{value = dense<[[90, 91]]> : tensor<1x2xi32>}> : () -> tensor<1x2xi32>
    %update = "stablehlo.dynamic_update_slice"(%x, %row, %1, %5) : (tensor<3x3xi32>, tensor<1x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x3xi32>

    %starts = "stablehlo.constant"() <{value = dense<[[0, 1], [9, 9]]> : tensor<2x2xi32>}> : () -> tensor<2x2xi32>
    %gather = "stablehlo.gather"(%x, %starts) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 2>}> : (tensor<3x3xi32>, tensor<2x2xi32>) -> tensor<2x2x2xi32>
    %places = "stablehlo.constant"() <{value = dense<[[1, 1], [2, 3], [-1, 0]]> : tensor<3x2xi32>}> : () -> tensor<3x2xi32>
    %tens = "stablehlo.constant"() <{value = dense<10> : tensor<3xi32>}> : () -> tensor<3xi32>
    %scatter = "stablehlo.scatter"(%x, %places, %tens) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%sum) : (tensor<i32>) -> ()
    }) : (tensor<3x3xi32>, tensor<3x2xi32>, tensor<3xi32>) -> tensor<3x3xi32>

    %v = "stablehlo.constant"() <{value = dense<[1.0, 3.0, 2.0]> : tensor<3xf32>}> : () -> tensor<3xf32>
    %count = "stablehlo.constant"() <{value = dense<[0, 1, 2]> : tensor<3xi32>}> : () -> tensor<3xi32>
    %sorted:2 = "stablehlo.sort"(%v, %count) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %less = "stablehlo.compare"(%b, %a) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%less) : (tensor<i1>) -> ()
    }) : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
    %low = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %best:2 = "stablehlo.reduce"(%v, %count, %low, %0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
      %gt = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %eq = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %lt = "stablehlo.compare"(%i, %j) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %tie = "stablehlo.and"(%eq, %lt) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %first = "stablehlo.or"(%gt, %tie) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %value = "stablehlo.select"(%gt, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %place = "stablehlo.select"(%first, %i, %j) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%value, %place) : (tensor<f32>, tensor<i32>) -> ()
    }) : (tensor<3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)

    %loop:2 = "stablehlo.while"(%0, %1) ({
    ^bb0(%i: tensor<i32>, %y: tensor<i32>):
      %goes = "stablehlo.compare"(%i, %5) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%goes) : (tensor<i1>) -> ()
    }, {
    ^bb0(%i: tensor<i32>, %y: tensor<i32>):
      %next = "stablehlo.add"(%i, %1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %twice = "func.call"(%y) <{callee = @twice}> : (tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%next, %twice) : (tensor<i32>, tensor<i32>) -> ()
    }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %is = "stablehlo.compare"(%loop#0, %5) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %branch = "stablehlo.if"(%is) ({
      %minus = "stablehlo.negate"(%loop#1) : (tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%minus) : (tensor<i32>) -> ()
    }, {
      "stablehlo.return"(%0) : (tensor<i32>) -> ()
    }) : (tensor<i1>) -> tensor<i32>

    // The float below 0.5 is no tie, though 0.5 more than it is rounded to 1.
    %halves = "stablehlo.constant"() <{value = dense<[-2.5, 0.49999997, 2.5]> : tensor<3xf32>}> : () -> tensor<3xf32>
    %round = "stablehlo.round_nearest_afz"(%halves) : (tensor<3xf32>) -> tensor<3xf32>
    %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %sums = "stablehlo.reduce_window"(%v, %zero) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%sum) : (tensor<f32>) -> ()
    }) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %ints = "stablehlo.constant"() <{value = dense<[-1, 5]> : tensor<2xi32>}> : () -> tensor<2xi32>
    %ones = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi32>
    %shift = "stablehlo.shift_right_arithmetic"(%ints, %ones) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    "func.return"(%slice, %update, %gather, %scatter, %sorted#0, %sorted#1, %best#1, %loop#1, %branch, %round, %sums, %shift) : (tensor<2x2xi32>, tensor<3x3xi32>, tensor<2x2x2xi32>, tensor<3x3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i32>) -> tensor<i32>, sym_name = "twice", sym_visibility = "private"}> ({
  ^bb0(%y: tensor<i32>):
    %sum = "stablehlo.add"(%y, %y) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%sum) : (tensor<i32>) -> ()
  }) : () -> ()
}) : () -> ()
