// SPDX-License-Identifier: MIT
#include "pando/app/report/input_record.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "pando/base/clock.h"
#include "pando/base/json.h"
#include "pando/data/image/png.h"
#include "pando/data/picture_sheet.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

constexpr double kPreparationSeconds = 0.2;

// The class of a sample, also of one that is mixed; null for other labels.
Json label_of(const Sample& sample) {
  if (sample.fields.size() < 2) return nullptr;
  const Tensor& y = sample.y();
  if (y.dtype() == DType::i32 && y.elements() == 1) return y.i32()[0];
  if (y.dtype() == DType::u8 && y.elements() == 1) return y.u8()[0];
  if (y.dtype() != DType::f32 || y.shape().rank() != 1 || y.elements() < 2) return nullptr;
  return std::ranges::max_element(y.f32()) - y.f32().begin();
}

// Takes samples from all parts of the data, because files are often sorted by class. Sequential
// data give their first samples: to reach a later one, all samples before it would have to be made.
int64_t index_of(const Dataset& train, int64_t i, int64_t count) {
  return train.source()->sequential() ? i : i * train.size() / count;
}

// Adds the pictures of some samples to the record; returns the PNG.
std::vector<uint8_t> add_pictures(const Dataset& train, Json& record) {
  const Field& x = train.fields()[0];
  const PictureSheetOptions options{.most_side = 64};
  const int64_t count = std::min({kInputSamples, train.size(), sheet_capacity(x.shape, options)});
  Json rows = Json::array();
  const PictureSheet sheet = picture_sheet(
      x.shape, count,
      [&](int64_t i) {
        const int64_t index = index_of(train, i, count);
        Sample sample = train.get(index);
        rows.push_back(Json::Items{index, label_of(sample)});
        return std::move(sample.fields[0]);
      },
      options);
  record["columns"] = sheet.columns;
  record["tile"] = Json::Items{sheet.tile.height, sheet.tile.width};
  record["samples"] = std::move(rows);
  return encode_png(sheet.image.view());
}

}  // namespace

PreparationTime measure_preparation(const Dataset& train, int64_t batch_size) {
  BatchStream stream = train.batch(batch_size).repeat();
  Batch batch;
  stream.next(batch);  // opens files
  PreparationTime time;
  const auto begin = std::chrono::steady_clock::now();
  while (time.seconds < kPreparationSeconds && stream.next(batch)) {
    time.samples += batch.valid;
    time.seconds = seconds_since(begin);
  }
  return time;
}

InputRecord input_record(const Dataset& train, const std::optional<PreparationTime>& prepared) {
  const Field& x = train.fields()[0];
  const bool has_pictures = is_picture(x.shape, x.dtype) && train.size() >= 1;
  if (!has_pictures && !prepared) return {};
  InputRecord result;
  Json record = {{"version", 1}, {"fields", to_string(train.fields())}};
  if (has_pictures) result.png = add_pictures(train, record);
  if (prepared) {
    record["prepared"] = {{"samples", prepared->samples},
                          {"seconds", prepared->seconds},
                          {"workers", prepared->workers}};
  }
  result.json = record.dump() + "\n";
  return result;
}

void write_input_record(const std::filesystem::path& folder, const InputRecord& record) {
  if (record.json.empty()) return;
  if (!record.png.empty()) {
    const auto pictures = std::as_bytes(std::span(record.png));
    store::replace_file((folder / kInputPictures).string(), {pictures});
  }
  store::replace_file((folder / kInputFile).string(), {std::as_bytes(std::span(record.json))});
}

}  // namespace pando::app
