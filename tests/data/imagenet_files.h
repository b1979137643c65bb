// Makes records and folders of ImageNet for the tests that read them.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "pando/data/sources/imagenet/format.h"
#include "pando/data/sources/imagenet/make.h"
#include "pando/data/tfrecord/example.h"
#include "pando/data/tfrecord/record_file.h"
#include "tests/data/record_files.h"
#include "tests/data/test_images.h"

namespace pando {

// A grey-green JPEG of this size.
inline Bytes small_jpeg(const ImageSize& size = {40, 50}) {
  return encode_jpeg(soft_image(size).view());
}

inline ExampleBuilder imagenet_example(int64_t label, const Bytes& encoded = small_jpeg()) {
  ExampleBuilder builder;
  builder.bytes("image/encoded", encoded).ints("image/class/label", {label});
  return builder;
}

inline void add_boxes(ExampleBuilder& to, const std::vector<float>& x_min,
                      const std::vector<float>& y_min, const std::vector<float>& x_max,
                      const std::vector<float>& y_max) {
  to.floats("image/object/bbox/xmin", x_min).floats("image/object/bbox/ymin", y_min);
  to.floats("image/object/bbox/xmax", x_max).floats("image/object/bbox/ymax", y_max);
}

// All files below a folder, by their relative paths.
inline std::map<std::string, Bytes> contents_of(const std::string& folder) {
  std::map<std::string, Bytes> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    contents[std::filesystem::relative(entry.path(), folder).string()] =
        read_bytes(entry.path().string());
  }
  return contents;
}

inline std::vector<Bytes> payloads_in(const std::string& path) {
  RecordReader reader(path);
  std::vector<Bytes> payloads;
  while (const auto payload = reader.next())
    payloads.emplace_back(payload->begin(), payload->end());
  return payloads;
}

}  // namespace pando
