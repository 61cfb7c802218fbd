//===- library_kernel.cpp - oneDNN behind a table of descriptions ---------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/library_kernel.h"
#include "runtime/core/types.h"
#include "runtime/device/cpu/kernel_memories.h"
#include "runtime/device/cpu/library_faults.h"
#include "runtime/device/cpu/library_layout.h"
#include "runtime/device/cpu/library_parts.h"
#include "runtime/device/cpu/relu.h"
#include "runtime/device/cpu/team.h"
#include "runtime/device/cpu/tile_matmul.h"
#include <algorithm>
#include <cmath>
#include <optional>

namespace dist::cpu {

namespace {

using manifest::LibraryKernel_Kind_Name;
using Spec = manifest::LibraryKernel;

/// A kernel asked of the library: where its memories go, and what it chose.
struct Plan {
  dnnl::primitive_desc_base primitive;
  std::vector<Desc> memories;
  std::vector<int> arguments; // DNNL_ARG_*, one a memory
  Desc scratchpad;
  /// Whether `relu` runs behind the kernel (see relu.h): always, or only where
  /// the kernel, which has one fused, met a NaN. Then `plain` runs before it.
  enum { NoRelu, ReluBehind, ReluFused } mode = NoRelu;
  ReluInPlace relu;
  std::shared_ptr<const Plan> plain;

