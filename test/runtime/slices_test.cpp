//===- slices_test.cpp - Parts of global tensors on ranks -----------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/slices.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace dist;

namespace {

using Shape = std::vector<int64_t>;
using Axes = std::vector<std::vector<std::string>>;

/// A 2 x 3 mesh of axes a and b.
Status distribute(const Shape &global, const Axes &dims,
                  const std::vector<std::string> &unreduced, Distribution *out,
                  const Shape &local = {}) {
  manifest::Mesh mesh;
  for (int i = 0; i < 2; ++i) {
    auto *axis = mesh.add_axes();
    axis->set_name(i ? "b" : "a");
    axis->set_size(2 + i);
  }
  manifest::TensorType whole, part;
  whole.set_type(manifest::I32);
  part.set_type(manifest::I32);
  manifest::Sharding sharding;
  for (size_t i = 0; i < global.size(); ++i) {
    int64_t parts = 1;
    auto *dim = sharding.add_dims();
    for (const std::string &axis : dims[i]) {
      dim->add_axes(axis);
      parts *= axis == "a" ? 2 : 3;
    }
    whole.add_shape(global[i]);
    part.add_shape(local.empty() ? (global[i] + parts - 1) / parts : local[i]);
  }
  for (const std::string &axis : unreduced)
    sharding.add_unreduced(axis);
  return Distribution::create(mesh, whole, part, sharding, "test", out);
}

// Of some ranks, the box of what they have between them takes the place of the
// whole; one that no rank's part fills says so.
TEST(Slices, NarrowToRanks) {
  Shape shape = {6, 12, 4};
  std::vector<int32_t> whole(elementCount(shape));
  std::iota(whole.begin(), whole.end(), 0);
  struct Case {
    Axes axes;
    std::vector<int> ranks;
    Shape start, box;
    bool isWhole = true;
  };
  for (const Case &c : {
           Case{{{"a"}, {}, {}}, {0, 1, 2}, {0, 0, 0}, {3, 12, 4}},
           Case{{{"a"}, {}, {}}, {4}, {3, 0, 0}, {3, 12, 4}},
           Case{{{"b"}, {}, {}}, {1, 2}, {2, 0, 0}, {4, 12, 4}},
           Case{{{"b"}, {}, {}}, {3, 5}, {0, 0, 0}, {6, 12, 4}, false},
           Case{{{"a"}, {"b"}, {}}, {3, 4, 5}, {3, 0, 0}, {3, 12, 4}},
           Case{{{"a"}, {"b"}, {}}, {1, 4}, {0, 4, 0}, {6, 4, 4}},
           Case{{{"a"}, {"b"}, {}}, {0, 4}, {0, 0, 0}, {6, 8, 4}, false},
           Case{{{}, {"a", "b"}, {}}, {2, 3}, {0, 4, 0}, {6, 4, 4}},
           Case{{{}, {}, {}}, {5}, {0, 0, 0}, {6, 12, 4}},
       }) {
    Distribution full, narrow;
    ASSERT_TRUE(distribute(shape, c.axes, {}, &full).ok());
    narrow = full;
    Window window = narrow.narrowTo(c.ranks);
    EXPECT_TRUE(window.present);
    EXPECT_EQ(window.whole, c.isWhole);
    EXPECT_EQ(window.start, c.start);
    EXPECT_EQ(window.shape, c.box);
    EXPECT_EQ(narrow.globalShape, c.box);
    EXPECT_EQ(narrow.globalBytes, 4 * elementCount(c.box));
    std::vector<int32_t> box, back(elementCount(c.box), -1);
    for (int64_t i = 0; i < c.box[0]; ++i)
      for (int64_t j = 0; j < c.box[1]; ++j)
        for (int64_t k = 0; k < c.box[2]; ++k)
          box.push_back(
              whole[((c.start[0] + i) * shape[1] + c.start[1] + j) * shape[2] +
                    c.start[2] + k]);
    for (int rank = 0; rank < 6; ++rank) {
      bool isOurs =
          std::find(c.ranks.begin(), c.ranks.end(), rank) != c.ranks.end();
      EXPECT_LE(narrow.slices[rank].firstCopy, isOurs);
      if (!isOurs)
        continue;
      std::vector<int32_t> part(elementCount(full.partShape(rank)), -1),
          same(part);
      full.cut(whole.data(), rank, part.data());
      narrow.cut(box.data(), rank, same.data());
      EXPECT_EQ(part, same);
      if (narrow.slices[rank].contiguous)
        EXPECT_EQ(std::memcmp(box.data() + narrow.slices[rank].offset / 4,
                              part.data(), 4 * part.size()),
                  0);
      if (narrow.slices[rank].firstCopy)
        narrow.paste(part.data(), rank, back.data());
    }
    if (c.isWhole)
      EXPECT_EQ(back, box);
  }
}

// 5 elements on 2 x 3 ranks, one each: the last has none, but has a box.
TEST(Slices, NarrowToPadding) {
  Distribution d;
  ASSERT_TRUE(distribute({5}, {{"a", "b"}}, {}, &d).ok());
  Distribution last = d, some = d, none = d;
  Window window = last.narrowTo({5});
  EXPECT_TRUE(window.present && window.whole);
  EXPECT_EQ(window.shape, Shape{0});
  window = some.narrowTo({5, 4});
  EXPECT_TRUE(window.whole);
  EXPECT_EQ(window.start, Shape{4});
  EXPECT_EQ(window.shape, Shape{1});
  EXPECT_FALSE(none.narrowTo({}).present);
}

// Every element is on the ranks whose slice covers it, and comes back.
TEST(Slices, CutAndPaste) {
  for (const Axes &axes :
       {Axes{{}, {}, {}}, Axes{{"a"}, {}, {}}, Axes{{}, {"b"}, {}},
        Axes{{}, {}, {"a"}}, Axes{{"a"}, {"b"}, {}}, Axes{{"b"}, {}, {"a"}},
        Axes{{}, {"a", "b"}, {}}, Axes{{}, {"b", "a"}, {}}}) {
    Shape shape = {6, 12, 4};
    Distribution d;
    Status status = distribute(shape, axes, {}, &d);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<int32_t> whole(elementCount(shape)), back(whole.size(), -1);
    std::iota(whole.begin(), whole.end(), 0);
    int64_t copies = 0;
    for (int rank = 0; rank < 6; ++rank) {
      const Slice &slice = d.slices[rank];
      std::vector<int32_t> part(elementCount(d.localShape), -1);
      d.cut(whole.data(), rank, part.data());
      size_t at = 0;
      for (int64_t i = 0; i < slice.size[0]; ++i)
        for (int64_t j = 0; j < slice.size[1]; ++j)
          for (int64_t k = 0; k < slice.size[2]; ++k)
            ASSERT_EQ(part[at++],
                      ((slice.start[0] + i) * shape[1] + slice.start[1] + j) *
                              shape[2] +
                          slice.start[2] + k);
      if (slice.contiguous) {
        EXPECT_EQ(
            std::memcmp(part.data(),
                        reinterpret_cast<char *>(whole.data()) + slice.offset,
                        d.localBytes),
            0);
      }
      if (!slice.firstCopy)
        continue;
      ++copies;
      d.paste(part.data(), rank, back.data());
    }
    EXPECT_EQ(copies * d.localBytes, d.globalBytes);
    EXPECT_EQ(back, whole);
  }
}

// Where the parts cannot be equal the last ranks hold less, and zeros behind.
TEST(Slices, CutAndPasteWithPadding) {
  for (const Axes &axes :
       {Axes{{"a"}, {}, {}}, Axes{{}, {"b"}, {}}, Axes{{}, {}, {"a"}},
        Axes{{"a"}, {"b"}, {}}, Axes{{"b"}, {}, {"a"}},
        Axes{{}, {"a", "b"}, {}}, Axes{{}, {"b"}, {"a"}}}) {
    // Over six ranks 7 elements are 2, 2, 2, 1, 0 and 0.
    Shape shape = {5, 7, 3};
    Distribution d;
    Status status = distribute(shape, axes, {}, &d);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<int32_t> whole(elementCount(shape)), back(whole.size(), -1);
    std::iota(whole.begin(), whole.end(), 1);
    for (int rank = 0; rank < 6; ++rank) {
      const Slice &slice = d.slices[rank];
      EXPECT_EQ(slice.padded, slice.size != d.localShape);
      EXPECT_FALSE(slice.padded && slice.contiguous);
      std::vector<int32_t> part(elementCount(d.localShape), -1);
      d.cut(whole.data(), rank, part.data());
      size_t at = 0;
      for (int64_t i = 0; i < d.localShape[0]; ++i)
        for (int64_t j = 0; j < d.localShape[1]; ++j)
          for (int64_t k = 0; k < d.localShape[2]; ++k) {
            bool inside =
                i < slice.size[0] && j < slice.size[1] && k < slice.size[2];
            int64_t place =
                ((slice.start[0] + i) * shape[1] + slice.start[1] + j) *
                    shape[2] +
                slice.start[2] + k;
            ASSERT_EQ(part[at++], inside ? place + 1 : 0);
          }
      if (slice.firstCopy)
        d.paste(part.data(), rank, back.data());
    }
    EXPECT_EQ(back, whole);
  }
}

/// A mesh of unequal places a (weights 1, 2, 1) and places b.
static Status share(const Shape &global, const Shape &local, const Axes &dims,
                    Content content, Distribution *out) {
  manifest::Mesh mesh;
  auto *a = mesh.add_axes(), *b = mesh.add_axes();
  a->set_name("a");
  a->set_size(3);
  for (int64_t weight : {1, 2, 1})
    a->add_weights(weight);
  b->set_name("b");
  b->set_size(2);
  manifest::TensorType whole, part;
  whole.set_type(manifest::I32);
  part.set_type(manifest::I32);
  manifest::Sharding sharding;
  for (size_t i = 0; i < global.size(); ++i) {
    whole.add_shape(global[i]);
    part.add_shape(local[i]);
    auto *dim = sharding.add_dims();
    for (const std::string &axis : dims[i])
      dim->add_axes(axis);
  }
  return Distribution::create(mesh, whole, part, sharding, "test", out,
                              content);
}

// Examples follow the weights: three unequal parts, copies over the other axis.
TEST(Slices, WeightedShares) {
  Distribution d;
  ASSERT_TRUE(share({8, 2}, {4, 2}, {{"a"}, {}}, Content::Examples, &d).ok());
  const int64_t starts[] = {0, 2, 6}, sizes[] = {2, 4, 2};
  std::vector<int32_t> whole(16), back(16, -1);
  std::iota(whole.begin(), whole.end(), 0);
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(d.slices[rank].start, (Shape{starts[rank / 2], 0}));
    EXPECT_EQ(d.partShape(rank), (Shape{sizes[rank / 2], 2}));
    EXPECT_TRUE(d.slices[rank].contiguous);
    EXPECT_EQ(d.slices[rank].firstCopy, rank % 2 == 0);
    std::vector<int32_t> part(2 * sizes[rank / 2], -1);
    d.cut(whole.data(), rank, part.data());
    EXPECT_EQ(part.front(), 2 * starts[rank / 2]);
    EXPECT_EQ(part.back(), 2 * (starts[rank / 2] + sizes[rank / 2]) - 1);
    if (d.slices[rank].firstCopy)
      d.paste(part.data(), rank, back.data());
  }
  EXPECT_EQ(back, whole);
  // A rank finds room for the largest.
  EXPECT_EQ(d.localBytes, 4 * 2 * 4);
  EXPECT_EQ(d.parts, 3);
}

