//===- output.cpp - The trained model as a file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/output.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/digest.h"
#include "runtime/core/package.h"
#include "runtime/core/slices.h"
#include "runtime/export/onnx_export.h"
#include "runtime/formats/safetensors.h"
#include "tools/dist-run/program.h"
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

static Status cannotWrite(const std::string &path, const std::string &why) {
  return Status::error(StatusCode::Unavailable, "cannot write", path, why,
                       "check the folder, its permissions and free space");
}

Status checkWritable(const std::string &path) {
  if (path.empty())
    return Status();
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) &&
      !S_ISREG(info.st_mode))
    return Status(); // A device or pipe: only writing tells.
  size_t slash = path.rfind('/', path.size() - 2);
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return cannotWrite(path, std::strerror(errno));
  return Status();
}

/// A copy of the package with the session's values in weights.safetensors.
/// Values that a package fills by itself (slots, counters) start anew.
static Status writePackage(const std::string &package, Session &session,
                           const std::string &target) {
  namespace fs = std::filesystem;
  std::error_code error;
  bool there = fs::exists(target, error);
  if (there && !isPackage(target) && !fs::is_empty(target, error))
    return Status::error(StatusCode::InvalidInput, "cannot write package",
                         target, "something else is there",
                         "give another name, or one that ends in .onnx or "
                         ".safetensors");
  std::string name = target;
  while (name.size() > 1 && name.back() == '/')
    name.pop_back();
  std::string beside = name + ".part" + std::to_string(getpid());
  struct Remover {
    std::string path;
    ~Remover() { removeAll(path); }
  } remover{beside};
  DIST_RETURN_IF_ERROR(makeFolders(beside));
  for (const auto &item : fs::directory_iterator(package, error)) {
    if (item.path().filename() == "weights.safetensors")
      continue;
    fs::copy(item.path(), beside / item.path().filename(), error);
    if (error)
      return cannotWrite(beside, error.message());
  }
  std::string weights = package + "/weights.safetensors";
  std::unique_ptr<SafetensorsFile> old;
  if (fs::exists(weights, error))
    DIST_RETURN_IF_ERROR(SafetensorsFile::map(weights, &old));
  std::deque<Tensor> values;
  SafetensorsWriter writer(beside + "/weights.safetensors");
  const manifest::Manifest &manifest = session.manifest();
  std::map<std::string, bool> written;
  for (int i = 0; i < manifest.variables_size(); ++i) {
    const std::string &key = manifest.variables(i).weights_key();
    if (key.empty() || written[key])
      continue;
    Tensor &value = values.emplace_back();
    DIST_RETURN_IF_ERROR(session.readVariable(i, &value));
    // What is read of all replicas becomes each replica's again.
    const auto &type = manifest.variables(i).global_type();
    std::vector<int64_t> shape(type.shape().begin(), type.shape().end());
    if (value.shape != shape && !value.data.empty()) {
      Buffer one = value.data;
      value.shape = shape;
      value.data.clear();
      while (value.data.size() < value.view().bytes())
        value.data.insert(value.data.end(), one.begin(), one.end());
    }
    written[key] = true;
    writer.add(key, value.type, value.shape, value.data.data());
  }
  if (old)
    for (auto &[key, view] : old->tensors())
      if (!written[key])
        writer.add(key, view.type, view.shape, view.data);
  DIST_RETURN_IF_ERROR(writer.finish());
  manifest::Manifest changed = manifest;
  std::string digest;
  DIST_RETURN_IF_ERROR(digestPackage(beside, &digest));
  changed.set_digest(digest);
  DIST_RETURN_IF_ERROR(
      writeFile(beside + "/manifest", changed.SerializeAsString()));
  if (there)
    removeAll(name);
  if (::rename(beside.c_str(), name.c_str()) != 0)
    return cannotWrite(target, std::strerror(errno));
  return Status();
}

/// The variables that ranks hold parts of, and which. What is split as the
/// batch is (zero's shards) is gathered for computing: the model does not
/// compute on such parts.
static std::map<std::string, OnnxShards>
findShards(const manifest::Manifest &manifest) {
  std::set<std::string> batchAxes;
  for (const manifest::Program &program : manifest.programs())
    for (const manifest::Entry &entry : program.entries())
      for (const manifest::Binding &argument : entry.arguments())
        if (argument.role() == manifest::Binding::INPUT)
          for (const manifest::DimSharding &dim : argument.sharding().dims())
            batchAxes.insert(dim.axes().begin(), dim.axes().end());
  std::vector<std::pair<std::string, int64_t>> mesh;
  for (const manifest::Axis &axis : manifest.mesh().axes())
    mesh.emplace_back(axis.name(), axis.size());
  std::map<std::string, OnnxShards> result;
  for (const manifest::Variable &variable : manifest.variables()) {
    std::vector<std::vector<std::string>> axesOfDims;
    // The model has no dim for the row that each replica keeps.
    for (int i = hasReplicaRows(variable); i < variable.sharding().dims_size();
         ++i) {
      std::vector<std::string> &axes = axesOfDims.emplace_back();
      for (const std::string &axis : variable.sharding().dims(i).axes())
        if (!batchAxes.count(axis))
          axes.push_back(axis);
    }
    OnnxShards shards = arrangeShards(mesh, axesOfDims, [&](int64_t rank) {
      return holdsVariable(manifest, variable, rank);
    });
    if (shards.devices.size() == 1)
      continue;
    const std::string &name = variable.model_name();
    result[name.empty() ? variable.name() : name] = std::move(shards);
  }
  return result;
}

/// The imported model with new weights, from the skeleton in the package.
static Status writeOnnx(const std::string &package, Session &session,
                        const std::string &target) {
  std::string skeleton = package + "/" + kOnnxSkeletonName;
  std::error_code error;
  if (!std::filesystem::exists(skeleton, error))
    return Status::error(StatusCode::InvalidInput, "cannot write ONNX", target,
                         "the package was made from no ONNX model",
                         "give a .safetensors file or a folder");
  const manifest::Manifest &manifest = session.manifest();
  return writeOnnxModel(
      skeleton,
      [&](const std::string &name, Tensor *value) {
        for (int i = 0; i < manifest.variables_size(); ++i)
          if (manifest.variables(i).model_name() == name ||
              (manifest.variables(i).model_name().empty() &&
               manifest.variables(i).name() == name))
            return session.readVariable(i, value);
        return Status::error(StatusCode::Internal, "cannot write ONNX", target,
                             "the package has no variable '" + name + "'");
      },
      target, findShards(manifest), rankCount(manifest.mesh()));
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Status writeModel(const std::string &package, Session &session,
                  const std::string &target) {
  // A device has no name to tell the form by; what is written is lost anyway.
  struct stat info;
  bool device = stat(target.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) &&
                !S_ISREG(info.st_mode);
  if (endsWith(target, ".safetensors") || device)
    return saveVariables(target, session);
  if (endsWith(target, ".onnx"))
    return writeOnnx(package, session, target);
  return writePackage(package, session, target);
}

} // namespace dist::tools