  int64_t scratchpadBytes() const {
    size_t bytes = scratchpad.get_size();
    return plain ? std::max(bytes, plain->scratchpad.get_size()) : bytes;
  }
};

const dnnl::engine &engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

Status unsupported(const Spec &spec, const std::string &why) {
  std::string where;
  for (const Spec::Memory &memory : spec.memories())
    where += std::string(where.empty() ? "" : " ") + name(memory.type()) +
             toString({memory.dims().begin(), memory.dims().end()});
  return Status::error(
      StatusCode::InvalidArgument,
      "no library kernel " + LibraryKernel_Kind_Name(spec.kind()), where, why);
}

/// Everything about a description that does not need the library.
Status check(const Spec &spec) {
  bool conv = spec.kind() == Spec::CONV ||
              spec.kind() == Spec::CONV_INPUT_GRAD ||
              spec.kind() == Spec::CONV_FILTER_GRAD;
  int expected = spec.kind() == Spec::REORDER ? 2 : 3 + spec.bias();
  if (spec.memories_size() != expected)
    return unsupported(spec, "expected " + std::to_string(expected) +
                                 " memories, but got " +
                                 std::to_string(spec.memories_size()));
  for (const Spec::Memory &memory : spec.memories()) {
    if (libraryType(memory.type()) == dnnl::memory::data_type::undef)
      return unsupported(spec, std::string("the library has no ") +
                                   name(memory.type()));
    if (memory.dims_size() < 1 || memory.dims_size() > DNNL_MAX_NDIMS)
      return unsupported(spec, "expected 1 to 12 dims");
    for (int64_t dim : memory.dims())
      if (dim < 1)
        return unsupported(spec, "expected dims of at least 1");
    if (memory.strides_size() != 0 &&
        memory.strides_size() != memory.dims_size())
      return unsupported(spec, "expected one stride a dim");
    if (!fitsMemory(memory))
      return unsupported(spec, "expected dims and strides of a tensor that "
                               "fits into memory");
    // The library's loops count in 32 bits.
    for (int64_t dim : memory.dims())
      if (dim > INT32_MAX)
        return unsupported(spec, "expected dims of at most 2147483647");
  }
  // A filter's gradient may come with a bias's.
  int firstResult = spec.kind() == Spec::CONV_FILTER_GRAD ? 2 : expected - 1;
  for (int i = firstResult; i < expected; ++i)
    if (overlaps(spec.memories(i)))
      return unsupported(spec, "elements of the result lie in one place");
  if (conv) {
    int spatial = spec.memories(0).dims_size() - 2;
    if (spatial < 1 || spatial > 3 || spec.strides_size() != spatial ||
        spec.pad_low_size() != spatial || spec.pad_high_size() != spatial ||
        spec.dilations_size() != spatial)
      return unsupported(spec, "expected strides, pads and dilations for each "
                               "of 1 to 3 spatial dims");
  }
  if (spec.bias() && spec.kind() == Spec::CONV_INPUT_GRAD)
    return unsupported(spec, "an input gradient has no bias");
  if ((spec.relu() || spec.accumulate()) && spec.kind() != Spec::CONV &&
      spec.kind() != Spec::MATMUL)
    return unsupported(spec, "only convolutions and products fuse more");
  return Status();
}

/// Goes on to the first implementation that is right; refuses where the library
/// has none.
Status chooseSound(const Spec &spec, dnnl::primitive_desc *pd) {
  while (*pd) {
    if (!isFaulty(spec, pd->impl_info_str()))
      return Status();
    if (!pd->next_impl())
      break;
  }
  return unsupported(spec, "refused by the library");
}

Status planConvolution(const Spec &spec, const dnnl::primitive_attr &attr,
                       Plan *plan) {
  dnnl::memory::dims strides(spec.strides().begin(), spec.strides().end());
  dnnl::memory::dims low(spec.pad_low().begin(), spec.pad_low().end());
  dnnl::memory::dims high(spec.pad_high().begin(), spec.pad_high().end());
  dnnl::memory::dims dilations;
  for (int64_t dilation : spec.dilations())
    dilations.push_back(dilation - 1);
  auto algorithm = dnnl::algorithm::convolution_auto;
  std::vector<Desc> descs;
  for (const Spec::Memory &memory : spec.memories())
    descs.push_back(toDesc(memory));

  using Forward = dnnl::convolution_forward::primitive_desc;
  auto forward = [&](const Desc &src, const Desc &weights, const Desc *bias,
                     const Desc &dst, const dnnl::primitive_attr &attr) {
    auto kind = dnnl::prop_kind::forward_training;
    return bias ? Forward(engine(), kind, algorithm, src, weights, *bias, dst,
                          strides, dilations, low, high, attr, true)
                : Forward(engine(), kind, algorithm, src, weights, dst, strides,
                          dilations, low, high, attr, true);
  };
  switch (spec.kind()) {
  case Spec::CONV: {
    Forward pd = forward(descs[0], descs[1], spec.bias() ? &descs[2] : nullptr,
                         descs.back(), attr);
    DIST_RETURN_IF_ERROR(chooseSound(spec, &pd));
    plan->arguments = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
    plan->memories = {pd.src_desc(), pd.weights_desc()};
    if (spec.bias()) {
      plan->arguments.push_back(DNNL_ARG_BIAS);
      plan->memories.push_back(pd.bias_desc());
    }
    plan->arguments.push_back(DNNL_ARG_DST);
    plan->memories.push_back(pd.dst_desc());
    plan->primitive = pd;
    return Status();
  }
  case Spec::CONV_INPUT_GRAD: {
    Forward hint = forward(descs[2], descs[1], nullptr, descs[0], {});
    if (!hint)
      return unsupported(spec, "refused by the library");
    dnnl::convolution_backward_data::primitive_desc pd(
        engine(), algorithm, descs[2], descs[1], descs[0], strides, dilations,
        low, high, hint, attr, true);
    DIST_RETURN_IF_ERROR(chooseSound(spec, &pd));
    plan->arguments = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC};
    plan->memories = {pd.diff_dst_desc(), pd.weights_desc(),
                      pd.diff_src_desc()};
    plan->primitive = pd;
    return Status();
  }
  default: {
    const Desc *bias = spec.bias() ? &descs[3] : nullptr;
    Forward hint = forward(descs[0], descs[2], bias, descs[1], {});
    if (!hint)
      return unsupported(spec, "refused by the library");
    using Backward = dnnl::convolution_backward_weights::primitive_desc;
    Backward pd =
        bias
            ? Backward(engine(), algorithm, descs[0], descs[2], *bias, descs[1],
                       strides, dilations, low, high, hint, attr, true)
            : Backward(engine(), algorithm, descs[0], descs[2], descs[1],
                       strides, dilations, low, high, hint, attr, true);
    DIST_RETURN_IF_ERROR(chooseSound(spec, &pd));
    plan->arguments = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS};
    plan->memories = {pd.src_desc(), pd.diff_dst_desc(),
                      pd.diff_weights_desc()};
    if (bias) {
      plan->arguments.push_back(DNNL_ARG_DIFF_BIAS);
      plan->memories.push_back(pd.diff_bias_desc());
    }
    plan->primitive = pd;
    return Status();
  }
  }
}

