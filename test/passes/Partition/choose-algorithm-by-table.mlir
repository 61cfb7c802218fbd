// RUN: split-file %s %t
// RUN: dist-opt %t/program.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/times.json}))" | FileCheck %t/program.mlir
// Over a network other rows hold.
// RUN: dist-opt %t/program.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/times.json hosts=2}))" | FileCheck %t/program.mlir --check-prefix=NETWORK
// What the user asks for is not chosen again.
// RUN: dist-opt %t/program.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{algorithm=exchange collectives-table=%t/times.json}))" | FileCheck %t/program.mlir --check-prefix=ASKED
// Links say it, too: a million messages of a few bytes are worse than ten rounds, and a large sum is cut into parts.
// RUN: dist-opt %t/many.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{link-table=%t/links.json}))" | FileCheck %t/many.mlir
// Ranks of one process read each other's memory.
// RUN: dist-opt %t/one.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/memory.json}))" | FileCheck %t/one.mlir

// RUN: not dist-opt %t/program.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/memory.json}))" 2>&1 | FileCheck %s --check-prefix=LINK
// LINK: program.mlir:{{[0-9]+}}:{{.*}}error: how long it takes is not told by {{.*}}memory.json: it has no row of all_reduce by exchange of 4 ranks over process; of that collective and link it has none; measure it: dist-run bench --collectives
// RUN: not dist-opt %t/many.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/times.json}))" 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: error: {{.*}}times.json: it has no row of all_reduce by gather of 1024 ranks over process; of that collective and link it has those of 4 ranks
// At 32 KiB the runtime goes another way, of what it sends: each tensor begins at a multiple of 8 bytes.
// RUN: not dist-opt %t/packed.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/memory.json}))" 2>&1 | FileCheck %s --check-prefix=PACKED
// PACKED: packed.mlir:3:{{.*}}error: {{.*}}it has no row of all_reduce by exchange of 2 ranks over process
// RUN: not dist-opt %t/unpacked.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/memory.json}))" 2>&1 | FileCheck %s --check-prefix=UNPACKED
// UNPACKED: unpacked.mlir:3:{{.*}}error: {{.*}}it has no row of all_reduce by parts of 2 ranks over process
// RUN: not dist-opt %t/gather.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/times.json}))" 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: gather.mlir:3:{{.*}}error: {{.*}}times.json: it has no row of all_gather of 4 ranks over process
// RUN: not dist-opt %t/many.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{link-table=%t/few.json}))" 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: error: {{.*}}few.json: its outermost level, 'host', has 8 ranks, and the mesh 1024; add a level
// RUN: not dist-opt %t/program.mlir --pass-pipeline="builtin.module(func.func(dist-choose-algorithm{collectives-table=%t/none.json}))" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: cannot read file ({{.*}}none.json): No such file or directory; check the name and its permissions

//--- program.mlir
dist.mesh @mesh ["host"=4] {processes = {host = 4 : i64}}
// The ring and halves take the least time, and sum in other orders: they are no choice.
// CHECK-LABEL: func @by_size
// CHECK: all_reduce %arg0 over @mesh ["host"] using gather
// CHECK: all_reduce_start %arg1 over @mesh ["host"] using reduce_to_one
// Larger than what gather was measured for.
// CHECK: all_reduce %arg2 over @mesh ["host"] using parts
// NETWORK-LABEL: func @by_size
// NETWORK-COUNT-3: using exchange
// ASKED-LABEL: func @by_size
// ASKED-COUNT-3: using exchange
func.func @by_size(%a: tensor<2xf32>, %b: tensor<1024xf32>, %c: tensor<1048576xf32>) -> (tensor<2xf32>, tensor<1024xf32>, tensor<1048576xf32>) {
  %0 = dist.all_reduce %a over @mesh ["host"] {reason = "r", origin = "o"} : (tensor<2xf32>) -> tensor<2xf32>
  %token = dist.all_reduce_start %b over @mesh ["host"] {reason = "r", origin = "o"} : (tensor<1024xf32>) -> !dist.token<tensor<1024xf32>>
  %1 = dist.wait %token : (!dist.token<tensor<1024xf32>>) -> tensor<1024xf32>
  %2 = dist.all_reduce %c over @mesh ["host"] {reason = "r", origin = "o"} : (tensor<1048576xf32>) -> tensor<1048576xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<1024xf32>, tensor<1048576xf32>
}

