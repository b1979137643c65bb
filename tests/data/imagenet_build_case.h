// The folders that shards are built from, for the tests that build them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/data/sources/imagenet/build.h"
#include "tests/data/imagenet_files.h"
#include "tests/support/expect_error.h"

namespace pando {

// 20 + 10 images of 5 classes in the folders of ILSVRC2012, to be built into 4 + 2 shards.
class ImagenetBuildTest : public testing::Test {
 protected:
  ImagenetBuildTest() {
    make_imagenet(
        source_,
        {.classes = 5, .train = 20, .validation = 10, .size = {24, 32}, .jpeg_folders = true});
    options_.train_shards = 4;
    options_.validation_shards = 2;
    for (const auto& entry : std::filesystem::directory_iterator(source_ + "/train/n90000002")) {
      image_ = std::max(image_, entry.path().string());
    }
  }

  ImagenetBuildReport build(const std::string& folder = "out") {
    return build_imagenet(source_, folder_.path(folder), options_);
  }
  std::string build_error() {
    return testing_support::error_of<IoError>([&] { build(); });
  }
  void overwrite(const std::string& path, const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
  }
  void overwrite(const std::string& path, const Bytes& bytes) const {
    overwrite(path, std::string(bytes.begin(), bytes.end()));
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : contents_of(folder_.path(folder))) names.push_back(name);
    return names;
  }
  // Builds until `shards` shards are complete, then stops the build.
  ImagenetBuildReport build_and_stop(int shards) {
    std::atomic<bool> stop = false;
    options_.stop = &stop;
    options_.progress = [&](const ImagenetBuildProgress& at) { stop = at.shards >= shards; };
    ImagenetBuildReport report = build();
    options_.stop = nullptr;
    options_.progress = {};
    return report;
  }

  testing_support::TempFolder folder_;
  std::string source_ = folder_.path("ilsvrc");
  std::string image_;  // one of the training images
  ImagenetBuildOptions options_;
};

}  // namespace pando
