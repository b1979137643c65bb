// SPDX-License-Identifier: MIT
#include "pando/data/image/mixed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/multiversion.h"
#include "pando/base/random.h"
#include "pando/data/image/geometry.h"
#include "pando/data/scratch_pool.h"

namespace pando {

namespace data {

namespace {

constexpr double kLargestMixParameter = 1000;

// The logarithm of a number with the distribution Gamma(shape, 1), by the method of Marsaglia and
// Tsang. Logarithms, because numbers of a small shape are often too small for a double.
double log_gamma_number(RandomStream& random, double shape) {
  const auto positive = [&] { return 1.0 - random.next_uniform(); };
  if (shape < 1) {
    const double larger = log_gamma_number(random, shape + 1);
    return larger + std::log(positive()) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.next_normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(positive()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d) + std::log(v);
    }
  }
}

// A number with the distribution Beta(shape, shape).
double beta_number(RandomStream& random, double shape) {
  const double first = log_gamma_number(random, shape);
  const double second = log_gamma_number(random, shape);
  return 1 / (1 + std::exp(second - first));
}

// Sample 2 i and sample 2 i + 1 are neighbours; the last of an odd number has the one before it.
int64_t neighbour_of(int64_t index, int64_t size) {
  const int64_t other = index ^ 1;
  return other < size ? other : std::max<int64_t>(index - 1, 0);
}

// A box of this part of the picture around a random place, cut off at the edges.
PixelBox random_paste_box(RandomStream& random, const ImageSize& picture, double part) {
  const double side = std::sqrt(part);
  const auto range = [&](int64_t whole) {
    const auto length = static_cast<int64_t>(side * static_cast<double>(whole));
    const auto middle = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(whole)));
    const int64_t begin = std::max<int64_t>(middle - length / 2, 0);
    const int64_t end = std::min(middle - length / 2 + length, whole);
    return std::pair(begin, std::max(end - begin, int64_t{0}));
  };
  const auto [y, height] = range(picture.height);
  const auto [x, width] = range(picture.width);
  return {y, x, height, width};
}

PANDO_MULTIVERSION void blend_values(float* own, const float* other, size_t count, float share) {
  for (size_t i = 0; i < count; ++i) own[i] = share * own[i] + (1 - share) * other[i];
}

PANDO_MULTIVERSION void blend_values(uint8_t* own, const uint8_t* other, size_t count,
                                     float share) {
  for (size_t i = 0; i < count; ++i) {
    const float half_more =
        share * static_cast<float>(own[i]) + (1 - share) * static_cast<float>(other[i]) + 0.5f;
    own[i] = static_cast<uint8_t>(half_more);
  }
}

struct MixScratch {
  std::vector<int64_t> indices;    // that the inner source overwrites
  std::vector<int64_t> missing;    // partners that are not among the samples asked for
  std::vector<MixChoice> choices;  // of every row
  std::vector<std::byte> own;      // the old labels of all rows
  std::vector<std::byte> others;   // all fields of the missing partners
  std::vector<std::byte> kept;     // the x of one sample before it was mixed
  std::vector<std::byte*> own_bytes;
  std::vector<std::byte*> other_bytes;
};

class MixedSource : public DataSource {
 public:
  MixedSource(SourcePtr inner, std::vector<Field> fields, size_t x, size_t y,
              const MixOptions& options)
      : DataSource(std::move(fields), inner->size()),
        inner_(std::move(inner)),
        x_(x),
        y_(y),
        options_(options) {
    const Shape& shape = this->fields()[x].shape;
    if (shape.rank() == 3) picture_ = {shape[0], shape[1]};
  }

  void gather(int64_t epoch, std::span<int64_t> indices, const Rows& rows) const override {
    ScratchPool<MixScratch>::Lease lease(scratch_);
    MixScratch& scratch = *lease;
    draw(epoch, indices, scratch);
    gather_own(epoch, indices, rows, scratch);
    gather_missing(epoch, scratch);
    size_t missing = 0;
    for (size_t row = 0; row < scratch.choices.size(); ++row) {
      if (are_pair(scratch, row)) {
        mix_pair(scratch, row, rows);
        ++row;
      } else {
        const auto at = static_cast<int64_t>(missing++);
        mix(scratch.choices[row], x_at(rows, row), old_field(scratch.other_bytes, x_, at));
        mix_labels(scratch, row, old_field(scratch.other_bytes, y_, at), rows);
      }
    }
  }

  bool order_varies() const override { return inner_->order_varies(); }
  bool sequential() const override { return inner_->sequential(); }

