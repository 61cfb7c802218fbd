// What examples/export/jax_to_mlir.py writes for jax.lax.stop_gradient.
// RUN: dist-opt %s --emit=graph | FileCheck %s
// CHECK: %[[STOPPED:.+]] = graph.stop_gradient %{{.+}} : tensor<2x3xf32>
// CHECK: graph.mul %{{.+}}, %[[STOPPED]]
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<2x3xf32>):
    %stopped = "stablehlo.custom_call"(%x) <{call_target_name = "dist.stop_gradient"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %y = "stablehlo.multiply"(%x, %stopped) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%y) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
}) : () -> ()
