//===- collectives_vs_evaluator_test.cpp - Compiled collectives -----------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs with every collective along every dim, over every list of axes, are
// compiled, run on virtual devices, and compared with simulated ranks.
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "passes/Analysis/Evaluator.h"
#include "passes/Lowering/Lowering.h"
#include "passes/Partition/Passes.h"
#include "runtime/core/session.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::dist;

namespace {

using Shape = std::vector<int64_t>;
using Axes = std::vector<std::string>;

std::string tensorType(const Shape &shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t dim : shape)
    text += std::to_string(dim) + "x";
  return text + type + ">";
}

struct Mesh {
  std::vector<std::pair<std::string, int64_t>> axes;
  int64_t ranks() const { return sizeOf(names()); }
  Axes names() const {
    Axes list;
    for (auto &axis : axes)
      list.push_back(axis.first);
    return list;
  }
  int64_t sizeOf(const Axes &list) const {
    int64_t size = 1;
    for (const std::string &name : list)
      for (auto &axis : axes)
        size *= axis.first == name ? axis.second : 1;
    return size;
  }
};

std::string quote(const Axes &axes) {
  return "\"" + llvm::join(axes, "\", \"") + "\"";
}

/// Writes functions whose arguments and results differ on every rank.
class Cases {
public:
  explicit Cases(const Mesh &mesh) : mesh(mesh) {
    text = "dist.mesh @mesh [";
    for (size_t i = 0; i < mesh.axes.size(); ++i)
      text += (i ? ", \"" : "\"") + mesh.axes[i].first +
              "\"=" + std::to_string(mesh.axes[i].second);
    text += "]\n";
  }

  /// `op` from operands to results of these shapes; what comes in is computed,
  /// what goes out is read, so that both lie in the arena; `direct`: neither.
  void add(const std::string &op, const Axes &axes,
           const std::string &attributes, const std::vector<Shape> &from,
           const std::vector<Shape> &to, const std::string &type,
           bool direct = false) {
    std::string arguments, results, before, after, values, fromTypes, toTypes,
        operands;
    auto comma = [](std::string &list) -> std::string & {
      return list += list.empty() ? "" : ", ";
    };
    for (size_t i = 0; i < from.size(); ++i) {
      std::string number = std::to_string(i), t = tensorType(from[i], type);
      comma(arguments) += "%x" + number + ": " + describe(from[i], type);
      comma(fromTypes) += t;
      comma(operands) += (direct ? "%x" : "%a") + number;
      if (!direct)
        before += "  %a" + number + " = graph.add %x" + number + ", %x" +
                  number + " : " + t + "\n";
    }
    for (size_t i = 0; i < to.size(); ++i) {
      std::string number = std::to_string(i), t = tensorType(to[i], type);
      comma(results) += describe(to[i], type);
      comma(toTypes) += t;
      std::string value = to.size() == 1 ? "%r" : "%r#" + number;
      comma(values) += direct ? value : "%y" + number;
      if (!direct)
        after += "  %y" + number + " = graph.add " + value + ", " + value +
                 " : " + t + "\n";
    }
    text += "func.func @f" + std::to_string(count++) + "(" + arguments +
            ") -> (" + results + ") {\n" + before + "  %r" +
            (to.size() == 1 ? "" : ":" + std::to_string(to.size())) +
            " = dist." + op + " " + operands + " over @mesh [" + quote(axes) +
            "] " + attributes + " : (" + fromTypes + ") -> (" + toTypes +
            ")\n" + after + "  return " + values + " : " + toTypes + "\n}\n";
  }

  std::string text;
  const Mesh &mesh;

private:
  std::string describe(const Shape &local, const std::string &type) const {
    Shape global = local;
    global[0] *= mesh.ranks();
    std::string dims = "{" + quote(mesh.names()) + "}";
    for (size_t i = 1; i < local.size(); ++i)
      dims += ", {}";
    return tensorType(local, type) +
           " {dist.sharding = #dist.sharding<@mesh, [" + dims +
           "]>, dist.global_type = " + tensorType(global, type) + "}";
  }
  int count = 0;
};

std::string numbers(const std::vector<int64_t> &list) {
  std::string text;
  for (int64_t number : list)
    text += (text.empty() ? ": " : ", ") + std::to_string(number);
  return "array<i64" + text + ">";
}