 private:
  void draw(int64_t epoch, std::span<const int64_t> indices, MixScratch& scratch) const {
    scratch.choices.clear();
    scratch.missing.clear();
    for (const int64_t index : indices) {
      scratch.choices.push_back(
          draw_mix(options_, {options_.seed, epoch, index}, size(), picture_));
    }
    scratch.indices.assign(indices.begin(), indices.end());
    for (size_t row = 0; row < indices.size(); ++row) {
      if (are_pair(scratch, row)) {
        ++row;
      } else {
        scratch.missing.push_back(scratch.choices[row].partner);
      }
    }
  }

  // Whether this row and the next one are mixed with each other.
  static bool are_pair(const MixScratch& scratch, size_t row) {
    return row + 1 < scratch.choices.size() &&
           scratch.choices[row].partner == scratch.indices[row + 1] &&
           scratch.choices[row + 1].partner == scratch.indices[row];
  }

  // All fields go to their rows, except the labels, which change their type.
  void gather_own(int64_t epoch, std::span<int64_t> indices, const Rows& rows,
                  MixScratch& scratch) const {
    scratch.own.resize(indices.size() * bytes_per_sample(inner_->fields()[y_]));
    scratch.own_bytes.clear();
    for (size_t f = 0; f < fields().size(); ++f) {
      scratch.own_bytes.push_back(f == y_ ? scratch.own.data()
                                          : rows.at(f, 0, bytes_per_sample(fields()[f])));
    }
    inner_->gather(epoch, indices, Rows(scratch.own_bytes));
  }

  void gather_missing(int64_t epoch, MixScratch& scratch) const {
    if (scratch.missing.empty()) return;
    constexpr size_t kAlignment = 64;
    const auto padded = [&](const Field& field) {
      const size_t bytes = scratch.missing.size() * bytes_per_sample(field);
      return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    };
    size_t total = 0;
    for (const Field& field : inner_->fields()) total += padded(field);
    scratch.others.resize(total);
    scratch.other_bytes.clear();
    size_t offset = 0;
    for (const Field& field : inner_->fields()) {
      scratch.other_bytes.push_back(scratch.others.data() + offset);
      offset += padded(field);
    }
    inner_->gather(epoch, scratch.missing, Rows(scratch.other_bytes));
  }

  std::byte* x_at(const Rows& rows, size_t row) const {
    return rows.at(x_, static_cast<int64_t>(row), bytes_per_sample(fields()[x_]));
  }
  // A field of the inner source, of the sample in this row of the scratch memory.
  const std::byte* old_field(const std::vector<std::byte*>& first_bytes, size_t field,
                             int64_t row) const {
    return Rows(first_bytes).at(field, row, bytes_per_sample(inner_->fields()[field]));
  }

  // The second sample needs the first as it was before.
  void mix_pair(MixScratch& scratch, size_t row, const Rows& rows) const {
    std::byte* first = x_at(rows, row);
    std::byte* second = x_at(rows, row + 1);
    scratch.kept.assign(first, first + bytes_per_sample(fields()[x_]));
    mix(scratch.choices[row], first, second);
    mix(scratch.choices[row + 1], second, scratch.kept.data());
    const auto at = static_cast<int64_t>(row);
    mix_labels(scratch, row, old_field(scratch.own_bytes, y_, at + 1), rows);
    mix_labels(scratch, row + 1, old_field(scratch.own_bytes, y_, at), rows);
  }

  void mix(const MixChoice& choice, std::byte* own, const std::byte* other) const {
    const Field& field = fields()[x_];
    if (choice.pastes) {
      const auto pixel = static_cast<int64_t>(bytes_per_sample(field)) / picture_.pixels();
      for (int64_t y = choice.box.y; y < choice.box.y + choice.box.height; ++y) {
        const int64_t at = (y * picture_.width + choice.box.x) * pixel;
        std::memcpy(own + at, other + at, static_cast<size_t>(choice.box.width * pixel));
      }
      return;
    }
    const auto count = static_cast<size_t>(field.shape.elements());
    const auto share = static_cast<float>(choice.share);
    if (field.dtype == DType::u8) {
      blend_values(reinterpret_cast<uint8_t*>(own), reinterpret_cast<const uint8_t*>(other), count,
                   share);
    } else {
      blend_values(reinterpret_cast<float*>(own), reinterpret_cast<const float*>(other), count,
                   share);
    }
  }

