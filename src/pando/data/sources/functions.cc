// SPDX-License-Identifier: MIT
#include "pando/data/sources/functions.h"

#include <cstring>
#include <memory>
#include <utility>

#include "pando/data/decorators.h"

namespace pando::data {

namespace {

class MadeByFunction : public DataSource {
 public:
  MadeByFunction(int64_t size, std::vector<Field> fields, std::function<Sample(int64_t)> make)
      : DataSource(std::move(fields), size), make_(std::move(make)) {}

  void gather(int64_t /*epoch*/, std::span<int64_t> indices, const Rows& rows) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      store_sample(make_(indices[i]), fields(), rows, static_cast<int64_t>(i));
    }
  }

 private:
  std::function<Sample(int64_t)> make_;
};

class FilledByFunction : public DataSource {
 public:
  FilledByFunction(int64_t size, std::vector<Field> fields,
                   std::function<void(const SampleView&)> fill)
      : DataSource(std::move(fields), size), fill_(std::move(fill)) {}

  // Writes zeros first: elements that the function leaves out must not show old contents of the
  // memory.
  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      for (size_t f = 0; f < fields().size(); ++f) {
        const size_t bytes = bytes_per_sample(fields()[f]);
        std::memset(rows.at(f, row, bytes), 0, bytes);
      }
      fill_(SampleView(fields(), rows, row, {epoch, indices[i]}));
    }
  }

 private:
  std::function<void(const SampleView&)> fill_;
};

}  // namespace

SourcePtr made_by(int64_t size, std::function<Sample(int64_t)> make) {
  std::vector<Field> fields = {{"x", DType::f32, {0}}};
  if (size > 0) fields = fields_of(make(0), {});
  return std::make_shared<MadeByFunction>(size, std::move(fields), std::move(make));
}

SourcePtr filled_by(int64_t size, std::vector<Field> fields,
                    std::function<void(const SampleView&)> fill) {
  return std::make_shared<FilledByFunction>(size, std::move(fields), std::move(fill));
}

}  // namespace pando::data