// A dim of tokens behind the examples: each share in two equal parts, and a
// dim with padding beside it.
TEST(Slices, WeightedSharesInParts) {
  Distribution d;
  ASSERT_TRUE(share({16}, {2}, {{"a", "b"}}, Content::Examples, &d).ok());
  const int64_t starts[] = {0, 2, 4, 8, 12, 14}, sizes[] = {2, 2, 4, 4, 2, 2};
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(d.slices[rank].start[0], starts[rank]);
    EXPECT_EQ(d.slices[rank].size[0], sizes[rank]);
  }
  ASSERT_TRUE(
      share({8, 3}, {2, 2}, {{"a"}, {"b"}}, Content::Examples, &d).ok());
  EXPECT_EQ(d.partShape(3), (Shape{4, 2}));
  EXPECT_TRUE(d.slices[3].padded);
  std::vector<int32_t> whole(24, 7), part(8, -1);
  d.cut(whole.data(), 3, part.data());
  EXPECT_EQ(part, (std::vector<int32_t>{7, 0, 7, 0, 7, 0, 7, 0}));
}

// What no share fits; and variables, whose shards are equal.
TEST(Slices, SharesThatDoNotFit) {
  Distribution d;
  Axes axes = {{"a"}};
  EXPECT_FALSE(share({8}, {3}, axes, Content::Examples, &d).ok());
  EXPECT_FALSE(share({9}, {2}, axes, Content::Examples, &d).ok());
  EXPECT_FALSE(share({8}, {4}, axes, Content::Variable, &d).ok());
  ASSERT_TRUE(share({8}, {3}, axes, Content::Variable, &d).ok());
  EXPECT_EQ(d.slices[4].size[0], 2);
}

