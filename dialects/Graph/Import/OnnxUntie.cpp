//===- OnnxUntie.cpp - Initializers that an exporter made one -------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters keep equal initializers once: all biases of a fresh model are one
// vector of zeros then. Trained as one variable, the model is another one. They
// are made several again where that is certain: all elements are equal (a table
// that the model shares with its head is not), and an Identity node still gives
// the name of the other parameter, or the nodes' notes tell it. Where no name
// is left only the user knows.
//
// They also make two of one: the head that is the token table, too, becomes its
// transpose, computed. It is read from the table again.
//
// Moving statistics are never what something else is: they are of one
// normalization by nature, and always made its own.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/OnnxModel.h"
#include "runtime/formats/convert.h"
#include "llvm/Support/Regex.h"
#include <cstring>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

/// Whether all elements have the same bits.
static bool isUniform(const ::dist::HostArray &array) {
  StringRef bytes(array.data, array.view().bytes());
  size_t size = ::dist::byteSize(array.type);
  return bytes.size() >= size &&
         bytes.drop_front(size) == bytes.drop_back(size);
}

bool mlir::dist::graph::isParameterName(StringRef name) {
  // What PyTorch's exporter computes from constants it calls val_12.
  StringRef number = name;
  if (number.consume_front("val_") && llvm::all_of(number, llvm::isDigit))
    return false;
  // And tf2onnx names a transposition that it has folded after its op.
  if (name.ends_with("transpose:0"))
    return false;
  return !name.empty() && !name.starts_with("/") &&
         !name.starts_with("onnx::") && !name.contains("Identity") &&
         !name.contains("_output_") && !name.starts_with_insensitive("const") &&
         !llvm::all_of(name, llvm::isDigit);
}

namespace {
/// Who reads initializers, the names seen through that Identity nodes give.
class Uses {
public:
  explicit Uses(const onnx::GraphProto &graph) {
    forEachNode(graph, [&](const onnx::NodeProto &node) {
      if (node.op_type() == "Identity" && node.input_size() == 1 &&
          node.output_size() == 1) {
        aliases[node.output(0)] = resolve(node.input(0)).str();
        return;
      }
      for (int i = 0; i < node.input_size(); ++i)
        uses[resolve(node.input(i))].push_back({&node, i});
    });
  }

  StringRef resolve(StringRef name) const {
    auto it = aliases.find(name);
    return it == aliases.end() ? name : StringRef(it->second);
  }
  /// Whether the use is of a batch norm's statistics.
  static bool isStatistic(const onnx::NodeProto &node, int input) {
    return node.op_type() == "BatchNormalization" &&
           (input == 3 || input == 4) && node.output_size() > 0;
  }
  bool isParameter(StringRef name) const {
    return llvm::any_of(uses.lookup(name), [](const auto &use) {
      return !isStatistic(*use.first, use.second);
    });
  }
  /// The layer whose statistics the use is of, equal only for the uses of a
  /// layer that the model has in several places: all its four initializers are
  /// the same. Where they are not four, an exporter has made equal ones one,
  /// and each node is a layer.
  std::string layerOf(const onnx::NodeProto &node, int input) const {
    llvm::SmallSetVector<StringRef, 4> own;
    std::string all;
    for (int i = 1; i <= 4 && i < node.input_size(); ++i) {
      own.insert(resolve(node.input(i)));
      all += resolve(node.input(i)).str() + '\n';
    }
    return (own.size() == 4 ? all : ::dist::keyOfOnnxNode(node) + '\n') +
           std::to_string(input);
  }

private:
  llvm::StringMap<std::string> aliases;
  llvm::StringMap<SmallVector<std::pair<const onnx::NodeProto *, int>, 2>> uses;
};
} // namespace

void OnnxModel::untieStatistics(
    llvm::function_ref<std::string(const onnx::NodeProto &, StringRef)>
        nameCopy,
    std::vector<::dist::OnnxCopy> &copies) {
  Uses uses(model.graph());
  // Initializer -> its layers, and what each reads.
  llvm::StringMap<llvm::StringMap<std::string>> layers;
  for (const onnx::NodeProto &node : model.graph().node())
    for (int i : {3, 4}) {
      if (!Uses::isStatistic(node, i) || i >= node.input_size())
        continue;
      std::string from = uses.resolve(node.input(i)).str();
      if (!initializers.count(from))
        continue;
      llvm::StringMap<std::string> &names = layers[from];
      bool isFirst = names.empty() && !uses.isParameter(from);
      auto [known, isNew] = names.try_emplace(uses.layerOf(node, i), from);
      if (isNew && !isFirst) {
        known->second = nameCopy(node, from);
        initializers[known->second] = initializers.find(from)->second;
        untiedFrom[known->second] = from;
      }
      if (known->second != from)
        copies.push_back({known->second, from, ::dist::keyOfOnnxNode(node), i});
    }
}

