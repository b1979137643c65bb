// SPDX-License-Identifier: MIT
#include "pando/datasets/fingerprint.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/tfrecord/crc32c.h"

namespace pando::datasets {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRowsAtOnce = 256;
constexpr size_t kSizedFiles = 4096;
constexpr size_t kReadFiles = 64;
constexpr uint64_t kReadBytes = 1 << 16;

// A checksum that grows.
class Checksum {
 public:
  void add(std::span<const uint8_t> bytes) { sum_ = data::crc32c(bytes, sum_); }
  void add(const std::string& text) {
    add({reinterpret_cast<const uint8_t*>(text.data()), text.size() + 1});  // with its end
  }
  std::string text() const {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", sum_);
    return digits;
  }

 private:
  uint32_t sum_ = 0;
};

void add_rows(Checksum& sum, const Tensor& rows, size_t count) {
  sum.add({reinterpret_cast<const uint8_t*>(rows.data()),
           rows.bytes() / static_cast<size_t>(rows.shape()[0]) * count});
}

// Turns pixel values back into the original bytes.
void add_pixels(Checksum& sum, const Tensor& rows, size_t count, std::vector<uint8_t>& scratch) {
  const size_t elements = count * static_cast<size_t>(rows.shape().elements() / rows.shape()[0]);
  scratch.resize(elements);
  std::transform(rows.f32().begin(), rows.f32().begin() + static_cast<std::ptrdiff_t>(elements),
                 scratch.begin(), [](float value) {
                   const float inside = value > 0 ? std::min(value, 1.0F) : 0.0F;  // NaN is 0
                   // Rounds to half steps, then to the nearest whole step.
                   return static_cast<uint8_t>((static_cast<int>(inside * 510) + 1) / 2);
                 });
  sum.add(scratch);
}

// The size, and the first and last bytes if `reads`.
void add_file(Checksum& sum, const std::string& path, bool reads) {
  std::error_code failed;
  const uint64_t size = fs::file_size(path, failed);
  if (failed) throw IoError(path, ": cannot be read: ", failed.message());
  sum.add(std::to_string(size));
  if (!reads) return;
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes(std::min(size, kReadBytes));
  for (const uint64_t at : {uint64_t{0}, size - bytes.size()}) {
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    sum.add(bytes);
  }
  if (!file) throw IoError(path, ": cannot be read");
}

// Whether item i of `all` is one of at most `wanted` that are spread evenly.
bool is_chosen(size_t i, size_t all, size_t wanted) {
  const size_t distance = (all + wanted - 1) / wanted;
  return i % std::max<size_t>(distance, 1) == 0;
}

}  // namespace

std::string fingerprint_of_arrays(const Dataset& dataset, RealNumbers reals) {
  Checksum sum;
  std::vector<Tensor> rows;
  for (const Field& field : dataset.fields()) {
    std::vector<int64_t> dims = {kRowsAtOnce};
    dims.insert(dims.end(), field.shape.begin(), field.shape.end());
    rows.emplace_back(field.dtype, Shape(dims));
  }
  std::vector<int64_t> indices;
  std::vector<uint8_t> scratch;
  for (int64_t first = 0; first < dataset.size(); first += kRowsAtOnce) {
    indices.resize(static_cast<size_t>(std::min(kRowsAtOnce, dataset.size() - first)));
    std::iota(indices.begin(), indices.end(), first);
    dataset.gather(indices, rows);
    for (const Tensor& field : rows) {
      if (field.dtype() == DType::f32 && reals == RealNumbers::pixels) {
        add_pixels(sum, field, indices.size(), scratch);
      } else {
        add_rows(sum, field, indices.size());
      }
    }
  }
  return sum.text();
}

std::string fingerprint_of_files(const std::string& folder, std::span<const std::string> files,
                                 const std::string& labels) {
  Checksum sum;
  for (size_t i = 0; i < files.size(); ++i) {
    sum.add(fs::path(files[i]).lexically_relative(folder).string());
    const bool reads = is_chosen(i, files.size(), kReadFiles);
    if (reads || is_chosen(i, files.size(), kSizedFiles)) add_file(sum, files[i], reads);
  }
  if (!labels.empty()) sum.add(labels);
  return sum.text();
}

}  // namespace pando::datasets
