// SPDX-License-Identifier: MIT
#include "pando/app/report/input_record.h"

#include <algorithm>
#include <span>

#include "pando/base/json.h"
#include "pando/data/image/png.h"
#include "pando/data/picture_sheet.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

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

}  // namespace

InputRecord input_record(const Dataset& train) {
  const Field& x = train.fields()[0];
  if (!is_picture(x.shape, x.dtype) || train.size() < 1) return {};
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
  const Json record = {{"version", 1},
                       {"fields", to_string(train.fields())},
                       {"columns", sheet.columns},
                       {"tile", Json::Items{sheet.tile.height, sheet.tile.width}},
                       {"samples", std::move(rows)}};
  return {.json = record.dump() + "\n", .png = encode_png(sheet.image.view())};
}

void write_input_record(const std::filesystem::path& folder, const InputRecord& record) {
  if (record.json.empty()) return;
  const auto pictures = std::as_bytes(std::span(record.png));
  store::replace_file((folder / kInputPictures).string(), {pictures});
  store::replace_file((folder / kInputFile).string(), {std::as_bytes(std::span(record.json))});
}

}  // namespace pando::app
