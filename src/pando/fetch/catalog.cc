// SPDX-License-Identifier: MIT
#include "pando/fetch/catalog.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/data/sources/imagenet/imagenet.h"

namespace pando::fetch {

namespace {

constexpr int64_t kMostText = 65536;  // largest size of a readme or a list of names

using Texts = std::vector<std::string>;

RemoteFile idx_file(const Texts& bases, const std::string& name, RemoteFile file) {
  file.name = name;
  for (const std::string& base : bases) file.addresses.push_back(base + name);
  return file;
}

// Sizes and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/mnist.txt at 31f1255.
// The same sha256: pytorch/vision, torchvision/prototype/datasets/_builtin/mnist.py at 01c11a0.
// md5: pytorch/vision, torchvision/datasets/mnist.py at 01977a1.
// The original home often refuses, hence the mirrors, which those two projects use.
// Licence: the documentation of keras.datasets.mnist.
DatasetEntry mnist() {
  const Texts bases = {"http://yann.lecun.com/exdb/mnist/",
                       "https://storage.googleapis.com/cvdf-datasets/mnist/",
                       "https://ossci-datasets.s3.amazonaws.com/mnist/"};
  return {
      .name = "mnist",
      .title = "handwritten digits",
      .licence = "CC BY-SA 3.0, copyright Yann LeCun and Corinna Cortes",
      .homepage = "http://yann.lecun.com/exdb/mnist/",
      .train = 60000,
      .test = 10000,
      .shape = "28x28x1",
      .classes = 10,
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
}

// md5: the publisher's README (zalandoresearch/fashion-mnist at 02cf067), which also says that the
// repository holds the files under data/fashion.
// Sizes and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/fashion_mnist.txt at
// 333639b. The same sha256: pytorch/vision, torchvision/prototype/datasets/_builtin/mnist.py at
// 01c11a0; and Debian's dataset-fashion-mnist (the same streams without name and
// time in their gzip headers) has them once name and time are put back.
DatasetEntry fashion_mnist() {
  const Texts bases = {
      "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
      "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"};
  return {
      .name = "fashion_mnist",
      .title = "articles of clothing",
      .licence = "MIT, copyright Zalando SE",
      .homepage = "https://github.com/zalandoresearch/fashion-mnist",
      .train = 60000,
      .test = 10000,
      .shape = "28x28x1",
      .classes = 10,
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
  };
}

// md5, and 30,730,000 bytes for each batch: the publisher's page, cs.toronto.edu/~kriz/cifar.html.
// Size and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/cifar10.txt at 333639b.
// The same sha256: JuliaML/MLDatasets.jl, src/CIFAR10/CIFAR10.jl at 01fcb3b.
DatasetEntry cifar10() {
  RemoteFile archive = {
      .name = "cifar-10-binary.tar.gz",
      .addresses = {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
      .bytes = 170052171,
      .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
      .md5 = "c32a1d4ab5d03f1284b67883e8d87530"};
  const std::string folder = "cifar-10-batches-bin";
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    archive.contents.push_back({.path = folder + "/" + name, .bytes = 30730000});
  }
  for (const char* name : {"batches.meta.txt", "readme.html"}) {
    archive.contents.push_back({.path = folder + "/" + name, .bytes = kMostText, .optional = true});
  }
  return {.name = "cifar10",
          .title = "small colour photographs",
          .licence = "none stated; its authors ask to cite their report of 2009",
          .homepage = "https://www.cs.toronto.edu/~kriz/cifar.html",
          .train = 50000,
          .test = 10000,
          .shape = "32x32x3",
          .classes = 10,
          .files = {archive},
          .subfolder = folder};
}

// Size and sha256: tensorflow/datasets, tensorflow_datasets/url_checksums/cifar100.txt at 333639b.
// The same sha256: JuliaML/MLDatasets.jl, src/CIFAR100/CIFAR100.jl at 01fcb3b.
// md5: mindcv (MindSpore), the class Cifar100Download, beside the md5 of CIFAR-10 that the
// publisher gives. The sizes of the two files follow from the format on the publisher's page: two
// labels and 3,072 bytes for each of 50,000 and 10,000 images.
DatasetEntry cifar100() {
  const std::string folder = "cifar-100-binary";
  return {.name = "cifar100",
          .title = "small colour photographs in 20 groups of classes",
          .licence = "none stated; its authors ask to cite their report of 2009",
          .homepage = "https://www.cs.toronto.edu/~kriz/cifar.html",
          .train = 50000,
          .test = 10000,
          .shape = "32x32x3",
          .classes = 100,
          .files = {{.name = "cifar-100-binary.tar.gz",
                     .addresses = {"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"},
                     .bytes = 168513733,
                     .sha256 = "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                     .md5 = "03b5dce01913d631647c71ecec9e9cb8",
                     .contents = {{.path = folder + "/train.bin", .bytes = 50000 * 3074},
                                  {.path = folder + "/test.bin", .bytes = 10000 * 3074},
                                  {.path = folder + "/fine_label_names.txt",
                                   .bytes = kMostText,
                                   .optional = true},
                                  {.path = folder + "/coarse_label_names.txt",
                                   .bytes = kMostText,
                                   .optional = true}}}},
          .subfolder = folder};
}

}  // namespace

const std::vector<DatasetEntry>& catalog() {
  static const std::vector<DatasetEntry> entries = {mnist(), fashion_mnist(), cifar10(),
                                                    cifar100()};
  return entries;
}

const std::vector<OwnDataset>& own_datasets() {
  static const std::vector<OwnDataset> sets = {
      {.name = "imagenet",
       .title = "ILSVRC 2012, photographs of 1,000 kinds of things",
       .train = kImagenetTrain,
       .test = kImagenetValidation,
       .shape = "any x any x3",
       .classes = kImagenetClasses,
       .how = "register at https://www.image-net.org, then pando data build-imagenet SOURCE DIR; "
              "or make a small one: pando data make-imagenet DIR"},
      {.name = "cosmoflow",
       .title = "simulated universes with four parameters each",
       .train = 524288,
       .test = 65536,
       .shape = "128x128x128x4",
       .how = "get cosmoUniverse_2019_05_4parE_tf_v2 of MLPerf HPC "
              "(https://github.com/mlcommons/hpc), or make a small one: pando data "
              "make-cosmoflow DIR"},
      {.name = "image_folder",
       .title = "your own JPEG and PNG images",
       .shape = "any x any x3",
       .how =
           "make a folder of images for each class; to train, make two such sets, in the folders "
           "train and validation"},
  };
  return sets;
}

const DatasetEntry& entry(const std::string& name) {
  const auto found = std::ranges::find(catalog(), name, &DatasetEntry::name);
  if (found != catalog().end()) return *found;
  const auto own = std::ranges::find(own_datasets(), name, &OwnDataset::name);
  if (own != own_datasets().end()) {
    throw InvalidArgument("data set '", name, "' cannot be fetched: ", own->how);
  }
  std::vector<std::string> known;
  for (const DatasetEntry& one : catalog()) known.push_back(one.name);
  throw InvalidArgument(unknown_name_message("data set", name, known));
}

int64_t download_bytes(const DatasetEntry& entry) {
  int64_t bytes = 0;
  for (const RemoteFile& file : entry.files) bytes += file.bytes;
  return bytes;
}

}  // namespace pando::fetch
