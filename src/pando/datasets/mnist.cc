// MNIST and Fashion-MNIST: grey images of 28x28 pixels in four IDX files.
// SPDX-License-Identifier: MIT
#include "pando/data/sources/mnist.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/sources/idx.h"
#include "pando/datasets/records_impl.h"
#include "pando/datasets/tools/array_stages_impl.h"
#include "pando/datasets/tools/show_impl.h"
#include "pando/datasets/tools/verify_impl.h"

namespace pando::datasets {

namespace {

using Texts = std::vector<std::string>;

constexpr int64_t kMnistTrain = 60000;
constexpr int64_t kMnistTest = 10000;
constexpr Preparation kMnistPreparation = {.on_host = PixelValues::scaled,
                                           .on_device = PreprocessValues::scale_255};

fetch::RemoteFile idx_file(const Texts& bases, const std::string& name, fetch::RemoteFile file) {
  file.name = name;
  for (const std::string& base : bases) file.addresses.push_back(base + name);
  return file;
}

// Training: the data are bytes if the devices scale them or pictures are augmented; otherwise the
// reader scales them.

using LoadIdx = TrainTest (*)(const std::string& path, MnistLikeOptions options);

TrainingData load_idx(LoadIdx load, const std::string& path, const DataLoadOptions& options) {
  const bool bytes = options.prepare_on_device || options.augmentation.alters_pictures();
  const DType x = bytes ? DType::u8 : DType::f32;
  TrainingData data = load_arrays(path, options, [&](std::vector<BadRecord>* skipped) {
    return load(path, {.x = x, .skipped = skipped});
  });
  if (x == DType::u8) prepare(data, kMnistPreparation, options);
  return data;
}

TrainingData load_mnist_data(const std::string& path, const DataLoadOptions& options) {
  return load_idx(load_mnist, path, options);
}

TrainingData load_fashion_mnist_data(const std::string& path, const DataLoadOptions& options) {
  return load_idx(load_fashion_mnist, path, options);
}

// Verifying.

constexpr int64_t kMnistClasses = 10;
constexpr size_t kLabelsHeader = 8;  // bytes in front of the labels of an IDX file

Tensor read_bytes_of_rank(const std::string& path, int rank, const char* wanted) {
  Tensor tensor = read_idx(path);
  if (tensor.dtype() != DType::u8 || tensor.shape().rank() != rank) {
    throw IoError(path, ": holds ", to_string(tensor.dtype()), tensor.shape(), ", expected ",
                  wanted);
  }
  return tensor;
}

void check_mnist_images(const std::string& path, FileFindings& findings) {
  const Tensor images = read_bytes_of_rank(path, 3, "u8 images [count,height,width]");
  if (images.elements() == 0) {
    throw IoError(path, ": holds images ", images.shape(), ", expected at least one pixel");
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
                                              label, ", expected 0 to ", kMnistClasses - 1));
    }
  }
}

// Adds the images and labels of one part.
void add_mnist_part(ReportBuilder& builder, FileFindings&& images, FileFindings&& labels) {
  const int64_t all_labels = labels.file.samples + labels.bad.count();
  if (images.readable && labels.readable && all_labels != images.file.samples) {
    labels.flaw(0, concat(all_labels, " labels, expected ", images.file.samples,
                          ", as many as the images of ", images.file.path));
  }
  if (!images.readable) {  // then the labels have no images
    labels.file.samples = 0;
    labels.labels.clear();
  }
  builder.add(std::move(images), false);
  builder.add(std::move(labels));
}

FileFindings missing_findings(const std::string& path, const VerifyOptions& options) {
  FileFindings findings(options);
  findings.file.path = path;
  findings.bad.add(missing_file(path, "expected it raw or with .gz"));
  return findings;
}

VerifyReport verify_mnist_files(const std::string& path, const VerifyOptions& options,
                                std::vector<std::string> classes) {
  std::vector<std::string> paths;
  for (const char* name : data::kMnistFiles) paths.push_back(data::find_mnist_file(path, name));
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
    all.push_back(paths[i].empty()
                      ? missing_findings(concat(path, "/", data::kMnistFiles[i]), options)
                      : std::move(read[next++]));
  }
  ReportBuilder builder(options);
  builder.set_classes(std::move(classes));
  builder.begin_part("train", kMnistTrain, kMnistClasses);
  add_mnist_part(builder, std::move(all[0]), std::move(all[1]));
  builder.begin_part("test", kMnistTest, kMnistClasses);
  add_mnist_part(builder, std::move(all[2]), std::move(all[3]));
  return std::move(builder).finish(path);
}

VerifyReport verify_mnist(const std::string& path, const VerifyOptions& options) {
  return verify_mnist_files(path, options, {});
}

VerifyReport verify_fashion_mnist(const std::string& path, const VerifyOptions& options) {
  return verify_mnist_files(path, options, fashion_mnist_names());
}

// Measuring and showing.

Pipeline mnist_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const Dataset train = load_mnist(path).train.shuffle({.seed = options.seed});
  const double stored = static_cast<double>(train.fields()[0].shape.elements()) +
                        static_cast<double>(bytes_per_sample(train.fields()[1]));
  const int64_t block = block_of(train, options);
  Pipeline pipeline = array_pipeline(train, block);
  pipeline.stages = {
      gather_stage("gather", "bytes to f32, in a shuffled order", train, stored, block)};
  return pipeline;
}

