//===- Importer.cpp - Model files to the graph dialect -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Import/Importer.h"
#include "dialects/Graph/Import/OnnxModel.h"
#include "dialects/Graph/Import/TensorFlowModel.h"
#include "runtime/formats/arrays.h"
#include "runtime/formats/foreign.h"
#include "runtime/formats/onnx_tensor.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::graph;

static Location fileLoc(MLIRContext *context, StringRef path) {
  return FileLineColLoc::get(context, path, 0, 0);
}

bool mlir::dist::graph::isModelBytes(StringRef bytes) {
  // MLIR text is text; bytecode has its own magic. Protocol Buffers have
  // control characters from the first field's tag on.
  if (bytes.starts_with("ML\xefR"))
    return false;
  for (unsigned char c : bytes.take_front(4096))
    if (c < 9 || (c > 13 && c < 32))
      return true;
  return false;
}

/// The first number that the model computes from the size of its batch, for
/// which it is compiled; null if there is none. `other` is the model with a
/// batch of another size: its shapes differ, and its numbers must not.
static ConstantOp findBatchNumber(ModuleOp module, ModuleOp other) {
  auto constants = [](ModuleOp from) {
    SmallVector<ConstantOp> found;
    from.walk([&](ConstantOp op) { found.push_back(op); });
    return found;
  };
  SmallVector<ConstantOp> ours = constants(module), theirs = constants(other);
  if (ours.size() != theirs.size())
    return {};
  for (auto [mine, yours] : llvm::zip(ours, theirs))
    // Those of other types are as long as the batch is: places within it.
    if (mine.getType() == yours.getType() &&
        isa<DenseElementsAttr>(mine.getValue()) &&
        mine.getValue() != yours.getValue())
      return mine;
  return {};
}

bool OnnxModel::readsShapes() const {
  return llvm::any_of(model.graph().node(), [](const onnx::NodeProto &node) {
    return node.op_type() == "Shape" || node.op_type() == "Size";
  });
}

using Imported = FailureOr<OwningOpRef<ModuleOp>>;

/// Imports the model again with a batch of another size, if that is open.
static void
markBatchNumber(ModuleOp module, const ImportOptions &options,
                llvm::function_ref<Imported(const ImportOptions &)> import) {
  MLIRContext *context = module.getContext();
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  ImportOptions larger = options;
  ++larger.batchSize;
  Imported other = import(larger);
  if (failed(other))
    return;
  if (ConstantOp number = findBatchNumber(module, **other)) {
    auto name = number->getLoc()->findInstanceOf<NameLoc>();
    module->setAttr("graph.batch_number",
                    StringAttr::get(context, name ? name.getName().getValue()
                                                  : StringRef("?")));
  }
}

FailureOr<OwningOpRef<ModuleOp>> mlir::dist::graph::importModelBytes(
    MLIRContext *context, StringRef bytes, StringRef path, StringRef folder,
    const ImportOptions &options, std::shared_ptr<const void> owner) {
  bool readsShapes = false;
  auto importOnnx = [&](const ImportOptions &with) -> Imported {
    OnnxModel model(context, path, folder, with);
    if (failed(model.load(bytes, owner)))
      return failure();
    model.planBatch(bytes, owner);
    Imported module = model.import();
    readsShapes = model.readsShapes();
    return module;
  };
  auto importTensorFlow = [&](const ImportOptions &with) -> Imported {
    TensorFlowModel model(context, path, folder, with);
    if (failed(model.load(bytes)))
      return failure();
    Imported module = model.import();
    readsShapes = model.readsShapes();
    return module;
  };
  bool isTensorFlow = ::dist::isTensorFlowModel(bytes);
  if (!isTensorFlow && !options.signature.empty())
    return emitError(fileLoc(context, path))
           << "bad --signature '" << options.signature << "' (" << path
           << "): only a SavedModel has signatures; leave it out";
  auto import = [&](const ImportOptions &with) {
    return isTensorFlow ? importTensorFlow(with) : importOnnx(with);
  };
  Imported module = import(options);
  if (succeeded(module) && options.batchSize && readsShapes)
    markBatchNumber(**module, options, import);
  return module;
}

