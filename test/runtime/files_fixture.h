//===- files_fixture.h - Files of tests -------------------------*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TEST_RUNTIME_FILES_FIXTURE_H
#define TEST_RUNTIME_FILES_FIXTURE_H

#include "test/runtime/folder_test.h"
#include <fstream>
#include <zlib.h>

namespace fs = std::filesystem;

namespace dist {

struct FilesTest : FolderTest {
  std::string put(const std::string &name, const std::string &bytes) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  static std::string contents(const std::string &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

inline std::string gzip(const std::string &text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 100, '\0');
  stream.next_in = (Bytef *)text.data();
  stream.avail_in = text.size();
  stream.next_out = (Bytef *)out.data();
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

} // namespace dist

#endif // TEST_RUNTIME_FILES_FIXTURE_H
