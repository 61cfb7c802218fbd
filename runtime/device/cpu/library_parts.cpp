//===- library_parts.cpp - Library kernels cut for a team -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_parts.h"
#include "runtime/core/types.h"
#include "runtime/device/cpu/kernel_memories.h"
#include "runtime/device/cpu/team.h"
#include <algorithm>
#include <atomic>

namespace dist::cpu {

namespace {

using Spec = manifest::LibraryKernel;
using Cut = LibraryParts::Cut;

/// As many parts as this for each thread: one more is done in the time by which
/// the last of the others is late.
constexpr int partsPerThread = 4;
/// A part takes some ten microseconds at least.
constexpr double leastWork = 1e6;
/// A kernel below it is for one thread.
constexpr double leastSharedWork = 5e6;
constexpr double leastSharedBytes = 512 << 10;
/// No two parts write columns of one cache line.
constexpr int64_t lineBytes = 64;
/// What parts write of sums, and others add, is this little beside what they
/// read.
constexpr int64_t readsPerSum = 4;
/// The library packs the first operand, of which each part by columns has all.
constexpr int64_t readsPerPacked = 2;

int64_t countElements(const Spec::Memory &memory) {
  int64_t elements = 1;
  for (int64_t dim : memory.dims())
    elements *= dim;
  return elements;
}

int64_t countBytes(const Spec::Memory &memory) {
  return countElements(memory) * byteSize(memory.type());
}

/// Additions and multiplications; of a reorder the bytes that it moves.
double countWork(const Spec &spec) {
  auto elements = [&](int memory) {
    return double(countElements(spec.memories(memory)));
  };
  int last = spec.memories_size() - 1;
  switch (spec.kind()) {
  case Spec::MATMUL: {
    const auto &dims = spec.memories(0).dims();
    return 2 * elements(last) * dims.Get(dims.size() - 1);
  }
  case Spec::REORDER:
    return countBytes(spec.memories(0));
  default: {
    // A pixel of the output meets all of the filter but for its channels.
    int out = spec.kind() == Spec::CONV              ? last
              : spec.kind() == Spec::CONV_INPUT_GRAD ? 0
                                                     : 1;
    int filter = spec.kind() == Spec::CONV_FILTER_GRAD ? 2 : 1;
    return 2 * elements(out) * elements(filter) / spec.memories(out).dims(1);
  }
  }
}

/// Whether its elements lie without gaps, or as the library wants.
bool isDense(const Spec::Memory &memory) {
  if (memory.strides_size() == 0)
    return true;
  int64_t reach = 1;
  for (int d = 0; d < memory.dims_size(); ++d)
    reach += (memory.dims(d) - 1) * memory.strides(d);
  return !overlaps(memory) && reach == countElements(memory);
}

/// So that no two parts write to one cache line.
constexpr int64_t alignPart(int64_t bytes) { return (bytes + 255) & ~255; }

} // namespace

/// See LibraryParts::cutDim.
static int cutDimOf(const Spec &spec, Cut cut, int memory) {
  // Columns of a product are the second operand's, the bias's and the result's.
  if (cut == Cut::Columns)
    return memory > 0 ? spec.memories(memory).dims_size() - 1 : -1;
  bool isCut = spec.kind() == Spec::CONV_FILTER_GRAD
                   ? memory < 2
                   : memory == 0 || memory == spec.memories_size() - 1;
  return isCut ? 0 : -1;
}

static bool isSummedIn(const Spec &spec, int memory) {
  return spec.kind() == Spec::CONV_FILTER_GRAD && memory >= 2;
}

/// What a part has at least one of.
static int64_t countPieces(const Spec &spec, Cut cut) {
  if (cut == Cut::Rows)
    return spec.memories(0).dims(0);
  const Spec::Memory &result = spec.memories(spec.memories_size() - 1);
  int64_t columns = result.dims(1);
  int64_t ofLine = lineBytes / int64_t(byteSize(result.type()));
  return columns % ofLine ? 0 : columns / ofLine;
}

/// 1: it is not cut so.
static int countParts(const Spec &spec, Cut cut, int threads) {
  int64_t moving = 0, common = 0;
  for (int i = 0; i < spec.memories_size(); ++i) {
    const Spec::Memory &memory = spec.memories(i);
    if (cutDimOf(spec, cut, i) >= 0) {
      if (memory.strides_size() == 0)
        return 1;
      moving += countBytes(memory);
      continue;
    }
    bool summed = isSummedIn(spec, i);
    int64_t reads = summed                ? readsPerSum
                    : cut == Cut::Columns ? readsPerPacked
                                          : 1;
    common += countBytes(memory) * reads;
    if (summed && (memory.type() != manifest::F32 || !isDense(memory)))
      return 1;
  }
  int64_t pieces = countPieces(spec, cut);
  int64_t most = std::min<int64_t>(threads * partsPerThread, pieces);
  most = std::min<int64_t>(most, 2 * moving / std::max<int64_t>(1, common));
  most = std::min<int64_t>(most, countWork(spec) / leastWork);
  // Equal ones, so that threads with nothing in their way end together.
  for (int64_t parts = most / threads * threads; parts > 0; parts -= threads)
    if (pieces % parts == 0)
      return int(parts);
  return 1;
}

namespace {
struct Division {
  Cut cut;
  int parts; // 1: it is not cut
};
} // namespace

/// By rows where that will do: columns of a result lie apart.
static Division divide(const Spec &spec, int threads) {
  bool isProduct = spec.kind() == Spec::MATMUL;
  if (threads < 2 || spec.kind() == Spec::REORDER ||
      (isProduct && spec.memories(0).dims_size() != 2))
    return {Cut::Rows, 1};
  int parts = countParts(spec, Cut::Rows, threads);
  if (parts > 1 || !isProduct)
    return {Cut::Rows, parts};
  return {Cut::Columns, countParts(spec, Cut::Columns, threads)};
}

static int threadsOfWhole(const Spec &spec, int threads) {
  double least =
      spec.kind() == Spec::REORDER ? leastSharedBytes : leastSharedWork;
  return countWork(spec) < least ? 1 : threads;
}

int LibraryParts::cutDim(int memory) const {
  return cutDimOf(spec, cut, memory);
}

bool LibraryParts::isSummed(int memory) const {
  return isSummedIn(spec, memory);
}

std::optional<LibraryParts>
LibraryParts::choose(const KernelTable &table, const Spec &spec, int threads) {
  Division division = divide(spec, threads);
  if (division.parts == 1 || !runsOnOneTeam(table, threads))
    return std::nullopt;
  return LibraryParts(spec, division.cut, division.parts);
}

Spec LibraryParts::part() const {
  Spec result = spec;
  for (int i = 0; i < spec.memories_size(); ++i)
    if (int dim = cutDim(i); dim >= 0)
      result.mutable_memories(i)->set_dims(dim,
                                           spec.memories(i).dims(dim) / parts);
  return result;
}

int64_t LibraryParts::stepBytes(int memory) const {
  const Spec::Memory &whole = spec.memories(memory);
  int dim = cutDim(memory);
  return whole.dims(dim) / parts * whole.strides(dim) *
         int64_t(byteSize(whole.type()));
}

LibraryParts::Layout
LibraryParts::layOut(int64_t partScratchpad,
                     const std::vector<int64_t> &memoryBytes) const {
  Layout layout;
  int64_t sumBytes = 0;
  for (size_t i = 0; i < memoryBytes.size(); ++i) {
    layout.sumAt.push_back(sumBytes);
    if (isSummed(i))
      sumBytes += alignPart(memoryBytes[i]);
  }
  layout.partBytes = alignPart(partScratchpad);
  layout.sumBytes = sumBytes;
  layout.totalBytes = parts * layout.partBytes + (parts - 1) * layout.sumBytes;
  return layout;
}

namespace {

class JoinedKernel : public LibraryKernel {
public:
  /// A memory, and how a part comes to its own.
  struct Memory {
    int64_t step = 0;   // bytes from one part's to the next one's
    int64_t sumAt = -1; // of sums: where it lies in a part's
    int64_t floats = 0; // of sums
  };