/// Opens the file, which unpacks to `limit` at most; errors are emitted.
static std::shared_ptr<const ::dist::FileBytes>
openFile(MLIRContext *context, StringRef path, ::dist::FileAccess access,
         const ::dist::UnpackLimit &limit, ::dist::Dependencies *dependencies) {
  std::shared_ptr<const ::dist::FileBytes> file;
  ::dist::Status status = ::dist::checkForeignFolder(path.str());
  if (status.ok())
    status = ::dist::FileBytes::open(path.str(), &file, access);
  // The file itself, packed or not.
  if (status.ok() && dependencies) {
    dependencies->add(path.str(), file->bytes());
    file->release();
  }
  if (status.ok() && (path.ends_with(".gz") || ::dist::isGzip(file->bytes())))
    status = ::dist::FileBytes::openUnpacked(path.str(), &file, access, limit);
  if (status.ok())
    return file;
  emitError(fileLoc(context, path)) << status.message();
  return nullptr;
}

static ::dist::UnpackLimit modelLimit() {
  ::dist::UnpackLimit limit;
  limit.bytes = ::dist::largestModelBytes;
  return limit;
}

static std::string folderOf(StringRef path) {
  std::string folder = llvm::sys::path::parent_path(path).str();
  return folder.empty() ? "." : folder;
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::dist::graph::importModel(MLIRContext *context, StringRef path,
                               const ImportOptions &options) {
  auto file = openFile(context, path, options.access, modelLimit(),
                       options.dependencies);
  if (!file)
    return failure();
  return importModelBytes(context, file->bytes(), path, folderOf(path), options,
                          file);
}

FailureOr<Coverage>
mlir::dist::graph::importCoverage(MLIRContext *context, StringRef path,
                                  const ImportOptions &options) {
  auto file = openFile(context, path, options.access, modelLimit(),
                       options.dependencies);
  if (!file)
    return failure();
  if (::dist::isTensorFlowModel(file->bytes())) {
    TensorFlowModel model(context, path, folderOf(path), options);
    model.assumeSizes();
    if (failed(model.load(file->bytes())))
      return failure();
    Coverage coverage;
    coverage.rows = model.coverage();
    coverage.notes = model.getNotes();
    return coverage;
  }
  OnnxModel model(context, path, folderOf(path), options);
  model.assumeSizes();
  if (failed(model.parse(file->bytes(), file)))
    return failure();
  Coverage coverage;
  coverage.refused = failed(model.check());
  if (!coverage.refused)
    model.planBatch(file->bytes(), file);
  coverage.rows = model.coverage(!coverage.refused);
  coverage.notes = model.getNotes();
  return coverage;
}

FailureOr<HostTensor>
mlir::dist::graph::readTensorFile(MLIRContext *context, StringRef path,
                                  ::dist::Dependencies *dependencies) {
  auto file = openFile(context, path, ::dist::FileAccess::Read,
                       ::dist::limitByHeader(path.str()), dependencies);
  if (!file)
    return failure();
  ::dist::HostArray array;
  ::dist::Status status;
  if (path.ends_with(".pb")) {
    status =
        ::dist::parseOnnxTensor(file->bytes(), path.str(), nullptr, &array);
  } else {
    std::vector<::dist::NamedArray> arrays;
    status = ::dist::parseArrays(file->bytes(), file, path.str(), &arrays);
    if (status.ok() && arrays.size() != 1)
      status = ::dist::Status::error(::dist::StatusCode::InvalidInput,
                                     "cannot bind an input", path.str(),
                                     "the file must hold one array");
    if (status.ok())
      array = arrays.front().array;
  }
  if (!status.ok())
    return emitError(fileLoc(context, path)) << status.message();
  FailureOr<HostTensor> tensor = toHostTensor(context, array);
  if (failed(tensor))
    return emitError(fileLoc(context, path)) << "the array is too large";
  return tensor;
}