Status planMatmul(const Spec &spec, const dnnl::primitive_attr &attr,
                  Plan *plan) {
  Desc a = toDesc(spec.memories(0)), b = toDesc(spec.memories(1));
  const Spec::Memory &last = spec.memories(spec.memories_size() - 1);
  Desc dst = toDesc(last);
  using Matmul = dnnl::matmul::primitive_desc;
  Matmul pd;
  if (spec.bias())
    pd = Matmul(engine(), a, b, toDesc(spec.memories(2), last.dims_size()), dst,
                attr, true);
  else
    pd = Matmul(engine(), a, b, dst, attr, true);
  DIST_RETURN_IF_ERROR(chooseSound(spec, &pd));
  plan->arguments = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS};
  plan->memories = {pd.src_desc(), pd.weights_desc()};
  if (spec.bias()) {
    plan->arguments.push_back(DNNL_ARG_BIAS);
    plan->memories.push_back(pd.bias_desc());
  }
  plan->arguments.push_back(DNNL_ARG_DST);
  plan->memories.push_back(pd.dst_desc());
  plan->primitive = pd;
  return Status();
}

/// How a device's threads do a kernel: by its parts, or all of it.
struct Division {
  std::optional<LibraryParts> parts;
  int threads; // of a part, or of all of it
};

/// Of a description without a table nothing is known of the other kernels.
Division divide(const KernelTable *table, const Spec &spec, int threads) {
  if (!table)
    return {std::nullopt, threads};
  auto parts = LibraryParts::choose(*table, spec, threads);
  int own = parts ? 1 : threadsOfWhole(*table, spec, threads);
  return {std::move(parts), own};
}

Status planKernel(const KernelTable *table, const Spec &spec, int threads,
                  const Division &division, Plan *plan);

/// As makePlan(), but for the ReLU, which is fused or left out.
Status makePlanWith(bool fusedRelu, const KernelTable *table, const Spec &spec,
                    int threads, Plan *plan) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops post;
  if (spec.accumulate())
    post.append_sum();
  if (fusedRelu)
    post.append_eltwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f);
  if (post.len())
    attr.set_post_ops(post);

  switch (spec.kind()) {
  case Spec::CONV:
  case Spec::CONV_INPUT_GRAD:
  case Spec::CONV_FILTER_GRAD:
    DIST_RETURN_IF_ERROR(planConvolution(spec, attr, plan));
    break;
  case Spec::MATMUL:
    DIST_RETURN_IF_ERROR(planMatmul(spec, attr, plan));
    break;
  case Spec::REORDER: {
    Desc sides[2];
    for (int i = 0; i < 2; ++i) {
      const Spec::Memory &memory = spec.memories(i);
      if (memory.strides_size() != 0 || memory.dims_size() == 1) {
        sides[i] = toDesc(memory);
        continue;
      }
      int other = spec.packed_kernel();
      if (!table || other < 0 || other >= table->size() ||
          table->Get(other).kind() == Spec::REORDER)
        return unsupported(spec, "expected the kernel that packs for");
      Plan packed;
      DIST_RETURN_IF_ERROR(check(table->Get(other)));
      DIST_RETURN_IF_ERROR(planKernel(table, table->Get(other), threads,
                                      divide(table, table->Get(other), threads),
                                      &packed));
      int index = spec.packed_memory();
      if (index < 0 || index >= static_cast<int>(packed.memories.size()))
        return unsupported(spec, "expected a memory of the packed kernel");
      sides[i] = packed.memories[index];
    }
    dnnl::reorder::primitive_desc pd(engine(), sides[0], engine(), sides[1],
                                     attr, true);
    if (!pd || isFaulty(spec, pd.impl_info_str()))
      return unsupported(spec, "refused by the library");
    plan->arguments = {DNNL_ARG_FROM, DNNL_ARG_TO};
    plan->memories = {sides[0], sides[1]};
    plan->primitive = pd;
    break;
  }
  default:
    return unsupported(spec, "unknown kind");
  }
  plan->scratchpad = plan->primitive.scratchpad_desc();
  return Status();
}

