// SPDX-License-Identifier: MIT
#include <filesystem>
#include <utility>

#include "pando/base/new_file.h"
#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/pickle/writer.h"

namespace pando {

namespace {

namespace fs = std::filesystem;
using data::CifarForm;
using data::CifarKind;
using data::kCifarBytes;
using data::PickleWriter;

// Images first to last - 1 of a set.
struct Range {
  const CifarImages& of;
  size_t first;
  size_t last;
  size_t count() const { return last - first; }
  const uint8_t* pixels(size_t i) const {
    return of.images.u8().data() + (first + i) * kCifarBytes;
  }
};

void check_labels(const Tensor& labels, int64_t count, int32_t classes, const char* what) {
  if (labels.dtype() != DType::i32 || labels.shape() != Shape{count}) {
    throw InvalidArgument("writing CIFAR: ", what, " are ", to_string(labels.dtype()),
                          labels.shape(), ", expected i32[", count, "]");
  }
  for (size_t i = 0; i < labels.i32().size(); ++i) {
    if (labels.i32()[i] < 0 || labels.i32()[i] >= classes) {
      throw InvalidArgument("writing CIFAR: ", what, " have ", labels.i32()[i], " for image ", i,
                            ", expected 0 to ", classes - 1);
    }
  }
}

void check(const CifarImages& part, CifarKind kind, size_t files) {
  const Shape& shape = part.images.shape();
  const bool fits = part.images.dtype() == DType::u8 && shape.rank() == 4 && shape[1] == 32 &&
                    shape[2] == 32 && shape[3] == 3;
  if (!fits || shape[0] < static_cast<int64_t>(files)) {
    throw InvalidArgument("writing CIFAR: images are ", to_string(part.images.dtype()), shape,
                          ", expected u8 [count,32,32,3] with at least ", files);
  }
  check_labels(part.labels, shape[0], data::cifar_classes(kind), "labels");
  if (kind == CifarKind::cifar100) {
    check_labels(part.coarse_labels, shape[0], data::kCifarCoarseClasses, "coarse labels");
  }
}

void write_file(const fs::path& path, std::span<const uint8_t> content) {
  NewFile file(path.string());
  file.write(content);
  file.commit();
}

std::vector<uint8_t> binary_content(const Range& range, CifarKind kind) {
  const size_t label_bytes = kind == CifarKind::cifar10 ? 1 : 2;
  const size_t record = label_bytes + kCifarBytes;
  std::vector<uint8_t> content(range.count() * record);
  for (size_t i = 0; i < range.count(); ++i) {
    uint8_t* to = content.data() + i * record;
    if (kind == CifarKind::cifar100) {
      to[0] = static_cast<uint8_t>(range.of.coarse_labels.i32()[range.first + i]);
    }
    to[label_bytes - 1] = static_cast<uint8_t>(range.of.labels.i32()[range.first + i]);
    data::split_planes(range.pixels(i), to + label_bytes);
  }
  return content;
}

void write_labels(PickleWriter& writer, const char* key, const Tensor& labels, const Range& range) {
  writer.text(key);
  writer.begin_list();
  for (size_t i = range.first; i < range.last; ++i) writer.integer(labels.i32()[i]);
  writer.end_list();
}

std::vector<uint8_t> python_content(const Range& range, CifarKind kind,
                                    const std::string& batch_label) {
  PickleWriter writer;
  writer.begin_dict();
  writer.text("batch_label");
  writer.text(batch_label);
  if (kind == CifarKind::cifar10) {
    write_labels(writer, "labels", range.of.labels, range);
  } else {
    write_labels(writer, "fine_labels", range.of.labels, range);
    write_labels(writer, "coarse_labels", range.of.coarse_labels, range);
  }
  std::vector<uint8_t> planes(range.count() * kCifarBytes);
  for (size_t i = 0; i < range.count(); ++i) {
    data::split_planes(range.pixels(i), planes.data() + i * kCifarBytes);
  }
  writer.text("data");
  writer.matrix(planes, range.count(), kCifarBytes);
  writer.text("filenames");
  writer.begin_list();
  for (size_t i = 0; i < range.count(); ++i) writer.text(concat("image_", range.first + i, ".png"));
  writer.end_list();
  writer.end_dict();
  return std::move(writer).finish();
}

void write_names(PickleWriter& writer, const char* key, const std::vector<std::string>& names) {
  writer.text(key);
  writer.begin_list();
  for (const std::string& name : names) writer.text(name);
  writer.end_list();
}

// Writes the names of the classes, which have files of their own in the archives.
void write_meta(const fs::path& folder, CifarForm form, CifarKind kind) {
  if (form == CifarForm::binary) {
    if (kind == CifarKind::cifar10)
      return write_lines((folder / "batches.meta.txt").string(), cifar10_names());
    write_lines((folder / "fine_label_names.txt").string(), cifar100_names());
    return write_lines((folder / "coarse_label_names.txt").string(), cifar100_coarse_names());
  }
  PickleWriter writer;
  writer.begin_dict();
  if (kind == CifarKind::cifar10) {
    write_names(writer, "label_names", cifar10_names());
    writer.text("num_vis");
    writer.integer(static_cast<int32_t>(kCifarBytes));
  } else {
    write_names(writer, "fine_label_names", cifar100_names());
    write_names(writer, "coarse_label_names", cifar100_coarse_names());
  }
  writer.end_dict();
  write_file(folder / (kind == CifarKind::cifar10 ? "batches.meta" : "meta"),
             std::move(writer).finish());
}

void write(const fs::path& folder, const CifarFiles& files, CifarForm form, CifarKind kind) {
  const data::CifarLayout layout = data::cifar_layout(kind, form);
  check(files.train, kind, layout.train.size());
  check(files.test, kind, 1);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError(folder.string(), ": cannot make the folder: ", error.message());
  const auto write_range = [&](const std::string& name, const Range& range,
                               const std::string& label) {
    write_file(folder / name, form == CifarForm::binary ? binary_content(range, kind)
                                                        : python_content(range, kind, label));
  };
  const auto count = static_cast<size_t>(files.train.images.shape()[0]);
  const size_t parts = layout.train.size();
  for (size_t i = 0; i < parts; ++i) {
    write_range(layout.train[i], {files.train, count * i / parts, count * (i + 1) / parts},
                layout.train_labels[i]);
  }
  const auto test_count = static_cast<size_t>(files.test.images.shape()[0]);
  write_range(layout.test, {files.test, 0, test_count}, layout.test_label);
  write_meta(folder, form, kind);
}

}  // namespace

void write_cifar10_binary(const std::string& folder, const CifarFiles& files) {
  write(folder, files, CifarForm::binary, CifarKind::cifar10);
}

void write_cifar10_python(const std::string& folder, const CifarFiles& files) {
  write(folder, files, CifarForm::python, CifarKind::cifar10);
}

void write_cifar100_binary(const std::string& folder, const CifarFiles& files) {
  write(folder, files, CifarForm::binary, CifarKind::cifar100);
}

void write_cifar100_python(const std::string& folder, const CifarFiles& files) {
  write(folder, files, CifarForm::python, CifarKind::cifar100);
}

}  // namespace pando
