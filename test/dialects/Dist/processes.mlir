// RUN: dist-opt %s --dist-create-mesh="axes=host:2,data:4 processes=host:2" | FileCheck %s
// RUN: dist-opt %s --dist-create-mesh="axes=data:4,model:2 processes=data:2" -verify-roundtrip | FileCheck %s --check-prefix=PART
// CHECK: dist.mesh @mesh ["host"=2, "data"=4] {processes = {host = 2 : i64}}
// PART: dist.mesh @mesh ["data"=4, "model"=2] {processes = {data = 2 : i64}}
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
