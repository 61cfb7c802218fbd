// RUN: dist-opt %s --dist-overlap-collectives -verify-diagnostics

// Whether something runs beside a transfer is asked of one block.
dist.mesh @mesh ["data"=2]
// expected-error @+1 {{'func.func' op dist-overlap-collectives: expected one block, but got 2}}
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.all_reduce %x over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<8xf32>) -> tensor<8xf32>
  cf.br ^bb1
^bb1:
  return %0 : tensor<8xf32>
}
