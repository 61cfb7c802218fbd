// RUN: not dist-opt %s --graph-recompute=ops=nothing 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not dist-opt %s "--graph-recompute=ops=(" 2>&1 | FileCheck %s --check-prefix=REGEX

// NONE: error: --recompute: no op of the forward pass that can be computed again has a name that matches 'nothing'; names are those of the model's nodes
// REGEX: error: --recompute: expected auto or a regular expression of ops' names, but got '(': parentheses not balanced
func.func @train_step(%x: tensor<64xf32> {graph.role = "input"})
    -> (tensor<64xf32> {graph.role = "loss"}, tensor<64xf32> {graph.role = "gradient"}) {
  %a = graph.exp %x : tensor<64xf32> loc("exp")
  %g = graph.neg %x {graph.cotangent} : tensor<64xf32>
  %g1 = graph.mul %g, %a {graph.cotangent} : tensor<64xf32>
  return %a, %g1 : tensor<64xf32>, tensor<64xf32>
}
