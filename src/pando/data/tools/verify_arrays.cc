// Verifies the data sets that come as a few files of arrays: MNIST and its relatives, CIFAR.
// SPDX-License-Identifier: MIT
#include <filesystem>
#include <utility>

#include "pando/data/sources/cifar/batch.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/sources/idx.h"
#include "pando/data/sources/mnist.h"
#include "pando/data/tools/verify_impl.h"

namespace pando::data {

namespace {

constexpr int64_t kMnistClasses = 10;
constexpr size_t kLabelsHeader = 8;  // bytes in front of the labels of an IDX file

Tensor read_bytes_of_rank(const std::string& path, int rank, const char* wanted) {
  Tensor tensor = read_idx(path);
  if (tensor.dtype() != DType::u8 || tensor.shape().rank() != rank) {
    throw IoError(path, ": holds ", to_string(tensor.dtype()), tensor.shape(), ", wanted ", wanted);
  }
  return tensor;
}

void check_mnist_images(const std::string& path, FileFindings& findings) {
  const Tensor images = read_bytes_of_rank(path, 3, "u8 images [count,height,width]");
  if (images.elements() == 0) {
    throw IoError(path, ": holds images ", images.shape(), ", wanted some with at least one pixel");
  }
  findings.file.samples = images.shape()[0];
}

void check_mnist_labels(const std::string& path, FileFindings& findings) {
  const Tensor labels = read_bytes_of_rank(path, 1, "u8 labels [count]");
  for (size_t i = 0; i < labels.u8().size(); ++i) {
    const int64_t label = labels.u8()[i];
    if (label < kMnistClasses) {
      findings.sample(label);
    } else {
      findings.flaw(kLabelsHeader + i, concat("offset ", kLabelsHeader + i, ": label ", i, " is ",
                                              label, ", wanted 0 to ", kMnistClasses - 1));
    }
  }
}

// Images and labels of one part.
void add_mnist_part(ReportBuilder& builder, FileFindings&& images, FileFindings&& labels) {
  const int64_t all_labels = labels.file.samples + labels.bad.count();
  if (images.readable && labels.readable && all_labels != images.file.samples) {
    labels.flaw(0, concat(all_labels, " labels, wanted ", images.file.samples,
                          ", as many as the images of ", images.file.path));
  }
  if (!images.readable) {  // nothing that they are labels of
    labels.file.samples = 0;
    labels.labels.clear();
  }
  builder.add(std::move(images), false);
  builder.add(std::move(labels));
}

FileFindings missing_findings(const std::string& path, const VerifyOptions& options) {
  FileFindings findings(options);
  findings.file.path = path;
  findings.bad.add(missing_file(path, "wanted it as it is or with .gz"));
  return findings;
}

VerifyReport verify_mnist_like(const std::string& path, const VerifyOptions& options,
                               std::vector<std::string> classes) {
  std::vector<std::string> paths;
  for (const char* name : kMnistFiles) paths.push_back(find_mnist_file(path, name));
  std::vector<std::string> there;
  for (const std::string& file : paths) {
    if (!file.empty()) there.push_back(file);
  }
  std::vector<FileFindings> read =
      check_files(there, options, [](const std::string& file, FileFindings& findings) {
        const std::string name = std::filesystem::path(file).filename().string();
        const bool labels = name.find("labels") != std::string::npos;
        labels ? check_mnist_labels(file, findings) : check_mnist_images(file, findings);
      });
  std::vector<FileFindings> all;
  for (size_t i = 0, next = 0; i < paths.size(); ++i) {
    all.push_back(paths[i].empty() ? missing_findings(concat(path, "/", kMnistFiles[i]), options)
                                   : std::move(read[next++]));
  }
  ReportBuilder builder(options);
  builder.set_classes(std::move(classes));
  builder.begin_part("train", 60000, kMnistClasses);
  add_mnist_part(builder, std::move(all[0]), std::move(all[1]));
  builder.begin_part("test", 10000, kMnistClasses);
  add_mnist_part(builder, std::move(all[2]), std::move(all[3]));
  return std::move(builder).finish(path);
}

void check_cifar_file(const std::string& path, FileFindings& findings, CifarForm form,
                      CifarKind kind) {
  const std::vector<uint8_t> content = read_file(path);
  std::vector<CifarFlaw> flaws;
  const CifarImages images = form == CifarForm::binary
                                 ? parse_cifar_binary(content, path, kind, &flaws)
                                 : parse_cifar_python(content, path, kind, &flaws);
  for (const CifarFlaw& flaw : flaws) findings.flaw(flaw.offset, flaw.why);
  const auto labels = images.labels.i32();
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool coarse_good = images.coarse_labels.empty() || images.coarse_labels.i32()[i] >= 0;
    if (labels[i] >= 0 && coarse_good) findings.sample(labels[i]);
  }
}

VerifyReport verify_cifar(const std::string& path, const VerifyOptions& options, CifarKind kind) {
  ReportBuilder builder(options);
  builder.set_classes(kind == CifarKind::cifar10 ? cifar10_names() : cifar100_names());
  const CifarPlace place = find_cifar(path, kind);
  const auto add_part = [&](const char* name, int64_t official,
                            const std::vector<std::string>& paths) {
    builder.begin_part(name, official, cifar_classes(kind));
    std::vector<FileFindings> all =
        check_files(paths, options, [&](const std::string& file, FileFindings& findings) {
          check_cifar_file(file, findings, place.form, kind);
        });
    for (FileFindings& findings : all) builder.add(std::move(findings));
  };
  if (place.found.empty()) {
    builder.add_bad(
        {path, 0,
         concat("found none of ", join(place.missing, ", "), "; ", cifar_remedy(path, kind))});
  } else {
    add_part("train", 50000, place.train);
    add_part("test", 10000, {place.test});
    builder.note(place.form == CifarForm::binary ? "the binary version" : "the Python version");
  }
  return std::move(builder).finish(path);
}

}  // namespace

VerifyReport verify_mnist(const std::string& path, const VerifyOptions& options) {
  return verify_mnist_like(path, options, {});
}

VerifyReport verify_fashion_mnist(const std::string& path, const VerifyOptions& options) {
  return verify_mnist_like(path, options, fashion_mnist_names());
}

VerifyReport verify_cifar10(const std::string& path, const VerifyOptions& options) {
  return verify_cifar(path, options, CifarKind::cifar10);
}

VerifyReport verify_cifar100(const std::string& path, const VerifyOptions& options) {
  return verify_cifar(path, options, CifarKind::cifar100);
}

}  // namespace pando::data