Shape scaled(Shape shape, int64_t dim, int64_t multiply, int64_t divide) {
  shape[dim] = shape[dim] * multiply / divide;
  return shape;
}

/// All collectives over `axes`; else along fewer dims and of one size.
void addAll(Cases &cases, const Axes &axes, const std::string &type,
            bool everything) {
  const std::string why = "reason = \"r\", origin = \"o\"}";
  int64_t n = cases.mesh.sizeOf(axes);
  // Small enough for one publication, and too large for it.
  for (Shape shape : {Shape{8, 24, 28}, Shape{8, 4, 12}}) {
    if (!everything && shape[1] == 4)
      continue;
    Shape other{4, 8};
    std::vector<Shape> bucket{shape, other};
    for (bool direct : {false, true})
      cases.add("all_reduce", axes, "{" + why, bucket, bucket, type, direct);
    cases.add("all_reduce", axes, "by max {" + why, bucket, bucket, type);
    cases.add("broadcast", axes,
              "{root = " + std::to_string(n - 1) + ", " + why, bucket, bucket,
              type);
    std::vector<int64_t> shift(n, -1);
    for (int64_t i = 1; i < n; ++i)
      shift[i] = i - 1;
    cases.add("permute", axes, "{sources = " + numbers(shift) + ", " + why,
              bucket, bucket, type);
    shift[0] = n - 1;
    cases.add("permute", axes, "{sources = " + numbers(shift) + ", " + why,
              bucket, bucket, type, true);
    for (int64_t dim = 0; dim < (everything ? 3 : 2); ++dim) {
      std::string dims = "{dims = " + numbers({dim, 1}) + ", " + why;
      std::vector<Shape> wide{scaled(shape, dim, n, 1), scaled(other, 1, n, 1)};
      std::vector<Shape> narrow{scaled(shape, dim, 1, n),
                                scaled(other, 1, 1, n)};
      cases.add("all_gather", axes, dims, bucket, wide, type, dim == 1);
      cases.add("all_slice", axes, dims, bucket, narrow, type, dim == 1);
      cases.add("reduce_scatter", axes, dims, bucket, narrow, type, dim == 1);
      for (int64_t concat = 0; concat < (everything ? 3 : 2); ++concat) {
        if (concat == dim)
          continue;
        cases.add("all_to_all", axes,
                  "{split_dims = " + numbers({dim, 0}) +
                      ", concat_dims = " + numbers({concat, 1}) + ", " + why,
                  bucket,
                  {scaled(scaled(shape, dim, 1, n), concat, n, 1),
                   scaled(scaled(other, 0, 1, n), 1, n, 1)},
                  type, concat == 0);
      }
    }
  }
}

/// Whole numbers, whose sums are exact in all types.
HostTensor makeRandom(RankedTensorType type, std::mt19937 &random) {
  HostTensor tensor(type);
  std::uniform_int_distribution<int> whole(0, 5);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (tensor.isFloat())
      tensor.setDouble(i, whole(random) - 2);
    else
      tensor.setInt(i, whole(random));
  }
  return tensor;
}