//--- gather.mlir
dist.mesh @mesh ["host"=4] {processes = {host = 4 : i64}}
func.func @gather(%a: tensor<2xf32>) -> tensor<8xf32> {
  %0 = dist.all_gather %a over @mesh ["host"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (tensor<2xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- many.mlir
dist.mesh @mesh ["host"=128, "data"=8] {processes = {host = 128 : i64}}
// CHECK-LABEL: func @many
// CHECK: all_reduce %arg0 over @mesh ["host", "data"] using gather
// CHECK: all_reduce %arg1 over @mesh ["host", "data"] using parts
func.func @many(%a: tensor<2xf32>, %b: tensor<16777216xf32>) -> (tensor<2xf32>, tensor<16777216xf32>) {
  %0 = dist.all_reduce %a over @mesh ["host", "data"] {reason = "r", origin = "o"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = dist.all_reduce %b over @mesh ["host", "data"] {reason = "r", origin = "o"} : (tensor<16777216xf32>) -> tensor<16777216xf32>
  return %0, %1 : tensor<2xf32>, tensor<16777216xf32>
}

//--- one.mlir
dist.mesh @mesh ["data"=4]
// CHECK-LABEL: func @one
// CHECK: all_reduce
// CHECK-NOT: using
func.func @one(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = dist.all_reduce %a over @mesh ["data"] {reason = "r", origin = "o"} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

//--- times.json
{"version": 1, "collectives": [
{"collective": "all_reduce", "algorithm": "ring", "link": "process", "ranks": 4, "bytes": 8, "seconds": 1e-9},
{"collective": "all_reduce", "algorithm": "ring", "link": "process", "ranks": 4, "bytes": 8388608, "seconds": 1e-9},
{"collective": "all_reduce", "algorithm": "halving_doubling", "link": "process", "ranks": 4, "bytes": 8, "seconds": 1e-9},
{"collective": "all_reduce", "algorithm": "halving_doubling", "link": "process", "ranks": 4, "bytes": 8388608, "seconds": 1e-9},
{"collective": "all_reduce", "algorithm": "exchange", "link": "process", "ranks": 4, "bytes": 8, "seconds": 9e-6},
{"collective": "all_reduce", "algorithm": "exchange", "link": "process", "ranks": 4, "bytes": 1048576, "seconds": 9e-3},
{"collective": "all_reduce", "algorithm": "gather", "link": "process", "ranks": 4, "bytes": 8, "seconds": 2e-6},
{"collective": "all_reduce", "algorithm": "gather", "link": "process", "ranks": 4, "bytes": 1048576, "seconds": 2e-3},
{"collective": "all_reduce", "algorithm": "parts", "link": "process", "ranks": 2, "bytes": 8, "seconds": 9e-6},
{"collective": "all_reduce", "algorithm": "parts", "link": "process", "ranks": 4, "bytes": 8, "seconds": 9e-6},
{"collective": "all_reduce", "algorithm": "parts", "link": "process", "ranks": 4, "bytes": 8388608, "seconds": 3e-3},
{"collective": "all_reduce", "algorithm": "reduce_to_one", "link": "process", "ranks": 4, "bytes": 8, "seconds": 3e-6},
{"collective": "all_reduce", "algorithm": "reduce_to_one", "link": "process", "ranks": 4, "bytes": 4096, "seconds": 4e-6},
{"collective": "all_reduce", "algorithm": "reduce_to_one", "link": "process", "ranks": 4, "bytes": 8388608, "seconds": 1},
{"collective": "all_reduce", "algorithm": "exchange", "link": "network", "ranks": 4, "bytes": 8, "seconds": 9e-6}
]}

//--- packed.mlir
dist.mesh @mesh ["host"=2] {processes = {host = 2 : i64}}
func.func @packed(%a: tensor<8190xf32>, %b: tensor<2xf32>) -> (tensor<8190xf32>, tensor<2xf32>) {
  %0:2 = dist.all_reduce %a, %b over @mesh ["host"] {reason = "r", origin = "o"} : (tensor<8190xf32>, tensor<2xf32>) -> (tensor<8190xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<8190xf32>, tensor<2xf32>
}

//--- unpacked.mlir
dist.mesh @mesh ["host"=2] {processes = {host = 2 : i64}}
func.func @unpacked(%a: tensor<8191xf32>, %b: tensor<1xf32>) -> (tensor<8191xf32>, tensor<1xf32>) {
  %0:2 = dist.all_reduce %a, %b over @mesh ["host"] {reason = "r", origin = "o"} : (tensor<8191xf32>, tensor<1xf32>) -> (tensor<8191xf32>, tensor<1xf32>)
  return %0#0, %0#1 : tensor<8191xf32>, tensor<1xf32>
}

//--- memory.json
{"version": 1, "collectives": [
{"collective": "all_reduce", "algorithm": "auto", "link": "memory", "ranks": 4, "bytes": 8, "seconds": 9e-6},
{"collective": "all_reduce", "algorithm": "reduce_to_one", "link": "memory", "ranks": 4, "bytes": 8, "seconds": 1e-6}
]}

//--- links.json
{"version": 1, "levels": [
{"level": "host", "ranks": 8, "bytes_per_second": 2e10, "latency_seconds": 1e-6, "message_seconds": 5e-7},
{"level": "network", "ranks": 1024, "bytes_per_second": 3e9, "latency_seconds": 1e-5, "message_seconds": 2e-6}
]}

//--- few.json
{"version": 1, "levels": [
{"level": "host", "ranks": 8, "bytes_per_second": 2e10, "latency_seconds": 1e-6, "message_seconds": 5e-7}
]}