/// Whether two matrices have the same elements, one of them transposed.
static bool areTransposes(const ::dist::HostArray &a,
                          const ::dist::HostArray &b) {
  if (a.type != b.type || a.shape.size() != 2 || b.shape.size() != 2 ||
      a.shape[0] != b.shape[1] || a.shape[1] != b.shape[0] || a.shape[0] < 2 ||
      a.shape[1] < 2)
    return false;
  size_t size = ::dist::byteSize(a.type), rows = a.shape[0],
         columns = a.shape[1];
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      if (std::memcmp(a.data + (i * columns + j) * size,
                      b.data + (j * rows + i) * size, size) != 0)
        return false;
  return true;
}

/// Whether there are at most two different elements.
static bool hasFewValues(const ::dist::HostArray &array) {
  size_t size = ::dist::byteSize(array.type);
  StringRef bytes(array.data, array.view().bytes()), other;
  for (; bytes.size() >= size; bytes = bytes.drop_front(size)) {
    StringRef one = bytes.take_front(size);
    if (one == StringRef(array.data, size))
      continue;
    if (!other.empty() && one != other)
      return false;
    other = one;
  }
  return true;
}

void OnnxModel::findTransposes(llvm::function_ref<bool(StringRef)> isApart,
                               std::vector<::dist::OnnxCopy> &copies) {
  llvm::StringSet<> inputs, gone;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    inputs.insert(input.name());
  std::vector<StringRef> matrices;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (auto known = initializers.find(tensor.name());
        known != initializers.end() && !untiedFrom.contains(tensor.name()) &&
        !inputs.contains(tensor.name()) && !shards.contains(tensor.name()) &&
        ::dist::isFloat(known->second.type) && known->second.shape.size() == 2)
      matrices.push_back(known->getKey());
  for (auto [i, first] : llvm::enumerate(matrices))
    for (StringRef second : ArrayRef(matrices).drop_front(i + 1)) {
      const ::dist::HostArray &a = initializers.find(first)->second,
                              &b = initializers.find(second)->second;
      if (gone.contains(first) || gone.contains(second) || !areTransposes(a, b))
        continue;
      // Where nothing is told two that began as zeros or as a unit matrix may
      // be meant, and two names are two parameters.
      StringRef of = source.findParameter(first);
      if (source.isTold() ? of.empty() || of != source.findParameter(second)
                          : hasFewValues(a) || isParameterName(first) ==
                                                   isParameterName(second))
        continue;
      if (isApart(first) || isApart(second))
        continue;
      bool isSecond = source.isTold() ? of == second : isParameterName(second);
      StringRef kept = isSecond ? second : first,
                other = isSecond ? first : second;
      gone.insert(other);
      copies.push_back(
          {other.str(), kept.str(), "", ::dist::OnnxCopy::kTransposed});
      if (!source.isTold())
        notes.push_back("'" + other.str() + "' is '" + kept.str() +
                        "' transposed: they are trained as one parameter, "
                        "which the model shares; give --untie '^" +
                        llvm::Regex::escape(other) + "$' to train them apart");
    }
}

static std::string useOf(const std::string &node, int input) {
  return node + '\n' + std::to_string(input);
}

llvm::StringSet<> OnnxModel::untieMerged(
    llvm::function_ref<std::string(const onnx::NodeProto &, StringRef)>
        nameCopy,
    llvm::function_ref<void(const std::string &, const std::string &,
                            const std::string &, int)>
        copyOf,
    llvm::StringSet<> &taken) {
  llvm::StringSet<> untiedUses;
  // Of an initializer and the parameter that it also stands for.
  llvm::StringMap<std::string> names;
  llvm::StringMap<::dist::HostArray> inFile = initializers;
  auto isInFile = [&](StringRef name) { return inFile.contains(name); };
  std::vector<std::string> unclear;
  // What the file names no parameter, and whether all who read it read numbers.
  llvm::StringMap<bool> unnamed;
  forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
    const std::string &key = ::dist::keyOfOnnxNode(node);
    for (int i = 0; !key.empty() && i < node.input_size(); ++i) {
      const std::string &from = node.input(i);
      auto known = inFile.find(from);
      if (known == inFile.end() || !::dist::isFloat(known->second.type))
        continue;
      OnnxSource::Read read = source.findRead(node, from, isInFile);
      bool isNumber = read.kind == OnnxSource::Read::Number;
      if (source.findParameter(from).empty()) {
        unnamed.try_emplace(from, true).first->second &= isNumber;
        continue;
      }
      // Parameters of many values are equal to nothing by chance.
      if (read.kind == OnnxSource::Read::Same ||
          (read.kind != OnnxSource::Read::Merged && !isUniform(known->second)))
        continue;
      if (read.kind == OnnxSource::Read::Unclear) {
        if (!llvm::is_contained(unclear, from))
          unclear.push_back(from);
        continue;
      }
      std::string &name = names[from + '\n' + read.parameter];
      if (name.empty())
        // A computed one, of another form, does not go by the parameter's.
        name = isNumber || source.findOrigin(from) ||
                       !taken.insert(read.parameter).second
                   ? nameCopy(node, from)
                   : read.parameter;
      if (isNumber)
        numbers.insert(name);
      copyOf(name, from, key, i);
      untiedUses.insert(useOf(key, i));
    }
  });
  for (const auto &entry : unnamed)
    if (entry.second &&
        source.kindOf(entry.getKey()) == OnnxSource::Kind::Unknown &&
        !source.findOrigin(entry.getKey()) &&
        isUniform(inFile.find(entry.getKey())->second))
      numbers.insert(entry.getKey());
  if (!unclear.empty())
    notes.push_back(listNames(unclear) +
                    " may stand for what the exporter computed from other "
                    "parameters, too, where it came to equal values: it is "
                    "trained there as well; export it with optimize=False to "
                    "train what the source does");
  return untiedUses;
}

