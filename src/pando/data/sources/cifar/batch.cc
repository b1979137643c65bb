// SPDX-License-Identifier: MIT
#include "pando/data/sources/cifar/batch.h"

#include <algorithm>
#include <utility>

#include "pando/base/multiversion.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/pickle/pickle.h"
#include "pando/data/tfrecord/compression.h"

namespace pando::data {

namespace {

CifarImages make_images(size_t count, CifarKind kind) {
  const auto rows = static_cast<int64_t>(count);
  CifarImages images{.images = Tensor(DType::u8, {rows, 32, 32, 3}),
                     .labels = Tensor(DType::i32, {rows}),
                     .coarse_labels = {}};
  if (kind == CifarKind::cifar100) images.coarse_labels = Tensor(DType::i32, {rows});
  return images;
}

// The errors of one file: thrown or, with `flaws`, collected there.
class FlawSink {
 public:
  FlawSink(const std::string& place, std::vector<CifarFlaw>* flaws)
      : place_(place), flaws_(flaws) {}

  void report(size_t offset, const std::string& why) const {
    const std::string text = concat("offset ", offset, ": ", why);
    if (flaws_ == nullptr) throw IoError(place_, ": ", text);
    flaws_->push_back({offset, text});
  }

  int32_t checked_label(int64_t label, int32_t classes, size_t offset) const {
    if (label >= 0 && label < classes) return static_cast<int32_t>(label);
    report(offset, concat("label ", label, ", expected 0 to ", classes - 1));
    return -1;
  }

 private:
  const std::string& place_;
  std::vector<CifarFlaw>* flaws_;
};

// Checks the length of the file, since label bytes hardly tell whether it is a CIFAR file.
size_t count_records(std::span<const uint8_t> content, const FlawSink& sink, size_t record) {
  const size_t whole = content.size() / record;
  if (content.empty() || content.size() % record != 0) {
    sink.report(whole * record,
                concat("expected a positive number of records of ", record, " bytes, got ",
                       content.size() - whole * record, " bytes after ", whole, " records",
                       sniff_compression(content) == Compression::gzip
                           ? "; the file is compressed by gzip: unpack it"
                           : ""));
  }
  return whole;
}

PickleValue entry(const PickleValue& batch, const char* key, const std::string& place) {
  const std::optional<PickleValue> found = batch.find(key);
  if (found) return *found;
  throw IoError(place, ": offset ", batch.offset(), ": expected a dict with the key '", key,
                "', got one with the keys ", join(batch.keys(), ", "));
}

struct LabelRange {
  int32_t classes;
  const FlawSink& sink;
  bool may_have_more;  // of a file that is cut
};

size_t count_of(const PickleValue& labels) {
  return labels.kind() == PickleKind::array ? static_cast<size_t>(labels.array().elements())
                                            : labels.size();
}

void read_labels(const PickleValue& value, const std::string& place, const LabelRange& range,
                 std::span<int32_t> labels) {
  const bool is_array = value.kind() == PickleKind::array;
  const PickleArray array = is_array ? value.array() : PickleArray();
  if (is_array && (array.shape.size() != 1 || array.type == 'f')) {
    throw IoError(place, ": offset ", value.offset(),
                  ": expected labels as one axis of integers, got an array of ", array.shape.size(),
                  " axes of type '", array.type, "'");
  }
  const size_t count = count_of(value);
  if (count < labels.size() || (count > labels.size() && !range.may_have_more)) {
    throw IoError(place, ": offset ", value.offset(), ": expected ", labels.size(),
                  ", as many as images, got ", count, " labels");
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t label = is_array ? array.integer_at(i) : value.at(i).integer();
    labels[i] = range.sink.checked_label(label, range.classes,
                                         is_array ? value.offset() : value.at(i).offset());
  }
}

PickleArray read_images(const PickleValue& value, const std::string& place) {
  PickleArray array = value.array();
  const bool fits = array.type == 'u' && array.item_bytes == 1 && array.shape.size() == 2 &&
                    array.shape[0] > 0 && array.shape[1] == static_cast<int64_t>(kCifarBytes);
  if (!fits) {
    throw IoError(place, ": offset ", value.offset(), ": expected data of type u1 [count,",
                  kCifarBytes, "], got ", array.type, array.item_bytes, " ", Shape(array.shape));
  }
  return array;
}

struct BatchForm {
  CifarKind kind;
  bool is_cut;
};

CifarImages read_batch_values(const PickleValue& batch, const std::string& place,
                              const BatchForm& form, const FlawSink& sink) {
  const bool fine = form.kind == CifarKind::cifar100;
  const PickleArray data = read_images(entry(batch, "data", place), place);
  const PickleValue labels = entry(batch, fine ? "fine_labels" : "labels", place);
  const PickleValue coarse = fine ? entry(batch, "coarse_labels", place) : labels;
  const auto all = static_cast<size_t>(data.shape[0]);
  size_t count = all;
  if (form.is_cut) {
    const size_t rows = data.column_major ? 0 : data.bytes.size() / kCifarBytes;
    count = std::min({all, rows, count_of(labels), count_of(coarse)});
    if (count == 0) throw IoError(place, ": no image is whole");
    sink.report(batch.offset(), concat("truncated: ", count, " of ", all, " images can be read"));
  }
  CifarImages result = make_images(count, form.kind);
  read_labels(labels, place, {cifar_classes(form.kind), sink, form.is_cut}, result.labels.i32());
  if (fine) {
    read_labels(coarse, place, {kCifarCoarseClasses, sink, form.is_cut},
                result.coarse_labels.i32());
  }
  std::vector<uint8_t> column(kCifarBytes);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* planes = data.bytes.data() + i * kCifarBytes;
    if (data.column_major) {
      for (size_t c = 0; c < kCifarBytes; ++c) column[c] = data.bytes[c * count + i];
      planes = column.data();
    }
    interleave_planes(planes, result.images.u8().data() + i * kCifarBytes);
  }
  return result;
}

}  // namespace

