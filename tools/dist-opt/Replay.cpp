//===- Replay.cpp - A package's entries run by dist-run -------------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-opt/Replay.h"
#include "passes/Lowering/Library/LibraryKernels.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::dist;
using ::dist::Status;
using ::dist::StatusCode;

void ReplayFile::add(const std::string &name, const HostTensor &tensor) {
  RankedTensorType type = tensor.getType();
  bytes.push_back(tensor.toBytes());
  writer.add(name, getDataType(type.getElementType()), type.getShape().vec(),
             bytes.back().data());
}

Status ReplayFile::finish() {
  writer.setMetadata("entries", entries);
  return writer.finish();
}

/// dist-run beside this program, else the one on PATH; empty if there is none.
static std::string findTool() {
  std::string self = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&replay));
  llvm::SmallString<256> beside(llvm::sys::path::parent_path(self));
  llvm::sys::path::append(beside, "dist-run");
  if (llvm::sys::fs::can_execute(beside))
    return beside.str().str();
  auto found = llvm::sys::findProgramByName("dist-run");
  return found ? *found : "";
}

Status mlir::dist::replay(const std::string &package, const std::string &cases,
                          const std::string &folder,
                          std::unique_ptr<::dist::SafetensorsFile> *results) {
  std::string tool = findTool();
  if (tool.empty())
    return Status::error(
        StatusCode::Unavailable, "cannot run the kernels", "--check=kernels",
        "no dist-run is beside dist-opt or on PATH", "install it there");
  std::string written = folder + "/results.safetensors",
              words = folder + "/stderr";
  StringRef arguments[] = {tool,  "predict",  package, "--replay",
                           cases, "--output", written};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(""),
                                          StringRef(words)};
  std::string why;
  int code = llvm::sys::ExecuteAndWait(tool, arguments, std::nullopt, redirects,
                                       0, 0, &why);
  if (code == 0)
    return ::dist::SafetensorsFile::open(written, results);
  if (auto text = llvm::MemoryBuffer::getFile(words, /*IsText=*/true))
    if (StringRef line = (*text)->getBuffer().trim(); !line.empty())
      why = line.str();
  return Status::error(
      StatusCode::Unavailable, "cannot run the kernels", "--check=kernels",
      why.empty() ? "dist-run ended with code " + std::to_string(code) : why,
      "check the machine that runs them");
}

Status mlir::dist::readResult(const ::dist::SafetensorsFile &results,
                              const std::string &name, RankedTensorType type,
                              HostTensor *out) {
  const ::dist::TensorView *view = results.find(name);
  FailureOr<HostTensor> tensor = failure();
  if (view)
    tensor = HostTensor::fromBytes(
        type, ArrayRef(static_cast<const char *>(view->data), view->bytes()));
  if (failed(tensor))
    return Status::error(StatusCode::Internal, "a result is missing", name,
                         "dist-run did not write it", "");
  *out = *tensor;
  return Status();
}