LogicalResult OnnxModel::untie() {
  llvm::Regex regex(options.untieRegex);
  std::string problem;
  bool asked = !options.untieRegex.empty();
  if (asked && !regex.isValid(problem))
    return error("bad --untie '" + options.untieRegex + "'", problem);
  llvm::StringSet<> taken;
  for (const auto &entry : initializers)
    taken.insert(entry.getKey());
  for (const onnx::ValueInfoProto &input : model.graph().input())
    taken.insert(input.name());
  // The model's outputs, and its branches'.
  llvm::StringSet<> ofModel;
  ::dist::forEachOnnxGraph(model.mutable_graph(), [&](onnx::GraphProto *graph) {
    for (const onnx::ValueInfoProto &output : graph->output())
      ofModel.insert(output.name());
    for (const onnx::NodeProto &node : graph->node())
      for (const std::string &output : node.output())
        taken.insert(output);
  });

  std::vector<::dist::OnnxCopy> copies;
  llvm::StringMap<unsigned> uses;
  bool matched = false;
  auto copyOf = [&](const std::string &name, const std::string &from,
                    const std::string &node, int input) {
    initializers[name] = initializers.find(from)->second;
    untiedFrom[name] = from;
    copies.push_back({name, from, node, input});
  };
  auto nameCopy = [&](const onnx::NodeProto &node, StringRef from) {
    std::string stem = from.str() + "." +
                       (node.name().empty() ? ::dist::keyOfOnnxNode(node)
                                            : node.name()),
                name = stem;
    for (unsigned n = 2; !taken.insert(name).second; ++n)
      name = stem + "." + std::to_string(n);
    return name;
  };
  forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
    if (node.op_type() != "Identity" || node.input_size() != 1 ||
        node.output_size() != 1 || ofModel.contains(node.output(0)))
      return;
    auto known = initializers.find(node.input(0));
    if (known == initializers.end() || !::dist::isFloat(known->second.type))
      return;
    const std::string &name = node.output(0), &from = node.input(0);
    bool wanted = asked && (regex.match(name) || regex.match(from));
    if (wanted || (isParameterName(name) && isUniform(known->second))) {
      matched |= wanted;
      copyOf(name, from, name, -1);
    }
  });
  llvm::StringSet<> told = untieMerged(nameCopy, copyOf, taken);
  // Every use after the first.
  forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
    const std::string &key = ::dist::keyOfOnnxNode(node);
    for (int i = 0; asked && i < node.input_size(); ++i) {
      const std::string &from = node.input(i);
      auto known = initializers.find(from);
      if (known == initializers.end() || !::dist::isFloat(known->second.type) ||
          key.empty() || node.op_type() == "Identity" || !regex.match(from) ||
          told.contains(useOf(key, i)))
        continue;
      if (uses[from]++ == 0)
        continue;
      matched = true;
      copyOf(nameCopy(node, from), from, key, i);
    }
  });
  std::vector<::dist::OnnxCopy> transposes;
  findTransposes(
      [&](StringRef name) {
        bool apart = asked && regex.match(name);
        matched |= apart;
        return apart;
      },
      transposes);
  if (asked && !matched)
    return error("bad --untie '" + options.untieRegex + "'",
                 "it matches no initializer that several nodes use",
                 "see dist-run info for those that are shared");
  auto apply = [&](const std::vector<::dist::OnnxCopy> &some) {
    ::dist::Status status =
        ::dist::addOnnxCopies(some, path, model.mutable_graph());
    if (status.ok())
      return success();
    mlir::emitError(fileLocation) << status.message();
    return failure();
  };
  if (failed(apply(copies)))
    return failure();
  if (failed(apply(transposes)))
    return failure();
  for (const ::dist::OnnxCopy &copy : transposes)
    initializers.erase(copy.name);
  copies.insert(copies.end(), transposes.begin(), transposes.end());
  std::vector<::dist::OnnxCopy> ofStatistics;
  untieStatistics(nameCopy, ofStatistics);
  if (failed(apply(ofStatistics)))
    return failure();
  copies.insert(copies.end(), ofStatistics.begin(), ofStatistics.end());
  for (const ::dist::OnnxCopy &copy : copies)
    untied.push_back(storage.getArrayAttr(
        {storage.getStringAttr(copy.name), storage.getStringAttr(copy.from),
         storage.getStringAttr(copy.node),
         storage.getI64IntegerAttr(copy.input)}));
  return success();
}