/// Whether the library's fused ReLU raises "invalid" where it meets a NaN. Not
/// on other processors than x86, nor where they are emulated without.
bool fusedReluRaises() {
  static const bool raises = [] {
    TeamScope alone(1);
    constexpr int64_t size = 16;
    Desc desc({size, size}, dnnl::memory::data_type::f32, {size, 1});
    dnnl::primitive_attr attr;
    dnnl::post_ops post;
    post.append_eltwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f);
    attr.set_post_ops(post);
    std::vector<float> nans(size * size, std::nanf("")), result(size * size);
    dnnl::memory from(desc, engine(), nans.data()),
        to(desc, engine(), result.data());
    dnnl::stream stream(engine());
    dnnl::matmul kernel({engine(), desc, desc, desc, attr});
    takeInvalid();
    kernel.execute(
        stream,
        {{DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, from}, {DNNL_ARG_DST, to}});
    bool keepsNan = std::all_of(result.begin(), result.end(),
                                [](float x) { return std::isnan(x); });
    return takeInvalid() || keepsNan;
  }();
  return raises;
}

/// Of a description that check() has passed.
Status makePlan(const KernelTable *table, const Spec &spec, int threads,
                Plan *plan) {
  DIST_RETURN_IF_ERROR(
      makePlanWith(/*fusedRelu=*/false, table, spec, threads, plan));
  if (!spec.relu())
    return Status();
  const Desc &result = plan->memories.back();
  DataType type = spec.memories(spec.memories_size() - 1).type();
  plan->mode = Plan::ReluBehind;
  int64_t elements = result.get_size() / byteSize(type);
  // A layout of the library's own is all the tensor's, its padding zeros.
  plan->relu = isPlainLayout(result)
                   ? ReluInPlace(type, result.get_dims(), result.get_strides())
                   : ReluInPlace(type, {elements}, {1});
  // Few elements take less than asking each thread for its flags. What was
  // added to the result cannot be computed again.
  constexpr int64_t fewElements = 8192;
  if (spec.accumulate() || elements <= fewElements || !fusedReluRaises())
    return Status();
  Plan fused;
  if (!makePlanWith(/*fusedRelu=*/true, table, spec, threads, &fused).ok() ||
      fused.memories != plan->memories)
    return Status();
  // Their ReLU multiplies by zero and so may give -0, ours 0: a flag that was
  // raised for another reason would show in the bits.
  std::string name = fused.primitive.impl_info_str();
  bool gemm = spec.kind() == Spec::CONV && name.rfind("x64:gemm:", 0) == 0;
  if (name.rfind("ref", 0) == 0 || gemm)
    return Status();
  fused.mode = Plan::ReluFused;
  fused.relu = plan->relu;
  fused.plain = std::make_shared<const Plan>(std::move(*plan));
  *plan = std::move(fused);
  return Status();
}

/// What runs of a description that check() has passed, on a device of
/// `threads`.
Status planKernel(const KernelTable *table, const Spec &spec, int threads,
                  const Division &division, Plan *plan) {
  TeamScope team(division.threads);
  return makePlan(table, division.parts ? division.parts->part() : spec,
                  threads, plan);
}