TEST(Slices, OrderOfAxes) {
  Distribution d;
  ASSERT_TRUE(distribute({12}, {{"a", "b"}}, {}, &d).ok());
  EXPECT_EQ(d.slices[1].start[0], 2);
  EXPECT_EQ(d.slices[3].start[0], 6);
  EXPECT_TRUE(d.slices[3].contiguous);
  ASSERT_TRUE(distribute({12}, {{"b", "a"}}, {}, &d).ok());
  EXPECT_EQ(d.slices[1].start[0], 4);
  EXPECT_EQ(d.slices[3].start[0], 2);
  ASSERT_TRUE(distribute({6, 4}, {{}, {"a"}}, {}, &d).ok());
  EXPECT_FALSE(d.slices[0].contiguous);
  ASSERT_TRUE(distribute({1, 4}, {{}, {"a"}}, {}, &d).ok());
  EXPECT_TRUE(d.slices[0].contiguous);
}

TEST(Slices, PartialSums) {
  Distribution d;
  ASSERT_TRUE(distribute({4}, {{"a"}}, {"b"}, &d).ok());
  EXPECT_TRUE(d.unreduced);
  int32_t parts[6][2], whole[4];
  for (int rank = 0; rank < 6; ++rank)
    for (int i = 0; i < 2; ++i)
      parts[rank][i] = 10 * rank + i;
  addPartials(d, [&](int rank) { return parts[rank]; }, whole);
  // Ranks 0..2 hold the first half, 3..5 the second.
  EXPECT_EQ(whole[0], 30);
  EXPECT_EQ(whole[1], 33);
  EXPECT_EQ(whole[2], 120);
  EXPECT_EQ(whole[3], 123);
  // Padding adds to nothing.
  ASSERT_TRUE(distribute({3}, {{"a"}}, {"b"}, &d).ok());
  whole[3] = -1;
  addPartials(d, [&](int rank) { return parts[rank]; }, whole);
  EXPECT_EQ(whole[2], 120);
  EXPECT_EQ(whole[3], -1);
  // Copies over an axis that is in neither count once.
  ASSERT_TRUE(distribute({4}, {{}}, {"b"}, &d).ok());
  int32_t ones[4] = {1, 1, 1, 1};
  addPartials(d, [&](int) { return ones; }, whole);
  EXPECT_EQ(whole[0], 3);
}

TEST(Slices, Refusals) {
  Distribution d;
  EXPECT_FALSE(distribute({5}, {{"a"}}, {}, &d, {2}).ok());
  EXPECT_FALSE(distribute({5}, {{"a"}}, {}, &d, {4}).ok());
  EXPECT_FALSE(distribute({5}, {{"a"}}, {}, &d, {5}).ok());
  EXPECT_FALSE(distribute({4, 4}, {{"a"}, {"a"}}, {}, &d).ok());
  EXPECT_FALSE(distribute({4}, {{"a"}}, {"a"}, &d).ok());
  EXPECT_FALSE(distribute({4}, {{}}, {"c"}, &d).ok());
  EXPECT_FALSE(distribute({-4}, {{}}, {}, &d).ok());
  EXPECT_TRUE(distribute({0, 4}, {{}, {}}, {}, &d).ok());
}

} // namespace