/// Whether all users are of one op: an embedding that is the head, too, is read
/// by a Gather and a product, copies of a layer by the same ops.
static bool haveOneOp(ArrayRef<std::string> users) {
  return llvm::all_of(users, [&](const std::string &user) {
    return StringRef(user).split(' ').first ==
           StringRef(users.front()).split(' ').first;
  });
}

void OnnxModel::describeSharing() {
  // Initializers that several ops of one kind read.
  std::vector<std::string> shared;
  for (auto &entry : trainability) {
    Trainability &state = entry.second;
    if (auto from = untiedFrom.find(entry.getKey()); from != untiedFrom.end())
      state.why += ", untied from '" + from->second + "'";
    if (state.users.size() < 2)
      continue;
    if (!state.trainable) {
      // A layer that the model has in several places.
      state.why += ", shared with " +
                   llvm::join(ArrayRef(state.users).drop_front(), ", ");
      continue;
    }
    std::string users = llvm::join(ArrayRef(state.users).drop_front(), ", ");
    state.why += ", shared with " + users;
    // Those that the exporter made one are apart.
    if (!source.findParameter(entry.getKey()).empty())
      continue;
    const ::dist::HostArray &array = initializers.find(entry.getKey())->second;
    if (!isUniform(array)) {
      if (haveOneOp(state.users))
        shared.push_back(entry.getKey().str());
      continue;
    }
    notes.push_back("'" + entry.getKey().str() + "' is one parameter of " +
                    llvm::join(state.users, ", ") +
                    ": all its elements are equal, so the exporter may have "
                    "made several one; give --untie '^" +
                    llvm::Regex::escape(entry.getKey()) +
                    "$' to train them apart");
  }
  if (shared.empty())
    return;
  llvm::sort(shared);
  std::string text, regex;
  for (const std::string &name : ArrayRef(shared).take_front(3)) {
    text += (text.empty() ? "'" : ", '") + name + "' of " +
            llvm::join(trainability.find(name)->second.users, " and ");
    regex += (regex.empty() ? "" : "|") + llvm::Regex::escape(name);
  }
  bool several = shared.size() > 3;
  notes.push_back(
      "one parameter of several nodes: " + text +
      (several ? " and " + std::to_string(shared.size() - 3) + " more" : "") +
      ": the model shares " + (shared.size() > 1 ? "them" : "it") +
      ", or the exporter found copies of a layer that begin alike; give " +
      (several ? "--untie REGEX" : "--untie '^(" + regex + ")$'") +
      " to train them apart");
}

void OnnxModel::listFrozen() {
  llvm::StringSet<> used;
  forEachNode(model.graph(), [&](const onnx::NodeProto &node) {
    for (const std::string &input : node.input())
      used.insert(input);
  });
  std::string several, single;
  auto list = [&](const std::string &name) {
    auto found = trainability.find(name);
    if (found == trainability.end() || found->second.trainable ||
        found->second.group != "parameter" || !used.contains(name) ||
        found->second.byUser)
      return;
    const ::dist::HostArray &array = initializers.find(name)->second;
    bool isNumber = ::dist::elementCount(array.shape) == 1;
    std::string &names = isNumber ? single : several;
    names += (names.empty() ? "'" : ", '") + name + "'";
    if (!isNumber)
      names += " (" + found->second.why + ")";
  };
  // In the file's order.
  ::dist::forEachOnnxGraph(model.mutable_graph(), [&](onnx::GraphProto *graph) {
    for (const onnx::TensorProto &tensor : graph->initializer())
      list(tensor.name());
    for (const onnx::SparseTensorProto &sparse : graph->sparse_initializer())
      list(sparse.values().name());
  });
  for (const auto &[name, why] : constantWeights)
    several += (several.empty() ? "'" : ", '") + name +
               "' (in a Constant node; " + why + ")";
  if (several.empty() && single.empty())
    return;
  notes.push_back("not trained: " + several +
                  (several.empty() || single.empty() ? "" : "; ") +
                  (single.empty() ? "" : "single numbers " + single) +
                  "; --train REGEX trains what it names");
}
