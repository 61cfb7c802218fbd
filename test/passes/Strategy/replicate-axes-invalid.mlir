// RUN: not dist-opt %s --dist-replicate=axes=data:2,model 2>&1 | FileCheck %s
// CHECK: expected axes as NAME:SIZE with a size >= 1, but got 'model'
func.func @f() { return }
