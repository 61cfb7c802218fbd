//===- output.cpp - The trained model as a file -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/dist-run/output.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/digest.h"
#include "runtime/core/processes.h"
#include "runtime/core/variants.h"
#include "runtime/core/slices.h"
#include "runtime/core/text.h"
#include "runtime/export/onnx_export.h"
#include "runtime/formats/links.h"
#include "runtime/formats/safetensors.h"
#include "tools/dist-run/output_package.h"
#include "tools/dist-run/program.h"
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace dist::tools {

Status checkWritable(const std::string &path) {
  if (path.empty())
    return Status();
  if (ownDescriptor(path) >= 0)
    return Status();
  struct stat info;
  errno = 0;
  if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) &&
      !S_ISREG(info.st_mode))
    return Status(); // A device or pipe: only writing tells.
  if (errno == ENAMETOOLONG || errno == ELOOP)
    return cannotWrite(path, std::strerror(errno));
  std::string folder = parentFolder(withoutLinks(path));
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return cannotWrite(path, std::strerror(errno));
  // A working directory that was removed is there for who is in it.
  if (folder == "." && stat(".", &info) == 0 && info.st_nlink == 0)
    return cannotWrite(path, "its folder was removed");
  return Status();
}

static Status wrongName(const char *option, const std::string &path,
                        const std::string &why, const std::string &todo) {
  return Status::error(StatusCode::InvalidArgument, "wrong option value",
                       option, "'" + path + "' " + why, todo);
}

/// Whether something is there that is written through, whatever its name.
static bool isDevice(const std::string &path) {
  struct stat info;
  return ownDescriptor(path) >= 0 ||
         (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) &&
          !S_ISREG(info.st_mode));
}

Status checkForm(const char *option, const std::string &path,
                 const std::string &extension) {
  if (path.empty() || isDevice(path) || endsWith(path, extension))
    return checkWritable(path);
  return wrongName(option, path, "does not end in " + extension,
                   "that is the only form it is written in");
}

/// A name for the place, whichever way a path leads there.
static std::filesystem::path placeOf(const std::string &path) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::weakly_canonical(
      std::filesystem::absolute(path, error), error);
  return place.has_filename() ? place : place.parent_path();
}

Status checkPlaces(const std::vector<ResultPlace> &results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const ResultPlace &one = results[i];
    if (one.path.empty() || isDevice(one.path))
      continue;
    const std::filesystem::path place = placeOf(one.path);
    for (size_t j = 0; j < results.size(); ++j) {
      const ResultPlace &other = results[j];
      if (j == i || other.path.empty() || isDevice(other.path))
        continue;
      const std::filesystem::path taken = placeOf(other.path);
      const bool isSame =
          j < i && place == taken &&
          (one.kind == ResultKind::File || other.kind != ResultKind::Folder);
      if (isSame)
        return wrongName(one.option.c_str(), one.path,
                         "is what " + other.option + " is written to",
                         "give each a place of its own");
      const auto [end, rest] =
          std::mismatch(taken.begin(), taken.end(), place.begin(), place.end());
      if (other.kind == ResultKind::Package && end == taken.end() &&
          rest != place.end())
        return wrongName(one.option.c_str(), one.path,
                         "lies in the package of " + other.option +
                             ", which is replaced as a whole",
                         "give it a place beside that");
    }
  }
  return Status();
}

/// What a name's last part ends in, such as .keras, that stands for a form of
/// files. A version (.2, .v3) does not.
static std::string formOf(const std::string &path) {
  std::string name = path.substr(path.rfind('/') + 1);
  size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size())
    return "";
  std::string form = name.substr(dot);
  bool version = form.find_first_not_of("0123456789", form[1] == 'v' ? 2 : 1) ==
                 std::string::npos;
  return version ? "" : form;
}

static bool isModelFile(const std::string &path) {
  return endsWith(path, ".onnx") || endsWith(path, ".safetensors");
}

ResultPlace modelPlace(const std::string &path) {
  return {"--output", path,
          isModelFile(path) ? ResultKind::File : ResultKind::Package};
}

