// RUN: dist-opt %s --dist-replicate=axes=data:2 -split-input-file -verify-diagnostics

// expected-error @+1 {{argument 0 ("x"): a batch of 7 cannot be split over 2 replicas; give the model a batch that they divide, such as 8, or other replicas}}
func.func @batch(%x: tensor<7x6xf32> {graph.name = "x", graph.batch_dim = 0 : i64}) { return }

// -----
// expected-error @+1 {{argument 0: expected graph.batch_dim to be a dim of 'tensor<8xf32>'}}
func.func @batch_dim(%x: tensor<8xf32> {graph.batch_dim = 1 : i64}) { return }

// -----
// expected-error @+1 {{expected dim 0 of an ON_READ variable with MEAN aggregation to have one row for each of the 2 replicas, but got 'tensor<3xf32>'}}
graph.variable @mean : tensor<3xf32> {synchronization = 1 : i32, aggregation = 2 : i32} = dense<0.0> : tensor<3xf32>

// -----
// expected-error @+1 {{expected dim 0 of an ON_READ variable with ONLY_FIRST_REPLICA aggregation to have one row for each of the 2 replicas, but got 'tensor<i64>'}}
graph.variable @first : tensor<i64> {synchronization = 1 : i32, aggregation = 3 : i32} = dense<0> : tensor<i64>

// -----
// expected-error @+1 {{expected an ON_READ variable to have SUM, MEAN or ONLY_FIRST_REPLICA aggregation}}
graph.variable @none : tensor<3xf32> {synchronization = 1 : i32} = dense<0.0> : tensor<3xf32>

// -----
// expected-error @+1 {{argument 0: expected a graph.variable named @nowhere}}
func.func @variable(%x: tensor<8xf32> {graph.variable = @nowhere}) { return }

// -----
// expected-error @+1 {{expected a module without a mesh}}
module {
  dist.mesh @other ["a"=2]
}
