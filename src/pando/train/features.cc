// SPDX-License-Identifier: MIT
#include "pando/train/features.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "pando/base/checked.h"
#include "pando/base/error.h"

namespace pando::train {

namespace {

constexpr int64_t kChunkBytes = 64 << 20;  // of features that go to a file at once

// A file without a name, so that nothing is left behind, however the process ends. Many threads may
// read.
class UnnamedFile {
 public:
  explicit UnnamedFile(const std::string& path)
      : path_(path), descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) fail("cannot create");
    unlink(path.c_str());
  }
  ~UnnamedFile() { close(descriptor_); }
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  void append(const std::byte* bytes, size_t count) {
    while (count > 0) {
      const ssize_t done = write(descriptor_, bytes, count);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("cannot write");
      bytes += done;
      count -= static_cast<size_t>(done);
    }
  }

  void read(std::byte* bytes, size_t count, int64_t at) const {
    while (count > 0) {
      const ssize_t done = pread(descriptor_, bytes, count, at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) fail("cannot read");
      bytes += done;
      count -= static_cast<size_t>(done);
      at += done;
    }
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw IoError("the file of features ", path_, ": ", what, ": ", std::strerror(errno),
                  "; use a folder with more space, or keep no features");
  }

  std::string path_;
  int descriptor_;
};

// The kept fields of all samples, collected on their way to the devices.
class KeptFields {
 public:
  KeptFields(const Dataset& dataset, const std::vector<int>& kept) : kept_(kept) {
    for (const int place : kept) {
      const Field& field = dataset.fields()[static_cast<size_t>(place)];
      std::vector<int64_t> dims = {dataset.size()};
      dims.insert(dims.end(), field.shape.begin(), field.shape.end());
      values_.emplace_back(field.name, Tensor(field.dtype, Shape(dims)));
      fields_.push_back(field);
    }
  }

  void add(const Batch& batch) {
    for (size_t i = 0; i < kept_.size(); ++i) {
      const size_t each = bytes_per_sample(fields_[i]);
      std::memcpy(values_[i].second.data() + static_cast<size_t>(done_) * each,
                  batch.fields[static_cast<size_t>(kept_[i])].data(),
                  static_cast<size_t>(batch.valid) * each);
    }
    done_ += batch.valid;
  }

  const std::vector<Field>& fields() const { return fields_; }
  std::vector<std::pair<std::string, Tensor>>& values() { return values_; }

 private:
  const std::vector<int>& kept_;
  std::vector<Field> fields_;
  std::vector<std::pair<std::string, Tensor>> values_;
  int64_t done_ = 0;
};

Dataset from_file(std::shared_ptr<const UnnamedFile> file, const Field& feature, int64_t size,
                  KeptFields& kept) {
  std::vector<Field> fields = {feature};
  fields.insert(fields.end(), kept.fields().begin(), kept.fields().end());
  const size_t each = bytes_per_sample(feature);
  return Dataset::generate(
      size, fields,
      [file = std::move(file), fields, each, values = kept.values()](const SampleView& sample) {
        const auto index = static_cast<size_t>(sample.index());
        file->read(sample.data(0), each, static_cast<int64_t>(index * each));
        for (size_t i = 0; i < values.size(); ++i) {
          const size_t bytes = bytes_per_sample(fields[i + 1]);
          std::memcpy(sample.data(i + 1), values[i].second.data() + index * bytes, bytes);
        }
      });
}

}  // namespace

void check_features(const Network& network, const FeatureOptions& options) {
  if (options.mode == RunMode::predict) {
    throw InvalidArgument("features: mode: expected train or evaluate, got predict");
  }
  network.from(options.layer);  // throws
}

const std::vector<const char*>& inference_passes() {
  static const std::vector<const char*> names = {"fold-batch-norm", "fold-scale", "fuse-pad",
                                                 "fuse-residual"};
  return names;
}

Dataset compute_features(Model& part, const Dataset& dataset, const FeatureOptions& options,
                         const std::vector<int>& kept) {
  KeptFields others(dataset, kept);
  const Field feature{dataset.fields()[0].name, DType::f32, part.network().outputs()[0].shape};
  const PredictOptions predict{.batch_size = options.batch_size,
                               .data_workers = options.data_workers,
                               .observe = [&](const Batch& batch) { others.add(batch); }};
  if (options.file.empty()) {
    std::vector<std::pair<std::string, Tensor>> fields = {
        {feature.name, part.predict(dataset, predict)}};
    fields.insert(fields.end(), others.values().begin(), others.values().end());
    return Dataset::from_fields(std::move(fields));
  }
  auto file = std::make_shared<UnnamedFile>(options.file);
  // Whole batches, so that the samples of a batch stay together.
  const auto each = static_cast<int64_t>(bytes_per_sample(feature));
  const int64_t batches = std::max<int64_t>(1, kChunkBytes / each / options.batch_size);
  const int64_t chunk = checked_product("features: a part of them", {batches, options.batch_size});
  for (int64_t begin = 0; begin < dataset.size(); begin += chunk) {
    const Tensor rows = part.predict(dataset.skip(begin).take(chunk), predict);
    file->append(rows.data(), rows.bytes());
  }
  return from_file(std::move(file), feature, dataset.size(), others);
}

}  // namespace pando::train