  void mix_labels(const MixScratch& scratch, size_t row, const std::byte* other,
                  const Rows& rows) const {
    const auto at = static_cast<int64_t>(row);
    const double share = scratch.choices[row].share;
    const std::byte* own = old_field(scratch.own_bytes, y_, at);
    auto* to = reinterpret_cast<float*>(rows.at(y_, at, bytes_per_sample(fields()[y_])));
    const auto count = static_cast<size_t>(fields()[y_].shape.elements());
    std::fill_n(to, count, 0.0f);
    add_label(own, static_cast<float>(share), {to, count});
    add_label(other, static_cast<float>(1 - share), {to, count});
  }

  void add_label(const std::byte* label, float share, std::span<float> to) const {
    const DType dtype = inner_->fields()[y_].dtype;
    if (dtype == DType::f32) {
      const auto* values = reinterpret_cast<const float*>(label);
      for (size_t i = 0; i < to.size(); ++i) to[i] += share * values[i];
      return;
    }
    int32_t number = 0;
    if (dtype == DType::u8) {
      number = static_cast<int32_t>(*label);
    } else {
      std::memcpy(&number, label, sizeof number);
    }
    if (number < 0 || number >= std::ssize(to)) {
      throw InvalidArgument("mix samples: label ", number, ", expected 0 to ", to.size() - 1);
    }
    to[static_cast<size_t>(number)] += share;
  }

  SourcePtr inner_;
  size_t x_;
  size_t y_;
  MixOptions options_;
  ImageSize picture_;
  mutable ScratchPool<MixScratch> scratch_;
};

void check_mixing(const Field& x, const Field& y, int64_t classes, const MixOptions& options) {
  const auto within = [](const char* name, double value) {
    if (value >= 0 && value <= kLargestMixParameter) return;
    throw InvalidArgument("mix samples: ", name, " ", value, ", expected 0 to ",
                          kLargestMixParameter);
  };
  within("mixup", options.mixup);
  within("cutmix", options.cutmix);
  if (!options.on())
    throw InvalidArgument("mix samples: mixup and cutmix are 0, expected one above");
  if (x.dtype != DType::f32 && x.dtype != DType::u8) {
    throw InvalidArgument("mix samples: the field is ", x, ", expected f32 or u8");
  }
  if (options.cutmix > 0 && (x.shape.rank() != 3 || x.shape.elements() == 0)) {
    throw InvalidArgument("mix samples: the field is ", x,
                          ", expected [height,width,channels] for CutMix");
  }
  if (classes < 1) throw InvalidArgument("mix samples: ", classes, " classes, expected at least 1");
  const bool numbers = (y.dtype == DType::i32 || y.dtype == DType::u8) && y.shape.rank() == 0;
  if (numbers || (y.dtype == DType::f32 && y.shape == Shape{classes})) return;
  throw InvalidArgument("mix samples: the labels are ", y,
                        ", expected class numbers (i32[]) or f32[", classes, "]");
}

}  // namespace

MixChoice draw_mix(const MixOptions& options, const SampleKey& key, int64_t size,
                   const ImageSize& picture) {
  RandomStream random = sample_random(mix_keys(key.seed, hash_name("mix")), key.epoch, key.index);
  MixChoice choice;
  const auto any = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(size)));
  choice.partner = options.with_neighbour ? neighbour_of(key.index, size) : any;
  const bool second = random_flip(random);
  choice.pastes = options.cutmix > 0 && (options.mixup == 0 || second);
  choice.share = beta_number(random, choice.pastes ? options.cutmix : options.mixup);
  if (!choice.pastes) return choice;
  choice.box = random_paste_box(random, picture, 1 - choice.share);
  const auto pasted = static_cast<double>(choice.box.height * choice.box.width);
  choice.share = 1 - pasted / static_cast<double>(picture.pixels());
  return choice;
}

}  // namespace data

Dataset mix_samples(const Dataset& dataset, int64_t classes, const MixOptions& options) {
  const size_t x = dataset.field_index("x");
  const size_t y = dataset.field_index("y");
  data::check_mixing(dataset.fields()[x], dataset.fields()[y], classes, options);
  if (dataset.source()->sequential()) {
    throw InvalidArgument(
        "mix samples: the samples are made one after the other, but mixing needs pairs of them; "
        "cache() the data set first");
  }
  std::vector<Field> fields = dataset.fields();
  fields[y] = {"y", DType::f32, {classes}};
  return Dataset(
      std::make_shared<data::MixedSource>(dataset.source(), std::move(fields), x, y, options));
}

}  // namespace pando
