// SPDX-License-Identifier: MIT
#include "pando/store/event_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include <unistd.h>

#include "pando/base/error.h"
#include "pando/data/tfrecord/record_file.h"
#include "pando/data/tfrecord/wire.h"

namespace pando::store {
namespace {

using Bytes = std::vector<uint8_t>;
using data::append_double;
using data::append_doubles;
using data::append_float;
using data::append_int;
using data::append_message;
using data::append_text;

// The numbers of the fields, message by message.
namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace value {
constexpr uint32_t kTag = 1, kSimpleValue = 2, kHistogram = 5, kTensor = 8, kMetadata = 9;
}
namespace histogram {
constexpr uint32_t kMin = 1, kMax = 2, kNum = 3, kSum = 4, kSumSquares = 5, kLimits = 6,
                   kCounts = 7;
}
namespace metadata {
constexpr uint32_t kPluginData = 1, kPluginName = 1, kDataClass = 4;
constexpr uint64_t kTensorClass = 2;
}  // namespace metadata
namespace tensor {
constexpr uint32_t kType = 1, kShape = 2, kStrings = 8, kDimensions = 2, kSize = 1;
constexpr uint64_t kStringType = 7;
}  // namespace tensor
namespace session_log {
constexpr uint32_t kStatus = 1;
constexpr uint64_t kStart = 1;
}  // namespace session_log

constexpr uint32_t kSummaryValue = 1;
constexpr const char* kVersion = "brain.Event:2";

Bytes encode(const Histogram& content) {
  Bytes bytes;
  append_double(bytes, histogram::kMin, content.min);
  append_double(bytes, histogram::kMax, content.max);
  append_double(bytes, histogram::kNum, content.num);
  append_double(bytes, histogram::kSum, content.sum);
  append_double(bytes, histogram::kSumSquares, content.sum_squares);
  append_doubles(bytes, histogram::kLimits, content.limits);
  append_doubles(bytes, histogram::kCounts, content.counts);
  return bytes;
}

// A value of the plugin "text": a list of one string.
Bytes encode_text(const std::string& tag, const std::string& text) {
  Bytes plugin;
  append_text(plugin, metadata::kPluginName, "text");
  Bytes about;
  append_message(about, metadata::kPluginData, plugin);
  append_int(about, metadata::kDataClass, metadata::kTensorClass);
  Bytes dimension;
  append_int(dimension, tensor::kSize, 1);
  Bytes shape;
  append_message(shape, tensor::kDimensions, dimension);
  Bytes content;
  append_int(content, tensor::kType, tensor::kStringType);
  append_message(content, tensor::kShape, shape);
  append_text(content, tensor::kStrings, text);
  Bytes bytes;
  append_text(bytes, value::kTag, tag);
  append_message(bytes, value::kTensor, content);
  append_message(bytes, value::kMetadata, about);
  return bytes;
}

double system_seconds() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "localhost";
  return name;
}

const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    constexpr double kFirst = 1e-12, kLast = 1e20, kGrowth = 1.1;
    std::vector<double> positive;
    for (double limit = kFirst; limit < kLast; limit *= kGrowth) positive.push_back(limit);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all(positive.rbegin(), positive.rend());
    for (double& limit : all) limit = -limit;
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

}  // namespace

Histogram histogram_of(std::span<const float> values) {
  const std::vector<double>& limits = bucket_limits();
  std::vector<double> counts(limits.size());
  Histogram result{.min = std::numeric_limits<double>::max(),
                   .max = std::numeric_limits<double>::lowest()};
  for (const float single : values) {
    if (!std::isfinite(single)) continue;
    const double one = single;
    const auto bucket = std::upper_bound(limits.begin(), limits.end(), one) - limits.begin();
    ++counts[static_cast<size_t>(bucket)];
    result.min = std::min(result.min, one);
    result.max = std::max(result.max, one);
    result.num += 1;
    result.sum += one;
    result.sum_squares += one * one;
  }
  if (result.num == 0) result.min = result.max = 0;
  // An empty bucket in front of one with values says where that one begins.
  for (size_t i = 0; i < counts.size(); ++i) {
    const bool before_full = i + 1 < counts.size() && counts[i + 1] > 0;
    if (counts[i] == 0 && !before_full) continue;
    result.limits.push_back(limits[i]);
    result.counts.push_back(counts[i]);
  }
  if (result.limits.empty()) {
    result.limits = {std::numeric_limits<double>::max()};
    result.counts = {0};
  }
  return result;
}

EventFile::EventFile(const std::filesystem::path& folder, EventFileOptions options)
    : clock_(options.clock ? std::move(options.clock) : system_seconds) {
  static std::atomic<int> files{0};
  path_ = folder / concat("events.out.tfevents.", static_cast<int64_t>(clock_()), ".",
                          options.host.empty() ? host_name() : options.host, ".", getpid(), ".",
                          files++);
  file_.open(path_, std::ios::binary | std::ios::trunc);
  if (!file_) {
    throw IoError(path_.string(), ": cannot be opened for writing: ", std::strerror(errno));
  }
  const std::string_view version = kVersion;
  write_event(0, event::kFileVersion, {version.begin(), version.end()});
}

void EventFile::add_scalars(int64_t step, const Scalars& scalars) {
  Bytes summary;
  for (const auto& [tag, number] : scalars) {
    Bytes bytes;
    append_text(bytes, value::kTag, tag);
    append_float(bytes, value::kSimpleValue, static_cast<float>(number));
    append_message(summary, kSummaryValue, bytes);
  }
  write_event(step, event::kSummary, summary);
}

void EventFile::add_histograms(int64_t step, const Histograms& histograms) {
  Bytes summary;
  for (const auto& [tag, content] : histograms) {
    Bytes bytes;
    append_text(bytes, value::kTag, tag);
    append_message(bytes, value::kHistogram, encode(content));
    append_message(summary, kSummaryValue, bytes);
  }
  write_event(step, event::kSummary, summary);
}

void EventFile::add_text(int64_t step, const std::string& tag, const std::string& text) {
  Bytes summary;
  append_message(summary, kSummaryValue, encode_text(tag, text));
  write_event(step, event::kSummary, summary);
}

void EventFile::restart(int64_t step) {
  Bytes log;
  append_int(log, session_log::kStatus, session_log::kStart);
  write_event(step, event::kSessionLog, log);
}

void EventFile::write_event(int64_t step, uint32_t kind, const Bytes& content) {
  Bytes bytes;
  append_double(bytes, event::kWallTime, clock_());
  if (step != 0) append_int(bytes, event::kStep, static_cast<uint64_t>(step));
  append_message(bytes, kind, content);
  errno = 0;  // the stream tells only that it failed
  for (const Bytes& piece : {data::record_header(bytes), bytes, data::record_footer(bytes)}) {
    file_.write(reinterpret_cast<const char*>(piece.data()),
                static_cast<std::streamsize>(piece.size()));
  }
  if (!file_.flush()) {
    throw IoError(path_.string(), ": writing failed: ", std::strerror(errno == 0 ? EIO : errno));
  }
}

}  // namespace pando::store