void check(const Mesh &mesh, const std::string &text, int threads,
           bool overlap = false) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  MeshOp op = findMesh(*module);

  struct Expected {
    std::string name;
    std::vector<std::vector<char>> inputs;
    std::vector<HostTensor> results;
  };
  std::vector<Expected> all;
  std::mt19937 random(7);
  for (auto func : module->getOps<func::FuncOp>()) {
    Expected expected{func.getSymName().str(), {}, {}};
    SmallVector<RankTensors> arguments(mesh.ranks());
    for (BlockArgument argument : func.getArguments()) {
      ShardingAttr sharding = findSharding(argument);
      HostTensor whole =
          makeRandom(getGlobalType(cast<RankedTensorType>(argument.getType()),
                                   sharding, op),
                     random);
      expected.inputs.push_back(whole.toBytes());
      for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
        arguments[rank].push_back(cutShard(whole, sharding, op, rank));
    }
    auto results = evaluateRanks(func, op, arguments);
    ASSERT_TRUE(succeeded(results)) << expected.name;
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      SmallVector<HostTensor> shards;
      for (const RankTensors &tensors : *results)
        shards.push_back(tensors[i]);
      expected.results.push_back(joinShards(
          shards,
          func.getResultAttrOfType<ShardingAttr>(i, DistDialect::kSharding),
          op));
    }
    all.push_back(std::move(expected));
  }

  if (overlap) {
    PassManager pm(&context);
    pm.nest<func::FuncOp>().addPass(createOverlapCollectivesPass());
    ASSERT_TRUE(succeeded(pm.run(*module)));
    int starts = 0;
    module->walk([&](WaitOp) { ++starts; });
    ASSERT_EQ(starts, 7); // a broadcast has no start
  }
  llvm::SmallString<64> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("collectives", folder));
  LoweringOptions options;
  options.threads = threads;
  ASSERT_TRUE(succeeded(lowerToPackage(*module, options, folder)));
  std::unique_ptr<::dist::Session> session;
  ::dist::Status status =
      ::dist::Session::open(folder.str().str(), {}, &session);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const Expected &expected : all) {
    const auto *entry = session->findEntry(expected.name);
    ASSERT_TRUE(entry) << expected.name;
    std::vector<::dist::TensorView> inputs;
    for (int i = 0; i < entry->arguments_size(); ++i) {
      const auto &type = entry->arguments(i).global_type();
      inputs.push_back({type.type(),
                        {type.shape().begin(), type.shape().end()},
                        expected.inputs[i].data()});
    }
    std::vector<::dist::Tensor> outputs;
    // Twice: what a run leaves behind must not matter.
    for (int run = 0; run < 2; ++run) {
      status = session->run(*entry, inputs, &outputs);
      ASSERT_TRUE(status.ok()) << expected.name << ": " << status.message();
    }
    ASSERT_EQ(outputs.size(), expected.results.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::vector<char> want = expected.results[i].toBytes();
      ASSERT_EQ(outputs[i].data.size(), want.size());
      EXPECT_TRUE(std::equal(want.begin(), want.end(), outputs[i].data.begin()))
          << expected.name << " result " << i << " of\n"
          << text.substr(text.find("@" + expected.name + "("), 900);
    }
  }
  session.reset();
  (void)llvm::sys::fs::remove_directories(folder);
}

TEST(CollectivesVsEvaluator, TwoDevices) {
  Mesh mesh{{{"a", 2}}};
  Cases cases(mesh);
  addAll(cases, {"a"}, "f32", true);
  for (std::string type : {"f64", "f16", "bf16", "i8", "i32", "ui16", "i64"})
    addAll(cases, {"a"}, type, false);
  check(mesh, cases.text, 1);
}

TEST(CollectivesVsEvaluator, FourDevices) {
  Mesh mesh{{{"a", 4}}};
  Cases cases(mesh);
  addAll(cases, {"a"}, "f32", true);
  addAll(cases, {"a"}, "bf16", false);
  check(mesh, cases.text, 1);
}

// Groups along each axis and both; the order of the list is that of places.
TEST(CollectivesVsEvaluator, TwoAxes) {
  Mesh mesh{{{"a", 2}, {"b", 2}}};
  Cases cases(mesh);
  for (const Axes &on : {Axes{"a"}, Axes{"b"}, Axes{"a", "b"}, Axes{"b", "a"}})
    addAll(cases, on, "f32", on.size() == 2);
  check(mesh, cases.text, 1);
}

