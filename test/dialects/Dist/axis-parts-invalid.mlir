// RUN: dist-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected axis 'a:(1)2' to have size 2, as its name says, but got 4}}
dist.mesh @mesh_c3 ["a:(1)2"=4]

// -----
// expected-error @+1 {{expected 1 ranks of axis 'a' before 'a:(2)2'}}
dist.mesh @mesh_c3 ["a:(2)2"=2, "a:(1)2"=2]

// -----
// expected-error @+1 {{expected the parts of axis 'a' to stand together}}
dist.mesh @mesh_c3 ["a:(1)2"=2, "b"=2, "a:(2)2"=2]

// -----
// expected-error @+1 {{expected axis 'a' as a whole or in parts}}
dist.mesh @mesh_c3 ["a"=4, "a:(1)2"=2]

// -----
dist.mesh @m ["a:(1)2"=2, "a:(2)2"=2]
// expected-error @+1 {{expected an axis of @m, but got 'a', which stands in parts there: 'a:(1)2,a:(2)2'}}
func.func @whole(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"a"}]>}) { return }

// -----
dist.mesh @m ["a"=4]
// expected-error @+1 {{expected a part of an axis as (PRE)SIZE with PRE >= 1 and SIZE >= 2}}
func.func @size(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"a":(2)1}]>}) { return }

// -----
dist.mesh @m ["a"=4]
// expected-error @+1 {{expected a priority such as p1 behind a dim}}
func.func @word(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"a"}first]>}) { return }

// -----
dist.mesh @m ["a"=4]
// expected-error @+1 {{expected no priority of a closed dim that is not split: it has nothing to spread}}
func.func @nothing(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}p1]>}) { return }