  JoinedKernel(std::vector<std::unique_ptr<LibraryKernel>> kernels,
               std::vector<Memory> memories, LibraryParts::Layout layout)
      : kernels(std::move(kernels)), memories(std::move(memories)),
        layout(layout) {}

  Status run(void *const *buffers) override {
    Run run{this, buffers, {false}};
    int64_t parts = kernels.size();
    parallelFor(runParts, reinterpret_cast<void **>(&run), parts, parts);
    if (run.failed.load())
      return Status::error(StatusCode::Internal, "a library kernel failed",
                           implementation());
    for (size_t i = 0; i < memories.size(); ++i)
      if (memories[i].sumAt >= 0)
        addSums(buffers, i);
    return Status();
  }
  const char *implementation() const override {
    return kernels.front()->implementation();
  }
  int64_t scratchpadBytes() const override { return layout.totalBytes; }

private:
  struct Run {
    JoinedKernel *kernel;
    void *const *buffers;
    std::atomic<bool> failed;
  };

  char *scratch(void *const *buffers) const {
    return static_cast<char *>(buffers[memories.size()]);
  }
  char *sumsOf(void *const *buffers, int64_t part) const {
    return scratch(buffers) + kernels.size() * layout.partBytes +
           (part - 1) * layout.sumBytes;
  }

