//===- reference_kernels_test.cpp - Plain loops are not silent ------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/InitAllDialects.h"
#include "dialects/Rt/IR/Rt.h"
#include "mlir/Parser/Parser.h"
#include "passes/Analysis/MachineModel.h"
#include "passes/Lowering/Kernels/PredictKernels.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;

/// Of a library's kernel with these attributes on two threads.
static double predict(const std::string &kernel, const std::string &operands,
                      const std::string &result) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @f(%a: tensor<" + operands + ">, %b: tensor<" + operands +
          ">) -> tensor<" + result + "> {\n%0 = rt.library(%a, %b) {" + kernel +
          "} : (tensor<" + operands + ">, tensor<" + operands +
          ">) -> tensor<" + result + ">\nreturn %0 : tensor<" + result +
          ">\n}\n",
      &context);
  EXPECT_TRUE(module);
  MachineModel machine;
  machine.threads = 2;
  double seconds = 0;
  if (module)
    module->walk([&](rt::LibraryOp op) {
      seconds = predictKernelSeconds(op, machine, 1);
    });
  return seconds;
}

/// The library's plain loops are hundreds of times as slow as its others.
TEST(ReferenceKernels, ArePredicted) {
  auto memory = [](const std::string &dims) {
    return "{dims = array<i64: " + dims + ">, type = \"f32\"}";
  };
  std::string product = "kind = \"matmul\", memories = [" + memory("512, 512") +
                        ", " + memory("512, 512") + ", " + memory("512, 512") +
                        "]";
  std::string type = "512x512xf32";
  double fast = predict(product, type, type);
  EXPECT_GT(fast, 0);
  EXPECT_GT(predict(product + ", reference", type, type), 50 * fast);

  std::string image = memory("4, 64, 32, 32"), filter = memory("64, 64, 3, 3");
  std::string pairs = "strides = array<i64: 1, 1>, groups = 1 : i64";
  for (std::string kind : {"conv", "conv_input_grad", "conv_filter_grad"}) {
    std::string memories = kind == "conv_filter_grad"
                               ? image + ", " + image + ", " + filter
                               : image + ", " + filter + ", " + image;
    std::string kernel =
        "kind = \"" + kind + "\", memories = [" + memories + "], " + pairs;
    std::string images = "4x32x32x64xf32";
    fast = predict(kernel, images, images);
    EXPECT_GT(fast, 0);
    EXPECT_GT(predict(kernel + ", reference", images, images), 50 * fast)
        << kind;
  }
}

/// What is said when this input gradient, of a 3x3x3 window, is compiled.
static std::string compile(int pad) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string size = std::to_string(9 + 2 * pad - 2);
  std::string g = "tensor<1x" + size + "x" + size + "x" + size + "x1xf32>";
  std::string w = "tensor<1x16x3x3x3xf32>", x = "tensor<1x9x9x9x16xf32>";
  auto three = [](int value) {
    std::string text = std::to_string(value);
    return "array<i64: " + text + ", " + text + ", " + text + ">";
  };
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @f(%g: " + g + ", %w: " + w + ") -> " + x +
          " {\n%0 = graph.conv_input_grad %g, %w {strides = " + three(1) +
          ", pad_low = " + three(pad) + ", pad_high = " + three(pad) +
          ", dilations = " + three(1) +
          ", groups = 1 : i64, input_layout = \"N012C\", filter_layout = "
          "\"OI012\", output_layout = \"N012C\"} : (" +
          g + ", " + w + ") -> " + x + "\nreturn %0 : " + x + "\n}\n",
      &context);
  EXPECT_TRUE(module);
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said += diagnostic.str();
    return success();
  });
  llvm::SmallString<64> folder;
  EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("reference", folder));
  EXPECT_TRUE(module && succeeded(lowerToPackage(*module, {}, folder)));
  (void)llvm::sys::fs::remove_directories(folder);
  return said;
}

TEST(ReferenceKernels, AreSaid) {
  EXPECT_EQ(compile(1), "");
  std::string said = compile(4);
  EXPECT_NE(said.find("slow kernel (conv_input_grad to "
                      "'tensor<1x9x9x9x16xf32>')"),
            std::string::npos)
      << said;
}