PANDO_MULTIVERSION void interleave_planes(const uint8_t* __restrict planes,
                                          uint8_t* __restrict pixels) {
  for (size_t i = 0; i < kCifarPixels; ++i) {
    pixels[3 * i] = planes[i];
    pixels[3 * i + 1] = planes[kCifarPixels + i];
    pixels[3 * i + 2] = planes[2 * kCifarPixels + i];
  }
}

PANDO_MULTIVERSION void split_planes(const uint8_t* __restrict pixels, uint8_t* __restrict planes) {
  for (size_t i = 0; i < kCifarPixels; ++i) {
    planes[i] = pixels[3 * i];
    planes[kCifarPixels + i] = pixels[3 * i + 1];
    planes[2 * kCifarPixels + i] = pixels[3 * i + 2];
  }
}

CifarLayout cifar_layout(CifarKind kind, CifarForm form) {
  const bool binary = form == CifarForm::binary;
  const std::string ending = binary ? ".bin" : "";
  if (kind == CifarKind::cifar100) {
    return {.form = form,
            .folder = binary ? "cifar-100-binary" : "cifar-100-python",
            .archive = binary ? "cifar-100-binary.tar.gz" : "cifar-100-python.tar.gz",
            .train = {"train" + ending},
            .test = "test" + ending,
            .test_label = "testing batch 1 of 1",
            .train_labels = {"training batch 1 of 1"}};
  }
  CifarLayout layout{.form = form,
                     .folder = binary ? "cifar-10-batches-bin" : "cifar-10-batches-py",
                     .archive = binary ? "cifar-10-binary.tar.gz" : "cifar-10-python.tar.gz",
                     .train = {},
                     .test = "test_batch" + ending,
                     .test_label = "testing batch 1 of 1",
                     .train_labels = {}};
  for (int i = 1; i <= 5; ++i) {
    layout.train.push_back(concat("data_batch_", i, ending));
    layout.train_labels.push_back(concat("training batch ", i, " of 5"));
  }
  return layout;
}

// Records of one label, or coarse and fine label, then the planes of red, green and blue.
CifarImages parse_cifar_binary(std::span<const uint8_t> content, const std::string& place,
                               CifarKind kind, std::vector<CifarFlaw>* flaws) {
  const FlawSink sink(place, flaws);
  const size_t label_bytes = kind == CifarKind::cifar10 ? 1 : 2;
  const size_t record = label_bytes + kCifarBytes;
  const size_t count = count_records(content, sink, record);
  CifarImages result = make_images(count, kind);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* from = content.data() + i * record;
    if (kind == CifarKind::cifar100) {
      result.coarse_labels.i32()[i] = sink.checked_label(from[0], kCifarCoarseClasses, i * record);
    }
    result.labels.i32()[i] = sink.checked_label(from[label_bytes - 1], cifar_classes(kind),
                                                i * record + label_bytes - 1);
    interleave_planes(from + label_bytes, result.images.u8().data() + i * kCifarBytes);
  }
  return result;
}

CifarImages parse_cifar_python(std::span<const uint8_t> content, const std::string& place,
                               CifarKind kind, std::vector<CifarFlaw>* flaws) {
  const FlawSink sink(place, flaws);
  std::string cut;  // why the file is cut; empty: it is whole
  const PickleValue batch = parse_pickle(content, place, flaws == nullptr ? nullptr : &cut);
  try {
    return read_batch_values(batch, place, {kind, !cut.empty()}, sink);
  } catch (const IoError&) {
    if (cut.empty()) throw;
    throw IoError(cut);  // nothing can be salvaged, for this reason
  }
}

}  // namespace pando::data
