// SPDX-License-Identifier: MIT
#include "pando/data/sources/cifar/cifar.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "pando/data/sources/arrays.h"
#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/gzip.h"

namespace pando {

namespace {

namespace fs = std::filesystem;
using data::CifarForm;
using data::CifarKind;
using data::CifarLayout;
using data::CifarPlace;

CifarPlace look_in(const fs::path& folder, const CifarLayout& layout) {
  CifarPlace files{.form = layout.form, .folder = folder.string()};
  const auto look = [&](const std::string& name) {
    std::error_code error;
    const bool there = fs::is_regular_file(folder / name, error);
    (there ? files.found : files.missing).push_back(name);
    return (folder / name).string();
  };
  for (const std::string& name : layout.train) files.train.push_back(look(name));
  files.test = look(layout.test);
  return files;
}

[[noreturn]] void fail_missing(const std::string& folder, CifarKind kind, const CifarPlace& best) {
  if (!best.found.empty()) {
    throw IoError(best.folder, ": found ", join(best.found, ", "), ", but not ",
                  join(best.missing, ", "), "; ", data::cifar_remedy(folder, kind));
  }
  const CifarLayout binary = data::cifar_layout(kind, CifarForm::binary);
  const CifarLayout python = data::cifar_layout(kind, CifarForm::python);
  std::error_code error;
  throw IoError(folder, ": ", fs::is_directory(folder, error) ? "" : "no such directory; ",
                "looked for ", join(binary.train, ", "), ", ", binary.test,
                " (the binary version) ",
                "or the same without .bin (the Python version), there and in ", binary.folder,
                " and ", python.folder, "; ", data::cifar_remedy(folder, kind));
}

// Bad records are errors; with `skipped` they are listed there and left out.
CifarImages read_batch(const std::string& path, CifarForm form, CifarKind kind,
                       std::vector<BadRecord>* skipped) {
  const std::vector<uint8_t> content = data::read_file(path);
  std::vector<data::CifarFlaw> flaws;
  auto* wanted = skipped == nullptr ? nullptr : &flaws;
  CifarImages images = form == CifarForm::binary
                           ? data::parse_cifar_binary(content, path, kind, wanted)
                           : data::parse_cifar_python(content, path, kind, wanted);
  if (flaws.empty()) return images;
  for (const data::CifarFlaw& flaw : flaws) skipped->push_back({path, flaw.offset, flaw.why});
  std::vector<int32_t> labels(images.labels.i32().begin(), images.labels.i32().end());
  if (!images.coarse_labels.empty()) {
    for (size_t i = 0; i < labels.size(); ++i) {
      labels[i] = std::min(labels[i], images.coarse_labels.i32()[i]);
    }
    images.coarse_labels = data::rows_with_label(images.coarse_labels, labels);
  }
  images.images = data::rows_with_label(images.images, labels);
  images.labels = data::rows_with_label(images.labels, labels);
  return images;
}

// Joins the tensors of all parts along the first axis and frees the parts.
Tensor join_rows(std::vector<CifarImages>& parts, Tensor CifarImages::*member) {
  if (parts.size() == 1) return std::move(parts[0].*member);
  const Tensor& first = parts[0].*member;
  int64_t rows = 0;
  for (const CifarImages& part : parts) rows += (part.*member).shape()[0];
  std::vector<int64_t> dims = first.shape().dims();
  dims[0] = rows;
  Tensor whole(first.dtype(), Shape(std::move(dims)));
  std::byte* to = whole.data();
  for (CifarImages& part : parts) {
    const Tensor rows_of_part = std::move(part.*member);
    to = std::copy_n(rows_of_part.data(), rows_of_part.bytes(), to);
  }
  return whole;
}

CifarImages read_batches(const std::vector<std::string>& paths, CifarForm form, CifarKind kind,
                         std::vector<BadRecord>* skipped) {
  std::vector<CifarImages> parts;
  for (const std::string& path : paths) parts.push_back(read_batch(path, form, kind, skipped));
  CifarImages whole;
  whole.images = join_rows(parts, &CifarImages::images);
  whole.labels = join_rows(parts, &CifarImages::labels);
  if (kind == CifarKind::cifar100) {
    whole.coarse_labels = join_rows(parts, &CifarImages::coarse_labels);
  }
  return whole;
}

CifarFiles read_files(const std::string& folder, CifarKind kind,
                      std::vector<BadRecord>* skipped = nullptr) {
  const CifarPlace files = data::find_cifar(folder, kind);
  if (!files.missing.empty()) fail_missing(folder, kind, files);
  return {.train = read_batches(files.train, files.form, kind, skipped),
          .test = read_batches({files.test}, files.form, kind, skipped)};
}

Dataset as_dataset(CifarImages images, const CifarOptions& options) {
  std::vector<ArrayField> arrays(2);
  arrays[0] = {.name = "x", .values = std::move(images.images)};
  if (options.x == DType::f32) arrays[0].scale = 1.0f / 255.0f;
  const bool coarse = options.labels == CifarLabels::coarse;
  arrays[1] = {.name = "y", .values = std::move(coarse ? images.coarse_labels : images.labels)};
  return from_arrays(std::move(arrays));
}

TrainTest load(const std::string& folder, CifarKind kind, const CifarOptions& options) {
  if (options.x != DType::f32 && options.x != DType::u8) {
    throw InvalidArgument("CIFAR: expected x as f32 or u8, got ", to_string(options.x));
  }
  if (kind == CifarKind::cifar10 && options.labels == CifarLabels::coarse) {
    throw InvalidArgument("CIFAR-10 has no coarse labels; use fine labels or CIFAR-100");
  }
  CifarFiles files = read_files(folder, kind, options.skipped);
  const bool coarse = options.labels == CifarLabels::coarse;
  return {.train = as_dataset(std::move(files.train), options),
          .test = as_dataset(std::move(files.test), options),
          .classes = coarse ? data::kCifarCoarseClasses : data::cifar_classes(kind)};
}

}  // namespace

namespace data {

CifarPlace find_cifar(const std::string& folder, CifarKind kind) {
  std::optional<CifarPlace> best;
  for (const CifarForm form : {CifarForm::binary, CifarForm::python}) {
    const CifarLayout layout = cifar_layout(kind, form);
    for (const fs::path& place : {fs::path(folder), fs::path(folder) / layout.folder}) {
      CifarPlace files = look_in(place, layout);
      if (files.missing.empty()) return files;
      if (!best || files.found.size() > best->found.size()) best = std::move(files);
    }
  }
  return *best;
}

std::string cifar_remedy(const std::string& folder, CifarKind kind) {
  const CifarLayout binary = cifar_layout(kind, CifarForm::binary);
  const CifarLayout python = cifar_layout(kind, CifarForm::python);
  for (const CifarLayout& layout : {binary, python}) {
    std::error_code error;
    if (fs::exists(fs::path(folder) / layout.archive, error)) {
      return concat("unpack the ", layout.archive, " that is there");
    }
  }
  return concat("get ", binary.archive,
                " from https://www.cs.toronto.edu/~kriz/cifar.html, unpack ",
                "it and name its folder");
}

}  // namespace data

CifarFiles read_cifar10(const std::string& folder) {
  return read_files(folder, CifarKind::cifar10);
}

CifarFiles read_cifar100(const std::string& folder) {
  return read_files(folder, CifarKind::cifar100);
}

TrainTest load_cifar10(const std::string& folder, const CifarOptions& options) {
  return load(folder, CifarKind::cifar10, options);
}

TrainTest load_cifar100(const std::string& folder, const CifarOptions& options) {
  return load(folder, CifarKind::cifar100, options);
}

}  // namespace pando