Dataset shown_idx(LoadIdx load, const std::string& path, const ShowOptions& options) {
  const TrainTest sets = load(path, {.x = DType::u8});
  AugmentOptions augment;
  if (options.augment) augment = train_augmentation(kMnistPreparation, options.augmentation);
  augment.values = PixelValues::bytes;
  augment.seed = options.seed;
  return augment_images(options.test ? sets.test : sets.train, augment);
}

Showing show_mnist(const std::string& path, const ShowOptions& options) {
  return {shown_idx(load_mnist, path, options), {}, {}};
}

Showing show_fashion_mnist(const std::string& path, const ShowOptions& options) {
  return {shown_idx(load_fashion_mnist, path, options), fashion_mnist_names(), {}};
}

bool holds_idx_files(const std::string& folder) {
  return std::ranges::none_of(data::kMnistFiles, [&](const char* name) {
    return data::find_mnist_file(folder, name).empty();
  });
}

DatasetRecord idx_dataset() {
  return {.shape = {28, 28, 1},
          .train = kMnistTrain,
          .test = kMnistTest,
          .classes = kMnistClasses,
          .files = "the four IDX files, raw or .gz",
          .holds = holds_idx_files,
          .preparation = kMnistPreparation,
          .pipeline = mnist_pipeline};
}

}  // namespace

// Sizes and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/mnist.txt at 31f1255.
// The same sha256: pytorch/vision, torchvision/prototype/datasets/_builtin/mnist.py at 01c11a0.
// md5: pytorch/vision, torchvision/datasets/mnist.py at 01977a1.
// The original home often refuses, hence the mirrors, which those two projects use.
// Licence: the documentation of keras.datasets.mnist.
DatasetRecord mnist() {
  const Texts bases = {"http://yann.lecun.com/exdb/mnist/",
                       "https://storage.googleapis.com/cvdf-datasets/mnist/",
                       "https://ossci-datasets.s3.amazonaws.com/mnist/"};
  DatasetRecord record = idx_dataset();
  record.name = "mnist";
  record.title = "handwritten digits";
  record.load = load_mnist_data;
  record.verify = verify_mnist;
  record.show = show_mnist;
  record.remote = fetch::RemoteDataset{
      .licence = "CC BY-SA 3.0, copyright Yann LeCun and Corinna Cortes",
      .homepage = "http://yann.lecun.com/exdb/mnist/",
      .files =
          {idx_file(bases, "train-images-idx3-ubyte.gz",
                    {.bytes = 9912422,
                     .sha256 = "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                     .md5 = "f68b3c2dcbeaaa9fbdd348bbdeb94873"}),
           idx_file(bases, "train-labels-idx1-ubyte.gz",
                    {.bytes = 28881,
                     .sha256 = "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                     .md5 = "d53e105ee54ea40749a09fcbcd1e9432"}),
           idx_file(bases, "t10k-images-idx3-ubyte.gz",
                    {.bytes = 1648877,
                     .sha256 = "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                     .md5 = "9fb629c4189551a2d022fa330f9573f3"}),
           idx_file(bases, "t10k-labels-idx1-ubyte.gz",
                    {.bytes = 4542,
                     .sha256 = "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                     .md5 = "ec29112dd5afa0611ce80d1b7f02629c"})},
  };
  return record;
}

// md5: the publisher's README (zalandoresearch/fashion-mnist at 02cf067), which also says that the
// repository holds the files under data/fashion.
// Sizes and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/fashion_mnist.txt at
// 333639b. The same sha256: pytorch/vision, torchvision/prototype/datasets/_builtin/mnist.py at
// 01c11a0; and Debian's dataset-fashion-mnist (the same streams without name and
// time in their gzip headers) has them once name and time are put back.
DatasetRecord fashion_mnist() {
  const Texts bases = {
      "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
      "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"};
  DatasetRecord record = idx_dataset();
  record.name = "fashion_mnist";
  record.title = "articles of clothing";
  record.class_names = fashion_mnist_names();
  record.load = load_fashion_mnist_data;
  record.verify = verify_fashion_mnist;
  record.show = show_fashion_mnist;
  record.remote = fetch::RemoteDataset{
      .licence = "MIT, copyright Zalando SE",
      .homepage = "https://github.com/zalandoresearch/fashion-mnist",
      .files =
          {idx_file(bases, "train-images-idx3-ubyte.gz",
                    {.bytes = 26421880,
                     .sha256 = "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                     .md5 = "8d4fb7e6c68d591d4c3dfef9ec88bf0d"}),
           idx_file(bases, "train-labels-idx1-ubyte.gz",
                    {.bytes = 29515,
                     .sha256 = "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                     .md5 = "25c81989df183df01b3e8a0aad5dffbe"}),
           idx_file(bases, "t10k-images-idx3-ubyte.gz",
                    {.bytes = 4422102,
                     .sha256 = "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                     .md5 = "bef4ecab320f06d8554ea6380940ec79"}),
           idx_file(bases, "t10k-labels-idx1-ubyte.gz",
                    {.bytes = 5148,
                     .sha256 = "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
                     .md5 = "bb300cfdad3c16e7a12a480ee83cd310"})},
      .packaged = kFashionMnistDirectory};
  return record;
}

}  // namespace pando::datasets
