//===- nearest.cpp - The name that was meant ------------------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/near_word.h"
#include "tools/options/options.h"
#include <algorithm>

namespace dist::tools {

/// What other frameworks and tools call our options, strategies and devices; in
/// small letters, words joined by '-'.
static const std::pair<const char *, const char *> kElsewhere[] = {
    {"--learning-rate", "--optimizer"},
    {"--lr", "--optimizer"},
    {"--momentum", "--optimizer"},
    {"--scheduler", "--lr-schedule"},
    {"--patience", "--early-stopping"},
    {"--save-best-only", "--save-best"},
    {"--reduce-lr", "--reduce-lr-on-plateau"},
    {"--val-split", "--validation-split"},
    {"--lr-scheduler", "--lr-schedule"},
    {"--criterion", "--loss"},
    {"--bs", "--batch-size"},
    {"--per-device-batch-size", "--batch-size"},
    {"--global-batch-size", "--batch-size"},
    {"--num-epochs", "--epochs"},
    {"--max-epochs", "--epochs"},
    {"--max-steps", "--steps"},
    {"--gpus", "--devices"},
    {"--device", "--devices"},
    {"--num-devices", "--devices"},
    {"--nproc-per-node", "--devices"},
    {"--world-size", "--devices"},
    {"--nnodes", "--workers"},
    {"--num-processes", "--workers"},
    {"--num-threads", "--threads"},
    {"--amp", "--precision"},
    {"--fp16", "--precision"},
    {"--bf16", "--precision"},
    {"--dtype", "--precision"},
    {"--mixed-precision", "--precision"},
    {"--grad-accumulation", "--accumulate"},
    {"--gradient-accumulation-steps", "--accumulate"},
    {"--accumulate-grad-batches", "--accumulate"},
    {"--gradient-clip-val", "--clip-norm"},
    {"--max-grad-norm", "--clip-norm"},
    {"--gradient-checkpointing", "--recompute"},
    {"--remat", "--recompute"},
    {"--sync-bn", "--sync-batch-norm"},
    {"--sync-batchnorm", "--sync-batch-norm"},
    {"--parallelism", "--strategy"},
    {"--train-data", "--data"},
    {"--dataset", "--data"},
    {"--valid-data", "--validation-data"},
    {"--val-data", "--validation-data"},
    {"--eval-data", "--validation-data"},
    {"--test-data", "--validation-data"},
    {"--save-dir", "--checkpoint"},
    {"--ckpt", "--checkpoint"},
    {"--checkpoint-dir", "--checkpoint"},
    {"--restore", "--resume"},
    {"--resume-from-checkpoint", "--resume"},
    {"--log-dir", "--tensorboard"},
    {"--logdir", "--tensorboard"},
    {"--profile", "--trace"},
    {"--random-seed", "--seed"},
    {"ddp", "mirrored"},
    {"dp", "mirrored"},
    {"data-parallel", "mirrored"},
    {"distributeddataparallel", "mirrored"},
    {"pmap", "mirrored"},
    {"dataparallel", "mirrored"},
    {"multiworkermirrored", "multi-worker-mirrored"},
    {"multi-worker", "multi-worker-mirrored"},
    {"collectiveallreduce", "multi-worker-mirrored"},
    {"torchrun", "multi-worker-mirrored"},
    {"horovod", "mirrored"},
    {"tpu", "mirrored"},
    {"onedevice", "one-device"},
    {"single", "one-device"},
    {"centralstorage", "central-storage"},
    {"tp", "tensor-split"},
    {"tensor-parallel", "tensor-split"},
    {"model-parallel", "tensor-split"},
    {"megatron", "tensor-split"},
    {"shard-map", "tensor-split"},
    {"dtensor", "tensor-split"},
    {"pp", "pipeline"},
    {"gpipe", "pipeline"},
    {"fsdp", "zero"},
    {"fully-sharded", "zero"},
    {"deepspeed", "zero"},
    {"gpu", "cuda"},
    {"nvidia", "cuda"},
    {"train", "fit"},
    {"eval", "evaluate"},
    {"test", "evaluate"},
    {"infer", "predict"},
    {"run", "predict"},
    {"benchmark", "bench"},
    {"show", "info"},
    {"inspect", "info"},
};

std::string nearestName(const std::string &given,
                        const std::vector<std::string> &known) {
  // MirroredStrategy, batch_size: as we write them.
  std::string word = given;
  for (char &c : word)
    c = c == '_' ? '-' : std::tolower(static_cast<unsigned char>(c));
  static const std::string kind = "strategy";
  if (word.size() > kind.size() && word[0] != '-' &&
      word.compare(word.size() - kind.size(), kind.size(), kind) == 0)
    word.resize(word.size() - kind.size());
  auto isKnown = [&](const std::string &name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  if (isKnown(word))
    return word;
  for (auto [other, ours] : kElsewhere)
    if (other == word && isKnown(ours))
      return ours;
  return nearestWord(word, known);
}

} // namespace dist::tools
