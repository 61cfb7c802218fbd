//===- replay.cpp - A fuzz target without a fuzzer -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Feeds a target what its corpus holds, and damaged copies of that: cut short
// at many places and with single bytes changed, the same ones in every run. It
// needs no libFuzzer, so that every build runs it.
//
//   NAME_replay CORPUS-FOLDER [COPIES]
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(const std::vector<uint8_t> &bytes) {
  // Exactly as large as the input: a sanitizer sees a read past its end.
  std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), bytes.size());
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER [COPIES]\n", argv[0]);
    return 2;
  }
  long copies = argc > 2 ? std::atol(argv[2]) : 400;
  std::vector<std::filesystem::path> files;
  std::error_code code;
  for (const auto &entry : std::filesystem::directory_iterator(argv[1], code))
    files.push_back(entry.path());
  if (files.empty()) {
    std::fprintf(stderr, "%s: no corpus in %s\n", argv[0], argv[1]);
    return 1;
  }
  std::sort(files.begin(), files.end());
  long inputs = 0;
  for (const auto &file : files) {
    std::ifstream stream(file, std::ios::binary);
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)), {});
    feed(bytes);
    ++inputs;
    if (bytes.empty())
      continue;
    uint64_t state = 1;
    auto draw = [&](uint64_t below) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      return (state >> 33) % below;
    };
    for (long i = 0; i < copies; ++i, ++inputs) {
      std::vector<uint8_t> damaged = bytes;
      if (i % 4 == 0)
        damaged.resize(draw(bytes.size()));
      else
        for (long changes = i % 4; changes > 0; --changes)
          damaged[draw(damaged.size())] = uint8_t(draw(256));
      feed(damaged);
    }
  }
  std::printf("%ld inputs\n", inputs);
  return 0;
}