Status checkModelName(const std::string &path) {
  if (path.empty())
    return wrongName("--output", path, "is no name", "give a file or a folder");
  if (isDevice(path))
    return Status();
  struct stat info;
  bool there = stat(path.c_str(), &info) == 0;
  auto inTheWay = [&](const std::string &what) {
    return Status::error(StatusCode::InvalidInput, "cannot write the model",
                         path, what,
                         "give another name, or one that ends in .onnx or "
                         ".safetensors");
  };
  if (isModelFile(path)) {
    if (there && S_ISDIR(info.st_mode))
      return inTheWay("a folder is there");
    return checkWritable(path);
  }
  if (std::string why = whyNotReplaced(withoutLinks(path)); !why.empty())
    return inTheWay(why);
  std::string form = formOf(path);
  if (!there && !form.empty() && form != ".package" && form != ".pkg")
    return wrongName("--output", path,
                     "is of a form that is not written (" + form + ")",
                     "give a name in .onnx or .safetensors, or for a package "
                     "one without an extension or with a / at its end");
  return checkWritable(path);
}

/// Whether the imported model lies in the package.
static Status checkSkeleton(const std::string &package,
                            const manifest::Manifest &manifest,
                            const std::string &target) {
  if (access((package + "/" + kOnnxSkeletonName).c_str(), F_OK) == 0)
    return Status();
  const std::string &model = manifest.model_name();
  const std::string why = endsWith(model, ".onnx")
                              ? std::string(kOnnxSkeletonName) +
                                    ", what the package had of " + model +
                                    ", is not there (" + package + ")"
                              : "the package was made from no ONNX model";
  return Status::error(StatusCode::InvalidInput, "cannot write ONNX", target,
                       why, "give a .safetensors file or a folder");
}

Status checkModelForm(const std::string &package,
                      const manifest::Manifest &manifest,
                      const std::string &path) {
  if (!endsWith(path, ".onnx") || isDevice(path))
    return Status();
  DIST_RETURN_IF_ERROR(checkSkeleton(package, manifest, path));
  uint64_t bytes = 0;
  for (const manifest::Variable &variable : manifest.variables())
    if (!variable.model_name().empty()) {
      const auto &type = variable.global_type();
      size_t size = 0;
      checkedBytes(shapeOf(type), byteSize(type.type()), &size);
      bytes += size;
    }
  if (bytes > uint64_t(INT_MAX))
    return Status::error(StatusCode::InvalidInput, "cannot write ONNX", path,
                         "an ONNX file ends at 2 GiB, and the variables have " +
                             std::to_string(bytes) + " bytes",
                         "write the weights as .safetensors");
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
static Status writeOnnx(const std::string &package,
                        const manifest::Manifest &manifest,
                        const GlobalReader &read, const std::string &target) {
  DIST_RETURN_IF_ERROR(checkSkeleton(package, manifest, target));
  std::vector<std::string> trained;
  for (const manifest::Variable &variable : manifest.variables())
    if (variable.trainable() && !variable.model_name().empty())
      trained.push_back(variable.model_name());
  return writeOnnxModel(
      package + "/" + kOnnxSkeletonName,
      [&](const std::string &name, Tensor *value) {
        for (int i = 0; i < manifest.variables_size(); ++i)
          if (manifest.variables(i).model_name() == name ||
              (manifest.variables(i).model_name().empty() &&
               manifest.variables(i).name() == name))
            return read(i, value);
        return Status::error(StatusCode::Internal, "cannot write ONNX", target,
                             "the package has no variable '" + name + "'");
      },
      target, findShards(manifest), rankCount(manifest.mesh()),
      /*durable=*/true, trained);
}

Status writeModel(HeldPackage &package, Session &session,
                  const std::string &target) {
  // A device has no name to tell the form by; what is written is lost anyway.
  if (endsWith(target, ".safetensors") || isDevice(target))
    return saveVariables(target, session);
  return onChief(session, [&](const GlobalReader &read) {
    std::string place;
    DIST_RETURN_IF_ERROR(package.place(&place));
    return endsWith(target, ".onnx")
               ? writeOnnx(place, session.manifest(), read, target)
               : writePackage(place, session.manifest(), read, target);
  });
}

} // namespace dist::tools
