//===- files_test.cpp - Bytes of files, and which may be read -*- C++ -*-===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/formats/dependencies.h"
#include "runtime/formats/external_files.h"
#include "runtime/formats/links.h"
#include "runtime/formats/npy.h"
#include "runtime/formats/onnx.pb.h"
#include "runtime/formats/onnx_scan.h"
#include "runtime/formats/sha256.h"
#include "runtime/formats/text_file.h"
#include "test/runtime/files_fixture.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace dist;

namespace {

TEST_F(FilesTest, AreReadOrMapped) {
  std::string path = put("a", std::string(100000, 'x'));
  std::shared_ptr<const FileBytes> read, mapped;
  ASSERT_TRUE(FileBytes::open(path, &read).ok());
  ASSERT_TRUE(FileBytes::open(path, &mapped, FileAccess::Map).ok());
  EXPECT_EQ(read->bytes(), mapped->bytes());
  mapped->release();
  EXPECT_EQ(mapped->bytes()[99999], 'x');
  // What was read is the process's own: nobody can take it away.
  fs::resize_file(path, 0);
  EXPECT_EQ(read->bytes().substr(99990), "xxxxxxxxxx");
  // Files that the kernel makes up have no size.
  ASSERT_TRUE(FileBytes::open("/proc/cpuinfo", &read).ok());
  EXPECT_GT(read->bytes().size(), 10u);
}

TEST_F(FilesTest, TextsAreReadWholeOrRefused) {
  std::string text;
  ASSERT_TRUE(readText(put("a", "one\ntwo"), &text).ok());
  EXPECT_EQ(text, "one\ntwo");
  ASSERT_TRUE(readText("/dev/null", &text).ok());
  EXPECT_EQ(text, "");
  auto refused = [&](const std::string &path, StatusCode code) {
    Status status = readText(path, &text);
    EXPECT_EQ(status.code(), code) << path;
    EXPECT_NE(status.message().find(path), std::string::npos);
    return status.message();
  };
  EXPECT_NE(refused(folder, StatusCode::InvalidInput).find("Is a directory"),
            std::string::npos);
  refused(folder / "none", StatusCode::InvalidInput);
  // Whose reading fails, and one that never ends.
  refused("/proc/self/mem", StatusCode::Unavailable);
  refused("/dev/zero", StatusCode::Unavailable);
  // Nothing of it is read.
  fs::resize_file(folder / "a", uintmax_t(1) << 40);
  EXPECT_NE(refused(folder / "a", StatusCode::InvalidInput).find("too long"),
            std::string::npos);
}

TEST_F(FilesTest, UnpackWhatIsGzip) {
  std::shared_ptr<const FileBytes> file;
  std::string packed = gzip("hello, hello, hello");
  for (const char *name : {"a.gz", "a.npy"}) {
    ASSERT_TRUE(FileBytes::openUnpacked(put(name, packed), &file).ok());
    EXPECT_EQ(file->bytes(), "hello, hello, hello");
  }
  // As they are: raw weights may start with anything.
  ASSERT_TRUE(FileBytes::open(folder / "a.gz", &file).ok());
  EXPECT_EQ(file->bytes(), packed);
  // The magic alone is no gzip stream; and a header's length may look like one.
  std::string other("\x1f\x8b\x07\0{}                  ", 24);
  ASSERT_TRUE(FileBytes::openUnpacked(put("b.npy", other), &file).ok());
  EXPECT_EQ(file->bytes(), other);
  ASSERT_TRUE(
      FileBytes::openUnpacked(put("c.safetensors", packed), &file).ok());
  EXPECT_EQ(file->bytes(), packed);
  // A name in .gz promises it.
  Status status = FileBytes::openUnpacked(put("d.gz", other), &file);
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("no gzip stream"), std::string::npos);
  // And the checksum at its end is the format's own.
  packed[packed.size() - 6] ^= 1;
  EXPECT_FALSE(FileBytes::openUnpacked(put("e.gz", packed), &file).ok());
}