std::vector<int64_t> countBytes(const std::vector<Desc> &memories) {
  std::vector<int64_t> bytes;
  for (const Desc &desc : memories)
    bytes.push_back(desc.get_size());
  return bytes;
}

/// The library throws where it runs out of memory or meets a bug of its own.
template <typename Function> Status guarded(Function function) {
  try {
    return function();
  } catch (const dnnl::error &error) {
    return Status::error(StatusCode::Internal, "oneDNN failed", "",
                         error.what());
  } catch (const std::bad_alloc &) {
    return Status::error(StatusCode::Unavailable, "out of memory",
                         "library kernels");
  }
}

/// What a kernel of our own needs: memories as they are described.
LibraryKernelInfo describeTiles(const Spec &spec, const TileMatmul &tiles) {
  LibraryKernelInfo info;
  for (const Spec::Memory &described : spec.memories()) {
    LibraryKernelInfo::Memory memory;
    memory.strides = {described.strides().begin(), described.strides().end()};
    memory.bytes = toDesc(described).get_size();
    info.memories.push_back(std::move(memory));
  }
  info.scratchpadBytes = tiles.scratchpadBytes();
  info.implementation = TileMatmul::name;
  return info;
}

Status describeIn(const KernelTable *table, const Spec &spec, int threads,
                  LibraryKernelInfo *info) {
  return guarded([&]() -> Status {
    TeamScope team(threads);
    DIST_RETURN_IF_ERROR(check(spec));
    if (std::optional<TileMatmul> tiles = TileMatmul::create(spec, threads)) {
      *info = describeTiles(spec, *tiles);
      return Status();
    }
    Plan plan;
    Division division = divide(table, spec, threads);
    DIST_RETURN_IF_ERROR(planKernel(table, spec, threads, division, &plan));
    const auto &parts = division.parts;
    *info = LibraryKernelInfo();
    for (size_t i = 0; i < plan.memories.size(); ++i) {
      const Desc &own = plan.memories[i];
      // Of what is cut it is the description's own layout.
      const Desc desc =
          parts && parts->isCut(i) ? toDesc(spec.memories(i)) : own;
      LibraryKernelInfo::Memory memory;
      memory.bytes = desc.get_size();
      if (isPlainLayout(desc))
        memory.strides = desc.get_strides();
      memory.layout = describeLayout(desc);
      info->memories.push_back(std::move(memory));
    }
    info->scratchpadBytes =
        parts ? parts->layOut(plan.scratchpadBytes(), countBytes(plan.memories))
                    .totalBytes
              : plan.scratchpadBytes();
    info->implementation = plan.primitive.impl_info_str();
    return Status();
  });
}

/// A primitive and what it is called with.
class Call {
public:
  /// `primitive`: what the plan chose, which several calls may have in common.
  Call(const Plan &plan, const dnnl::primitive &primitive)
      : primitive(primitive) {
    auto add = [&](int argument, const Desc &desc) {
      memories.emplace_back(desc, engine(), nullptr);
      arguments.push_back({argument, memories.back().get()});
    };
    for (size_t i = 0; i < plan.memories.size(); ++i)
      add(plan.arguments[i], plan.memories[i]);
    if (plan.scratchpad.get_size() != 0)
      add(DNNL_ARG_SCRATCHPAD, plan.scratchpad);
  }

  // The C calls, since the C++ ones build a map each time.
  bool run(const dnnl::stream &stream, void *const *buffers) {
    for (size_t i = 0; i < arguments.size(); ++i)
      dnnl_memory_set_data_handle(arguments[i].memory, buffers[i]);
    return dnnl_primitive_execute(primitive.get(), stream.get(),
                                  arguments.size(),
                                  arguments.data()) == dnnl_success;
  }

private:
  dnnl::primitive primitive;
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

class OneDnnKernel : public LibraryKernel {
public:
  OneDnnKernel(const Plan &plan, const dnnl::primitive &primitive, int threads)
      : threads(threads), stream(engine()), call(plan, primitive),
        name(plan.primitive.impl_info_str()),
        scratchpad(plan.scratchpadBytes()), mode(plan.mode), relu(plan.relu),
        plain(plan.plain), result(plan.memories.size() - 1) {}

