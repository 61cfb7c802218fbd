//===- Fold.cpp - Lists of what repeats, made short -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Analysis/Fold.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>
#include <map>

using namespace llvm;
using namespace mlir::dist;

std::string mlir::dist::getNamePattern(StringRef text) {
  std::string pattern;
  for (size_t i = 0; i < text.size(); ++i)
    if (!isDigit(text[i]))
      pattern += text[i];
    else if (i == 0 || !isDigit(text[i - 1]))
      pattern += '#';
  return pattern;
}

/// The numbers of a text, in order. Of those too long to be counts, the digits'
/// end: they only have to be told apart.
static std::vector<uint64_t> getNumbers(StringRef text) {
  std::vector<uint64_t> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!isDigit(text[i]))
      continue;
    if (i == 0 || !isDigit(text[i - 1]))
      numbers.push_back(0);
    numbers.back() = numbers.back() * 10 + (text[i] - '0');
  }
  return numbers;
}

/// `{0-95}`, `{0,2,7}` or, where that is long, `{0..94}`.
static std::string formatRange(const std::set<uint64_t> &numbers) {
  constexpr size_t kListed = 4;
  uint64_t first = *numbers.begin(), last = *numbers.rbegin();
  if (last - first + 1 == numbers.size() && numbers.size() > 1)
    return "{" + std::to_string(first) + "-" + std::to_string(last) + "}";
  if (numbers.size() > kListed)
    return "{" + std::to_string(first) + ".." + std::to_string(last) + "}";
  return "{" +
         join(map_range(numbers, [](uint64_t n) { return std::to_string(n); }),
              ",") +
         "}";
}

std::string mlir::dist::foldNames(ArrayRef<StringRef> texts) {
  if (texts.empty())
    return "";
  std::vector<std::set<uint64_t>> places;
  for (StringRef text : texts) {
    std::vector<uint64_t> numbers = getNumbers(text);
    places.resize(numbers.size());
    for (auto [place, number] : zip(places, numbers))
      place.insert(number);
  }
  std::string folded;
  size_t next = 0;
  StringRef text = texts.front();
  for (size_t i = 0; i < text.size(); ++i) {
    bool starts = isDigit(text[i]) && (i == 0 || !isDigit(text[i - 1]));
    if (starts)
      ++next;
    if (!isDigit(text[i]) || places[next - 1].size() == 1)
      folded += text[i];
    else if (starts)
      folded += formatRange(places[next - 1]);
  }
  return folded;
}

std::string mlir::dist::foldList(StringRef text, StringRef separator,
                                 size_t most) {
  SmallVector<StringRef> parts;
  text.split(parts, separator);
  MapVector<std::string, SmallVector<StringRef>,
            std::map<std::string, unsigned>>
      groups;
  for (StringRef part : parts)
    groups[getNamePattern(part)].push_back(part);
  std::string folded;
  size_t shown = 0;
  for (auto &[pattern, members] : groups) {
    if (most && shown == most) {
      folded +=
          (separator + Twine("and ") + Twine(groups.size() - shown) + " more")
              .str();
      break;
    }
    if (shown++)
      folded += separator;
    folded += foldNames(members);
  }
  return folded;
}

std::vector<FoldedRun> mlir::dist::foldRuns(ArrayRef<unsigned> keys,
                                            size_t maxPeriod) {
  std::vector<FoldedRun> runs;
  size_t n = keys.size();
  for (size_t i = 0; i < n;) {
    FoldedRun best{i, 1, 1};
    for (size_t period = 1; period <= maxPeriod && i + period < n; ++period) {
      size_t same = 0;
      while (i + period + same < n && keys[i + same] == keys[i + period + same])
        ++same;
      size_t times = same / period + 1;
      if (times >= kLeastRepeats && times * period > best.period * best.times)
        best = {i, period, times};
    }
    if (best.times == 1 && !runs.empty() && runs.back().times == 1 &&
        runs.back().end() == i)
      ++runs.back().period;
    else
      runs.push_back(best);
    i = runs.back().end();
  }
  return runs;
}