TEST_F(FilesTest, TemporaryNamesAreNobodysToGuess) {
  // Someone expects the name of the temporary file, and links it elsewhere.
  std::string victim = put("victim", "mine");
  fs::create_symlink(victim, folder / ("out.part" + std::to_string(getpid())));
  ASSERT_TRUE(writeFile(folder / "out", "text", /*durable=*/true).ok());
  EXPECT_EQ(contents(folder / "out"), "text");
  EXPECT_EQ(contents(victim), "mine");
  // The rights are those of any new file, not the temporary one's.
  mode_t mask = umask(0);
  umask(mask);
  struct stat info;
  ASSERT_EQ(stat((folder / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
  std::string made;
  ASSERT_TRUE(makeFolderBeside(folder / "p/", &made).ok());
  ASSERT_EQ(stat(made.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0777 & ~mask);
}

TEST_F(FilesTest, LinksAreWrittenThrough) {
  put("disk/old", "old");
  fs::create_symlink("disk/old", folder / "one");
  fs::create_symlink(folder / "one", folder / "two");
  fs::create_symlink("disk/new", folder / "dangling");
  ASSERT_TRUE(writeFile(folder / "two", "text", /*durable=*/true).ok());
  EXPECT_EQ(contents(folder / "disk/old"), "text");
  EXPECT_TRUE(fs::is_symlink(folder / "one"));
  EXPECT_TRUE(fs::is_symlink(folder / "two"));
  ASSERT_TRUE(writeFile(folder / "dangling", "text").ok());
  EXPECT_EQ(contents(folder / "disk/new"), "text");
  EXPECT_EQ(withoutLinks(folder / "two/"), folder / "disk/old");
  EXPECT_EQ(withoutLinks(folder / "none"), folder / "none");
  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(withoutLinks(folder / "loop"), folder / "loop");
}

// As /dev/stdout is of a file where a shell has opened one.
TEST_F(FilesTest, NamesOfDescriptorsAreWrittenThrough) {
  const int file = ::open((folder / "out").c_str(), O_CREAT | O_WRONLY, 0600);
  const std::string number = std::to_string(file);
  fs::create_symlink("/proc/self/fd/" + number, folder / "link");
  ASSERT_EQ(::write(file, "a", 1), 1);
  ASSERT_TRUE(writeFile(folder / "link", "b").ok());
  ASSERT_TRUE(writeFile("/dev/fd/" + number, "c", /*durable=*/true).ok());
  ASSERT_EQ(::write(file, "d", 1), 1);
  EXPECT_EQ(contents(folder / "out"), "abcd");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(ownDescriptor(folder / "link"), file);
  EXPECT_EQ(ownDescriptor(folder / "out"), -1);
  put("7", "");
  EXPECT_EQ(ownDescriptor(folder / "7"), -1);
  ::close(file);
  EXPECT_EQ(writeFile(folder / "link", "e").code(), StatusCode::Unavailable);
}

TEST_F(FilesTest, NamesAsLongAsFileSystemsTakeAreWritten) {
  const std::string name(NAME_MAX, 'x');
  ASSERT_TRUE(writeFile(folder / name, "text").ok());
  EXPECT_EQ(contents(folder / name), "text");
  std::string beside;
  EXPECT_TRUE(makeFolderBeside(folder / (name + "/"), &beside).ok());
  EXPECT_FALSE(writeFile(folder / (name + "x"), "text").ok());
}

TEST_F(FilesTest, ParentsAndFlushes) {
  EXPECT_EQ(parentFolder("a"), ".");
  EXPECT_EQ(parentFolder("a/"), ".");
  EXPECT_EQ(parentFolder("/a"), "/");
  EXPECT_EQ(parentFolder("/a/b/"), "/a");
  EXPECT_EQ(parentFolder("a//b"), "a/");
  EXPECT_TRUE(flushToDisk(folder).ok());
  EXPECT_EQ(flushToDisk(folder / "none").code(), StatusCode::Unavailable);
}

TEST_F(FilesTest, Sha256OfKnownTexts) {
  auto hex = [](const std::string &text) {
    Sha256 hash;
    // In two pieces, so that a rest is carried over.
    hash.add(std::string_view(text).substr(0, text.size() / 3));
    hash.add(std::string_view(text).substr(text.size() / 3));
    return hash.hex();
  };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7"
                     "852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff"
                        "61f20015ad");
  EXPECT_EQ(hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::string file;
  ASSERT_TRUE(hashFile(put("a", "abc"), &file).ok());
  EXPECT_EQ(file, hex("abc"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(hashFile(folder / "pipe", &file).ok());
  EXPECT_FALSE(hashFile(folder, &file).ok());
}

TEST_F(FilesTest, DependenciesAreALineAFile) {
  Dependencies made, read;
  made.add("m.onnx", "abc");
  made.add("m.onnx", "changed meanwhile");
  made.add("odd\n\\name", "");
  std::string text = made.text();
  EXPECT_NE(
      text.find("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f"
                "20015ad  m.onnx\n"),
      std::string::npos);
  ASSERT_TRUE(Dependencies::parse(text, "list", &read).ok());
  EXPECT_EQ(read.files(), made.files());
  for (const char *bad : {"x", "abc  m.onnx\n", "\n"})
    EXPECT_FALSE(Dependencies::parse(bad, "list", &read).ok()) << bad;
  EXPECT_FALSE(
      Dependencies::parse(text.substr(0, text.size() - 1), "list", &read).ok());
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

struct ExternalTest : FilesTest {
  /// The error of opening `location` beside the model, or its content.
  std::string open(const std::string &location,
                   const std::string &model = "model/m.onnx") {
    ExternalFiles files(folder / model);
    std::shared_ptr<const FileBytes> file;
    Status status = files.open(location, "tensor 'w'", &file);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::InvalidInput);
    return status.ok() ? std::string(file->bytes()) : status.message();
  }
  bool refuses(const std::string &location, const std::string &why) {
    std::string message = open(location);
    EXPECT_NE(message.find(why), std::string::npos) << message;
    return message.find(why) != std::string::npos;
  }
};

TEST_F(ExternalTest, LieUnderTheModelsFolder) {
  put("model/m.onnx", "");
  put("model/w.bin", "\x1f\x8b\x08 raw");
  put("model/sub/.w", "sub");
  EXPECT_EQ(open("w.bin"), "\x1f\x8b\x08 raw");
  EXPECT_EQ(open("sub/.w"), "sub");
  // A link that stays inside is fine.
  fs::create_symlink("sub/.w", folder / "model/inside");
  EXPECT_EQ(open("inside"), "sub");
}

TEST_F(ExternalTest, RefusesWhatLeadsOut) {
  put("model/m.onnx", "");
  put("model-2/secret", "secret");
  std::string secret = put("secret", "secret");
  fs::create_directory(folder / "elsewhere");
  put("elsewhere/w", "secret");
  fs::create_symlink("../secret", folder / "model/link");
  fs::create_symlink(secret, folder / "model/absolute");
  fs::create_symlink("../elsewhere", folder / "model/sub");
  fs::create_symlink("../model-2/secret", folder / "model/sibling");
  EXPECT_TRUE(refuses("link", "link out of the model's folder"));
  EXPECT_TRUE(refuses("absolute", "link out of the model's folder"));
  EXPECT_TRUE(refuses("sub/w", "link out of the model's folder"));
  EXPECT_TRUE(refuses("sibling", "link out of the model's folder"));
  EXPECT_TRUE(refuses("../secret", "leaves the model's folder"));
  EXPECT_TRUE(refuses("a/../../secret", "leaves the model's folder"));
  EXPECT_TRUE(refuses(secret, "leaves the model's folder"));
  EXPECT_TRUE(refuses("", "leaves the model's folder"));
  EXPECT_TRUE(refuses("none", "cannot read file"));
}

TEST_F(ExternalTest, RefusesWhatIsNoRegularFile) {
  put("model/m.onnx", "");
  fs::create_directory(folder / "model/folder");
  ASSERT_EQ(mkfifo((folder / "model/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(refuses("folder", "no regular file"));
  // Without waiting for a writer that never comes.
  EXPECT_TRUE(refuses("pipe", "no regular file"));
}

TEST_F(ExternalTest, FollowsTheLinksOfACache) {
  put("blobs/aaa", "");
  put("blobs/bbb", "data");
  put("secret", "secret");
  fs::create_directories(folder / "snapshots/rev/onnx");
  auto link = [&](const char *to, const char *name) {
    fs::create_symlink(to, folder / name);
  };
  link("../../blobs/aaa", "snapshots/rev/model.onnx");
  link("../../blobs/bbb", "snapshots/rev/model.onnx_data");
  link("../../../blobs/aaa", "snapshots/rev/onnx/model.onnx");
  link("../../../blobs/bbb", "snapshots/rev/onnx/model.onnx_data");
  link("../../secret", "snapshots/rev/other");
  EXPECT_EQ(open("model.onnx_data", "snapshots/rev/model.onnx"), "data");
  EXPECT_EQ(open("model.onnx_data", "snapshots/rev/onnx/model.onnx"), "data");
  EXPECT_NE(open("other", "snapshots/rev/model.onnx").find("link out of"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Models without their weights
//===----------------------------------------------------------------------===//

onnx::ModelProto twoWeights() {
  onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  auto add = [&](const char *name, int32_t type, int64_t count, char byte) {
    onnx::TensorProto *tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    tensor->add_dims(count);
    tensor->set_raw_data(std::string(count, byte));
  };
  add("small", 2, 10, 1);
  add("large", 2, 10000, 2);
  add("truth", 9, 10000, 3);
  model.mutable_graph()->add_node()->set_op_type("Relu");
  return model;
}

TEST_F(FilesTest, LargeWeightsStayWhereTheyAre) {
  std::string bytes = twoWeights().SerializeAsString();
  onnx::ModelProto model;
  RawElements raw;
  raw.owner = std::make_shared<int>(0);
  ASSERT_TRUE(parseOnnxModel(bytes, "m", &model, &raw).ok());
  EXPECT_EQ(model.graph().node(0).op_type(), "Relu");
  ASSERT_EQ(raw.ofInitializer.size(), 2u);
  EXPECT_TRUE(raw.ofInitializer.count(1));
  EXPECT_FALSE(model.graph().initializer(1).has_raw_data());
  std::vector<HostArray> arrays(3);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(
        takeOnnxInitializer(*model.mutable_graph()->mutable_initializer(i), i,
                            raw, nullptr, "m", &arrays[i])
            .ok());
  EXPECT_EQ(arrays[0].data[9], 1);
  EXPECT_GE(arrays[1].data, bytes.data());
  EXPECT_LT(arrays[1].data, bytes.data() + bytes.size());
  EXPECT_EQ(arrays[1].data[9999], 2);
  // Any bit of a truth value makes it 1, which no view of the file could.
  EXPECT_EQ(arrays[2].data[9999], 1);
}

/// Packed floats lie as raw ones do.
TEST_F(FilesTest, LargeFloatsStayWhereTheyAre) {
  auto parse = [](const onnx::ModelProto &from, std::string *bytes,
                  onnx::ModelProto *model, RawElements *raw) {
    *bytes = from.SerializeAsString();
    raw->owner = std::make_shared<int>(0);
    return parseOnnxModel(*bytes, "m", model, raw).ok();
  };
  onnx::ModelProto from = twoWeights(), model;
  onnx::TensorProto *tensor = from.mutable_graph()->add_initializer();
  tensor->set_name("floats");
  tensor->set_data_type(1);
  tensor->add_dims(2000);
  for (int i = 0; i < 2000; ++i)
    tensor->add_float_data(i + 0.5f);
  std::string bytes;
  RawElements raw;
  ASSERT_TRUE(parse(from, &bytes, &model, &raw));
  EXPECT_EQ(model.graph().initializer(3).float_data_size(), 0);
  HostArray array;
  ASSERT_TRUE(
      takeOnnxInitializer(*model.mutable_graph()->mutable_initializer(3), 3,
                          raw, nullptr, "m", &array)
          .ok());
  EXPECT_GE(array.data, bytes.data());
  EXPECT_LT(array.data, bytes.data() + bytes.size());
  float last = 0;
  std::memcpy(&last, array.data + 1999 * sizeof last, sizeof last);
  EXPECT_EQ(last, 1999.5f);
  // Pairs of floats are complex numbers, and two fields are the parser's.
  tensor->set_data_type(14);
  ASSERT_TRUE(parse(from, &bytes, &model, &raw));
  EXPECT_FALSE(raw.ofInitializer.count(3));
  tensor->set_data_type(1);
  tensor->set_raw_data(std::string(8000, 0));
  ASSERT_TRUE(parse(from, &bytes, &model, &raw));
  EXPECT_FALSE(raw.ofInitializer.count(3));
}

TEST_F(FilesTest, OddModelsAreForTheParser) {
  std::string rest, bytes = twoWeights().SerializeAsString();
  RawElements raw;
  EXPECT_TRUE(leaveRawElements(bytes, &rest, &raw));
  EXPECT_LT(rest.size(), 200u);
  // Two graphs are one to the parser, with other numbers.
  EXPECT_FALSE(leaveRawElements(bytes + bytes, &rest, &raw));
  EXPECT_TRUE(raw.ofInitializer.empty());
  for (size_t size : {size_t(1), size_t(20), bytes.size() - 1})
    EXPECT_FALSE(leaveRawElements(bytes.substr(0, size), &rest, &raw));
  // A wrong number of bytes is an error wherever they are.
  onnx::ModelProto model = twoWeights();
  model.mutable_graph()->mutable_initializer(1)->set_dims(0, 9999);
  bytes = model.SerializeAsString();
  raw.owner = std::make_shared<int>(0);
  ASSERT_TRUE(parseOnnxModel(bytes, "m", &model, &raw).ok());
  HostArray array;
  Status status =
      takeOnnxInitializer(*model.mutable_graph()->mutable_initializer(1), 1,
                          raw, nullptr, "m", &array);
  EXPECT_NE(status.message().find("has 10000 bytes, but its shape [9999]"),
            std::string::npos)
      << status.message();
}

} // namespace