  Status run(void *const *buffers) override {
    std::optional<TeamScope> alone;
    if (threads == 1)
      alone.emplace(1);
    if (clearsFirst)
      takeInvalid();
    if (!call.run(stream, buffers))
      return failed();
    if (mode == Plan::ReluBehind)
      relu.run(buffers[result]);
    else if (mode == Plan::ReluFused && takeInvalid())
      return runAgain(buffers);
    return Status();
  }
  const char *implementation() const override { return name.c_str(); }
  int64_t scratchpadBytes() const override { return scratchpad; }

private:
  Status failed() const {
    return Status::error(StatusCode::Internal, "a library kernel failed", name);
  }
  /// The fused ReLU may have met NaN: again without it.
  Status runAgain(void *const *buffers) {
    return guarded([&]() -> Status {
      if (!plainCall)
        plainCall.emplace(*plain, dnnl::primitive(plain->primitive.get()));
      if (!plainCall->run(stream, buffers))
        return failed();
      takeInvalid();
      // There was none: other kernels of the step raise the flag.
      if (!relu.run(buffers[result]))
        clearsFirst = true;
      return Status();
    });
  }

  int threads; // 1, or the device's
  dnnl::stream stream;
  Call call;
  std::string name;
  int64_t scratchpad;
  decltype(Plan::mode) mode;
  ReluInPlace relu;
  std::shared_ptr<const Plan> plain;
  std::optional<Call> plainCall; // made when it is needed first
  size_t result;                 // index of the kernel's result
  bool clearsFirst = false;
};

class TileKernel : public LibraryKernel {
public:
  explicit TileKernel(TileMatmul matmul) : matmul(std::move(matmul)) {}
  Status run(void *const *buffers) override {
    matmul.run(buffers);
    return Status();
  }
  const char *implementation() const override { return TileMatmul::name; }
  int64_t scratchpadBytes() const override { return matmul.scratchpadBytes(); }

private:
  TileMatmul matmul;
};

} // namespace

Status describe(const KernelTable &table, int index, int threads,
                LibraryKernelInfo *info) {
  return describeIn(&table, table.Get(index), threads, info);
}

Status describe(const manifest::LibraryKernel &kernel, int threads,
                LibraryKernelInfo *info) {
  return describeIn(nullptr, kernel, threads, info);
}

Status LibraryKernel::create(const KernelTable &table, int index, int threads,
                             std::unique_ptr<LibraryKernel> *out) {
  return guarded([&]() -> Status {
    TeamScope team(threads);
    const Spec &spec = table.Get(index);
    DIST_RETURN_IF_ERROR(check(spec));
    if (std::optional<TileMatmul> tiles = TileMatmul::create(spec, threads)) {
      *out = std::make_unique<TileKernel>(std::move(*tiles));
      return Status();
    }
    Plan plan;
    Division division = divide(&table, spec, threads);
    DIST_RETURN_IF_ERROR(planKernel(&table, spec, threads, division, &plan));
    // Primitives are made for the threads that run them.
    TeamScope own(division.threads);
    dnnl::primitive primitive(plan.primitive.get());
    if (!division.parts) {
      *out = std::make_unique<OneDnnKernel>(plan, primitive, division.threads);
      return Status();
    }
    std::vector<std::unique_ptr<LibraryKernel>> kernels;
    for (int i = 0; i < division.parts->count(); ++i)
      kernels.push_back(std::make_unique<OneDnnKernel>(plan, primitive, 1));
    *out = division.parts->join(std::move(kernels), countBytes(plan.memories));
    return Status();
  });
}

} // namespace dist::cpu
