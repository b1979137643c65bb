// SPDX-License-Identifier: MIT
#include "pando/data/sources/cosmoflow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "pando/data/sources/clutter.h"
#include "pando/data/tfrecord/example.h"
#include "pando/data/tfrecord/record_file.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostOverhead = 1 << 16;  // bytes of an example beyond its volume
constexpr int kCounts = 32768;               // number of non-negative values of an int16

// log(count + 1) for every count: 128 KiB instead of a logarithm per voxel.
const std::vector<float>& log_table() {
  static const std::vector<float> table = [] {
    std::vector<float> values(kCounts);
    for (int i = 0; i < kCounts; ++i) {
      values[static_cast<size_t>(i)] = static_cast<float>(std::log1p(static_cast<double>(i)));
    }
    return values;
  }();
  return table;
}

int16_t count_at(std::span<const uint8_t> bytes, size_t i) {
  return static_cast<int16_t>(static_cast<uint16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8));
}

// The sum of the counts, none of which may be negative.
int64_t checked_sum(std::span<const uint8_t> bytes) {
  int64_t sum = 0;
  int negative = 0;
  for (size_t i = 0; i < bytes.size() / 2; ++i) {
    const int16_t count = count_at(bytes, i);
    negative |= count;
    sum += count;
  }
  if (negative >= 0) return sum;
  for (size_t i = 0;; ++i) {
    const int16_t count = count_at(bytes, i);
    if (count < 0) throw IoError("feature 'x': count ", i, " is ", count, ", expected 0 or more");
  }
}

void convert_volume(std::span<const uint8_t> bytes, bool apply_log, std::span<float> to) {
  if (bytes.size() != 2 * to.size()) {
    throw IoError("feature 'x' has ", bytes.size(), " bytes, expected ", 2 * to.size(), " for ",
                  to.size(), " int16 counts");
  }
  const int64_t sum = checked_sum(bytes);
  if (apply_log) {
    const float* logs = log_table().data();
    for (size_t i = 0; i < to.size(); ++i) to[i] = logs[count_at(bytes, i)];
    return;
  }
  if (sum == 0) throw IoError("feature 'x': the mean of the counts is 0, expected more than 0");
  const double per_mean = static_cast<double>(to.size()) / static_cast<double>(sum);
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<float>(count_at(bytes, i) * per_mean);
  }
}

void convert_targets(std::span<const float> from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    if (!std::isfinite(from[i])) {
      throw IoError("feature 'y': value ", i, " is ", from[i], ", expected a finite number");
    }
    to[i] = from[i];
  }
}

class CosmoflowSource : public DataSource {
 public:
  CosmoflowSource(std::vector<std::string> paths, const CosmoflowDataOptions& options)
      : DataSource({{"x", DType::f32, options.shape}, {"y", DType::f32, {options.targets}}},
                   static_cast<int64_t>(paths.size())),
        paths_(std::move(paths)),
        apply_log_(options.apply_log),
        most_record_bytes_(2 * static_cast<uint64_t>(options.shape.elements()) + kMostOverhead) {}

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      read(paths_[static_cast<size_t>(indices[i])],
           SampleView(fields(), rows, static_cast<int64_t>(i), {epoch, indices[i]}));
    }
  }

  // Reads every file once; returns the good ones and lists the others.
  std::vector<std::string> good_paths(std::vector<BadRecord>& bad) const {
    Tensor x(DType::f32, fields()[0].shape);
    Tensor y(DType::f32, fields()[1].shape);
    std::array<std::byte*, 2> first_bytes = {x.data(), y.data()};
    std::vector<std::string> good;
    for (const std::string& path : paths_) {
      try {
        read(path, SampleView(fields(), Rows(first_bytes), 0, {}));
        good.push_back(path);
      } catch (const BadRecordError& error) {
        bad.push_back(error.record());
      }
    }
    return good;
  }

 private:
  // Any error inside the file is a bad record; a file that cannot be opened is not.
  void read(const std::string& path, const SampleView& sample) const {
    RecordReader reader(path, {.most_record_bytes = most_record_bytes_});
    try {
      read_record(reader, sample);
    } catch (const BadRecordError&) {
      throw;
    } catch (const IoError& error) {
      std::string why = error.what();
      if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);
      throw BadRecordError({path, reader.record_offset(),
                            concat("record at byte ", reader.record_offset(), ": ", why)});
    }
  }

  void read_record(RecordReader& reader, const SampleView& sample) const {
    const auto payload = reader.next();
    if (!payload) throw IoError("expected one record, got an empty file");
    const Example example(*payload, "tf.train.Example");
    convert_volume(example.bytes("x"), apply_log_, sample.f32(0));
    convert_targets(example.floats("y", sample.f32(1).size()), sample.f32(1));
    if (reader.next()) throw IoError("expected one sample per file, got a second record");
  }

  std::vector<std::string> paths_;
  bool apply_log_;
  uint64_t most_record_bytes_;
};

std::vector<std::string> record_files_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const bool wanted = at->path().extension() == ".tfrecord";
    if (wanted && !data::is_clutter(at->path().filename().string())) {
      paths.push_back(at->path().string());
    }
  }
  if (error) throw IoError(folder, ": cannot list the folder: ", error.message());
  if (paths.empty()) throw IoError(folder, ": expected one file *.tfrecord per sample, found none");
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

RecordDataset open_cosmoflow(const std::string& folder, const CosmoflowDataOptions& options) {
  if (options.shape.rank() != 4 || options.shape.elements() == 0 || options.targets < 1) {
    throw InvalidArgument(
        "CosmoFlow samples of shape ", options.shape, " with ", options.targets,
        " targets, expected [depth,height,width,channels] and at least one target");
  }
  std::vector<std::string> paths = record_files_in(folder);
  std::vector<BadRecord> bad;
  if (options.on_bad_record == OnBadRecord::skip) {
    paths = CosmoflowSource(paths, options).good_paths(bad);
    if (paths.empty())
      throw IoError(folder, ": found no sample that can be read; ", to_string(bad));
  }
  std::vector<int64_t> records_per_file(paths.size(), 1);
  return {Dataset(std::make_shared<CosmoflowSource>(std::move(paths), options)), std::move(bad),
          std::move(records_per_file)};
}

void write_cosmoflow_sample(const std::string& path, const CosmoflowSample& sample,
                            Compression compression) {
  std::vector<uint8_t> bytes;
  bytes.reserve(2 * sample.x.size());
  for (const int16_t count : sample.x) {
    bytes.push_back(static_cast<uint8_t>(count & 0xff));
    bytes.push_back(static_cast<uint8_t>((count >> 8) & 0xff));
  }
  RecordWriter writer(path, {.compression = compression});
  writer.write(
      ExampleBuilder().bytes("x", bytes).floats("y", {sample.y.begin(), sample.y.end()}).encode());
  writer.finish();
}

}  // namespace pando
