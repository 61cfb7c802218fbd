//===- TestPartition.cpp - Partitioned programs against whole ones --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test-check-partition partitions the module and compares the result with what
// it was, on simulated ranks; `mutate` first breaks the partitioned program, to
// show that the comparison notices. test-explain prints the explanation.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "dialects/Dist/IR/Mesh.h"
#include "dialects/Graph/IR/Graph.h"
#include "passes/Analysis/CheckCompression.h"
#include "passes/Analysis/CheckPartition.h"
#include "passes/Analysis/Explain.h"
#include "passes/Partition/Passes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
struct TestCheckPartition
    : PassWrapper<TestCheckPartition, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestCheckPartition)
  TestCheckPartition() = default;
  TestCheckPartition(const TestCheckPartition &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-check-partition"; }
  StringRef getDescription() const final {
    return "partitions, and compares with the whole program";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<graph::GraphDialect>();
  }
  void runOnOperation() override {
    ModuleOp local = getOperation();
    OpPassManager number("builtin.module");
    number.addNestedPass<func::FuncOp>(createNumberOpsPass());
    if (failed(runPipeline(number, local)))
      return signalPassFailure();
    OwningOpRef<ModuleOp> global = local.clone();
    OpPassManager pipeline("builtin.module");
    pipeline.addPass(createPropagateShardingPass());
    pipeline.addNestedPass<func::FuncOp>(createInsertReshardsPass());
    pipeline.addNestedPass<func::FuncOp>(createInsertAllReducePass());
    pipeline.addNestedPass<func::FuncOp>(createVerifyUnreducedPass());
    SplitPortionsPassOptions portions;
    portions.weights.assign(weights.begin(), weights.end());
    pipeline.addPass(createSplitPortionsPass(portions));
    pipeline.addNestedPass<func::FuncOp>(createPadIndivisiblePass());
    pipeline.addPass(createPartitionPass());
    if (unroll)
      pipeline.addPass(createSeparateMicrobatchesPass());
    if (!schedule.empty()) {
      SplitStagesPassOptions split;
      split.schedule = schedule;
      split.stages = stages;
      pipeline.addPass(createSplitStagesPass(split));
    }
    if (!compress.empty()) {
      CompressCollectivesPassOptions method;
      method.method = compress;
      pipeline.addPass(createCompressCollectivesPass(method));
    }
    pipeline.addNestedPass<func::FuncOp>(createCombineCollectivesPass());
    pipeline.addPass(createSplitHostPass());
    pipeline.addPass(createUnrollMicrobatchesPass());
    if (overlap)
      pipeline.addNestedPass<func::FuncOp>(createOverlapCollectivesPass());
    if (failed(runPipeline(pipeline, local)))
      return signalPassFailure();
    if (failed(mutateProgram(local)))
      return signalPassFailure();
    CheckOptions options;
    options.seed = 1;
    auto checks = checkPartition(*global, local, options);
    if (failed(checks))
      return signalPassFailure();
    llvm::outs() << (isEqual(*checks) ? "equal\n" : "different\n")
                 << formatCheck(*checks);
  }

private:
  /// The first two sends of one type to one stage reach each other's recv.
  void swapTags(ModuleOp module) {
    SendOp first;
    module.walk([&](SendOp send) {
      if (first &&
          first.getInputs().getTypes() == send.getInputs().getTypes() &&
          first.getPeer() == send.getPeer() &&
          first->getBlock() == send->getBlock()) {
        uint64_t tag = first.getTag();
        first.setTag(send.getTag());
        send.setTag(tag);
        return WalkResult::interrupt();
      }
      if (!first)
        first = send;
      return WalkResult::advance();
    });
  }
  /// The first compressed gradient is added to itself instead of to what was
  /// left of it; or all of it is left, though a part is sent.
  void breakFeedback(ModuleOp module) {
    module.walk([&](graph::AddOp add) {
      if (!add->hasAttr(kCompressedAttr))
        return WalkResult::advance();
      if (mutate == "forget-rest")
        add->setOperand(1, add->getOperand(0));
      for (Operation *user : llvm::make_early_inc_range(add->getUsers()))
        if (mutate == "keep-all" && isa<graph::SubOp>(user))
          user->replaceAllUsesWith(ValueRange{add->getResult(0)});
      return WalkResult::interrupt();
    });
    // top-k adds and takes in one op.
    module.walk([&](graph::TakeTopKOp take) {
      if (mutate == "forget-rest")
        take->setOperand(1, take.getOperand());
      if (mutate != "keep-all")
        return;
      OpBuilder builder(take);
      Value all = graph::AddOp::create(builder, take.getLoc(),
                                       take.getOperand(), take.getLeft());
      take.getRest().replaceAllUsesWith(all);
    });
  }
  LogicalResult mutateProgram(ModuleOp module) {
    if (mutate.empty())
      return success();
    if (mutate == "swap-tags") {
      swapTags(module);
      return success();
    }
    if (mutate == "narrow") {
      // What is converted keeps its low bits alone.
      module.walk([](graph::ConvertOp convert) {
        OpBuilder builder(convert);
        Value x = convert.getOperand();
        auto narrow = cast<RankedTensorType>(x.getType())
                          .clone(builder.getIntegerType(8));
        Value bits =
            graph::ConvertOp::create(builder, convert.getLoc(), narrow, x);
        convert.getOperation()->setOperand(
            0, graph::ConvertOp::create(builder, convert.getLoc(), x.getType(),
                                        bits));
      });
      return success();
    }
    if (mutate == "host-max") {
      // The host takes the largest of what devices give, not their sum.
      module.walk(
          [](HostReduceOp reduce) { reduce.setReduction(Reduction::Max); });
      return success();
    }
    if (mutate == "forget-rest" || mutate == "keep-all") {
      breakFeedback(module);
      return success();
    }
    Operation *target = nullptr;
    module.walk([&](Operation *op) {
      bool wanted = mutate == "wrong-slice" ? isa<AllSliceOp>(op)
                    : mutate == "scale"     ? isa<graph::DivOp>(op)
                    : mutate == "mask"      ? isa<graph::SelectOp>(op)
                    : mutate == "portion"   ? isa<graph::SliceOp>(op)
                                            : isa<AllReduceOp>(op);
      if (wanted && !target)
        target = op;
    });
    if (!target)
      return emitError(module.getLoc(), "expected an op to mutate by '")
             << mutate << "'";
    OpBuilder builder(target->getContext());
    builder.setInsertionPointAfter(target);
    if (mutate == "drop") {
      target->replaceAllUsesWith(target->getOperands());
      target->erase();
    } else if (mutate == "double") {
      Operation *again = builder.clone(*target);
      target->replaceAllUsesWith(again->getResults());
      again->setOperands(target->getResults());
    } else if (mutate == "scale") {
      // By the ranks' own count where it should be by all of them.
      Value divisor = target->getOperand(1);
      auto sum =
          graph::AddOp::create(builder, target->getLoc(), divisor, divisor);
      sum->moveBefore(target);
      target->setOperand(1, sum);
    } else if (mutate == "portion") {
      // A place takes as many of the others' examples.
      auto slice = cast<graph::SliceOp>(target);
      SmallVector<int64_t> starts(slice.getStarts()), limits(slice.getLimits());
      ++starts[0], ++limits[0];
      slice.setStarts(starts);
      slice.setLimits(limits);
    } else if (mutate == "mask") {
      target->replaceAllUsesWith(ValueRange{target->getOperand(1)});
      target->erase();
    } else if (mutate == "wrong-slice") {
      auto slice = cast<AllSliceOp>(target);
      int64_t size = findMesh(module).getGroupSize(
          cast<CollectiveOpInterface>(target).getGroupAxes());
      SmallVector<int64_t> sources;
      for (int64_t i = 0; i < size; ++i)
        sources.push_back((i + 1) % size);
      auto rotated = PermuteOp::create(
          builder, slice.getLoc(), slice->getResultTypes(), slice->getResults(),
          sources, slice.getMesh(), slice.getAxes(), "mutation", "mutation");
      rotated->setAttr(DistDialect::kShardings,
                       slice->getAttr(DistDialect::kShardings));
      slice->replaceUsesWithIf(
          rotated, [&](OpOperand &use) { return use.getOwner() != rotated; });
    }
    return success();
  }

  Option<std::string> mutate{
      *this, "mutate",
      llvm::cl::desc("drop, double, wrong-slice, scale, mask, portion, "
                     "swap-tags, narrow, host-max, forget-rest or keep-all")};
  Option<std::string> compress{*this, "compress",
                               llvm::cl::desc("Gradients by this method")};
  Option<bool> unroll{*this, "unroll", llvm::cl::desc("Unroll microbatches"),
                      llvm::cl::init(false)};
  Option<int64_t> stages{*this, "stages", llvm::cl::desc("Of the pipeline"),
                         llvm::cl::init(0)};
  Option<std::string> schedule{*this, "schedule",
                               llvm::cl::desc("Split stages by this")};
  ListOption<int64_t> weights{*this, "weights",
                              llvm::cl::desc("Of the places along 'data'")};
  Option<bool> overlap{*this, "overlap", llvm::cl::desc("Start and wait"),
                       llvm::cl::init(false)};
};

struct TestExplain : PassWrapper<TestExplain, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestExplain)
  TestExplain() = default;
  TestExplain(const TestExplain &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "test-explain"; }
  StringRef getDescription() const final { return "prints the explanation"; }
  void runOnOperation() override {
    ExplainReport report = explain(getOperation());
    llvm::outs() << (json ? formatExplainJson(report)
                          : formatExplainTable(report));
  }

private:
  Option<bool> json{*this, "json", llvm::cl::desc("As JSON"),
                    llvm::cl::init(false)};
};
} // namespace

namespace mlir::dist {
void registerTestPartition();
void registerTestPartition() {
  PassRegistration<TestCheckPartition>();
  PassRegistration<TestExplain>();
}
} // namespace mlir::dist