  static void runParts(void **data, int64_t lo, int64_t hi, int64_t) {
    Run &run = *reinterpret_cast<Run *>(data);
    // A part is one thread's, whichever team it is of.
    TeamScope alone(1);
    for (int64_t part = lo; part < hi; ++part)
      if (!run.kernel->runPart(run.buffers, part).ok())
        run.failed.store(true);
  }

  Status runPart(void *const *buffers, int64_t part) {
    void *own[8];
    for (size_t i = 0; i < memories.size(); ++i) {
      const Memory &memory = memories[i];
      own[i] = memory.sumAt >= 0 && part > 0
                   ? sumsOf(buffers, part) + memory.sumAt
                   : static_cast<char *>(buffers[i]) + part * memory.step;
    }
    own[memories.size()] = layout.totalBytes
                               ? scratch(buffers) + part * layout.partBytes
                               : nullptr;
    return kernels[part]->run(own);
  }

  struct Sums {
    const JoinedKernel *kernel;
    void *const *buffers;
    size_t memory;
  };

  void addSums(void *const *buffers, size_t memory) {
    // Cache lines of a size that is worth a thread's while.
    constexpr int64_t blockFloats = 4096;
    Sums sums{this, buffers, memory};
    int64_t floats = memories[memory].floats;
    int64_t blocks = (floats + blockFloats - 1) / blockFloats;
    parallelFor(
        [](void **data, int64_t lo, int64_t hi, int64_t) {
          const Sums &sums = *reinterpret_cast<const Sums *>(data);
          sums.kernel->addBlocks(sums, lo * blockFloats, hi * blockFloats);
        },
        reinterpret_cast<void **>(&sums), blocks, int32_t(blocks));
  }

  void addBlocks(const Sums &sums, int64_t lo, int64_t hi) const {
    const Memory &memory = memories[sums.memory];
    hi = std::min(hi, memory.floats);
    float *to = static_cast<float *>(sums.buffers[sums.memory]);
    for (size_t part = 1; part < kernels.size(); ++part) {
      auto *from = reinterpret_cast<const float *>(sumsOf(sums.buffers, part) +
                                                   memory.sumAt);
      for (int64_t i = lo; i < hi; ++i)
        to[i] += from[i];
    }
  }

  std::vector<std::unique_ptr<LibraryKernel>> kernels; // one a part
  std::vector<Memory> memories;
  LibraryParts::Layout layout;
};

} // namespace

std::unique_ptr<LibraryKernel>
LibraryParts::join(std::vector<std::unique_ptr<LibraryKernel>> kernels,
                   const std::vector<int64_t> &memoryBytes) const {
  Layout layout = layOut(kernels.front()->scratchpadBytes(), memoryBytes);
  std::vector<JoinedKernel::Memory> memories(memoryBytes.size());
  for (size_t i = 0; i < memories.size(); ++i) {
    if (isCut(i))
      memories[i].step = stepBytes(i);
    if (isSummed(i))
      memories[i] = {0, layout.sumAt[i],
                     memoryBytes[i] / int64_t(sizeof(float))};
  }
  return std::make_unique<JoinedKernel>(std::move(kernels), std::move(memories),
                                        layout);
}

int threadsOfWhole(const KernelTable &table, const Spec &spec, int threads) {
  return runsOnOneTeam(table, threads) ? threadsOfWhole(spec, threads)
                                       : threads;
}

bool runsOnOneTeam(const KernelTable &table, int threads) {
  return std::all_of(table.begin(), table.end(), [&](const Spec &spec) {
    return divide(spec, threads).parts > 1 ||
           threadsOfWhole(spec, threads) == 1;
  });
}

} // namespace dist::cpu