// Buckets of gradients, gathers of weights and scatters that run beside
// contractions, many in flight, with calls between that are not started.
TEST(CollectivesVsEvaluator, Overlapped) {
  for (int64_t ranks : {2, 4}) {
    Mesh mesh{{{"a", ranks}}};
    Cases cases(mesh);
    const std::string t = "tensor<16x16xf32>",
                      whole =
                          "tensor<" + std::to_string(16 * ranks) + "x16xf32>",
                      part =
                          "tensor<" + std::to_string(16 / ranks) + "x16xf32>",
                      why = "reason = \"r\", origin = \"o\"}",
                      over = " over @mesh [\"a\"] {";
    auto dot = [&](const std::string &out, const std::string &in) {
      return "  %" + out + " = graph.dot_general %" + in +
             ", %w {lhs_batch = "
             "array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: "
             "1>, "
             "rhs_contract = array<i64: 0>} : (" +
             t + ", " + t + ") -> " + t + "\n";
    };
    std::string body = dot("y0", "x");
    for (int i = 0; i < 5; ++i) {
      std::string n = std::to_string(i), next = std::to_string(i + 1);
      body += "  %g" + n + " = graph.sub %y" + n + ", %x : " + t + "\n" +
              dot("u" + next, "y" + n) + "  %y" + next + " = graph.sign %u" +
              next + " : " + t + "\n";
      if (i == 2)
        body += "  %c = dist.broadcast %g2" + over + "root = 1 : i64, " + why +
                " : (" + t + ") -> " + t + "\n";
      body += "  %r" + n + " = dist.all_reduce %g" + n + over + why + " : (" +
              t + ") -> " + t + "\n";
    }
    body += "  %s = dist.reduce_scatter %y1" + over + "dims = array<i64: 0>, " +
            why + " : (" + t + ") -> " + part + "\n  %h = dist.all_gather %y2" +
            over + "dims = array<i64: 0>, " + why + " : (" + t + ") -> " +
            whole + "\n" + dot("y6", "y5");
    std::string last = "y6";
    for (std::string value : {"c", "r0", "r1", "r2", "r3", "r4"}) {
      body += "  %z" + value + " = graph.add %" + last + ", %" + value + " : " +
              t + "\n";
      last = "z" + value;
    }
    int64_t n = 16 * ranks;
    std::string sharded = " {dist.sharding = #dist.sharding<@mesh, [{\"a\"}, "
                          "{}]>, dist.global_type = tensor<";
    auto of = [&](const std::string &type, int64_t rows) {
      return type + sharded + std::to_string(rows) + "x16xf32>}";
    };
    cases.text += "func.func @step(%x: " + of(t, n) + ", %w: " + of(t, n) +
                  ") -> (" + of(t, n) + ", " + of(part, 16) + ", " +
                  of(whole, n * ranks) + ") {\n" + body + "  return %" + last +
                  ", %s, %h : " + t + ", " + part + ", " + whole + "\n}\n";
    check(mesh, cases.text, 1, /*overlap=*/true);
  }
}

// Sums computed where they are read, with slices and gathers around them.
TEST(CollectivesVsEvaluator, Shared) {
  for (int64_t ranks : {2, 4}) {
    Mesh mesh{{{"a", ranks}}};
    Cases cases(mesh);
    cases.text += "!t = tensor<64x256xf32>\n!part = " +
                  tensorType({64 / ranks, 256}, "f32") +
                  "\n!whole = " + tensorType({64 * ranks, 256}, "f32") +
                  R"( #s = #dist.sharding<@mesh, [{"a"}, {}]>
func.func @step(%x: !t {dist.sharding = #s, dist.global_type = !whole}, %v: !t {dist.sharding = #s, dist.global_type = !whole}) -> (!t {dist.sharding = #s, dist.global_type = !whole}, !t {dist.sharding = #s, dist.global_type = !whole}) {
  %g = graph.sub %x, %v : !t %r = dist.all_reduce %g over @mesh ["a"] {op_id = 0 : i64, reason = "r", origin = "o"} : (!t) -> !t
  %u = graph.sub %v, %r : !t %p = dist.reduce_scatter %g over @mesh ["a"] {dims = array<i64: 0>, op_id = 1 : i64, reason = "r", origin = "o"} : (!t) -> !part
  %s = dist.all_slice %u over @mesh ["a"] {dims = array<i64: 0>, reason = "r", origin = "o"} : (!t) -> !part
  %q = graph.sub %s, %p : !part
  %w = dist.all_gather %q over @mesh ["a"] {dims = array<i64: 0>, op_id = 2 : i64, reason = "r", origin = "o"} : (!part) -> !t
  return %u, %w : !t, !t })";
    check(mesh, cases.text, ranks / 2);
  }
}

TEST(CollectivesVsEvaluator, UnequalAxesOutOfOrder) {
  Mesh mesh{{{"a", 2}, {"b", 1}, {"c", 2}}};
  Cases cases(mesh);
  for (const Axes &axes : {Axes{"c", "b", "a"}, Axes{"b", "c"}, Axes{"b"}})
    addAll(cases, axes, "i16", false);
  check(mesh, cases.text, 2);
}

} // namespace
