// The table of data sets: every record is whole, and names lead to records.
// SPDX-License-Identifier: MIT
#include "pando/datasets/all_datasets.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

TEST(AllDatasets, HaveDifferentNamesAndAllTools) {
  std::set<std::string> names;
  for (const DatasetRecord& record : all_datasets()) {
    SCOPED_TRACE(record.name);
    EXPECT_TRUE(names.insert(record.name).second);
    EXPECT_FALSE(record.title.empty());
    EXPECT_NE(record.verify, nullptr);
    EXPECT_NE(record.pipeline, nullptr);
    EXPECT_NE(record.show, nullptr);
    EXPECT_EQ(&dataset_record(record.name), &record);
  }
}

TEST(AllDatasets, SayWhereFilesComeFrom) {
  for (const DatasetRecord& record : all_datasets()) {
    SCOPED_TRACE(record.name);
    EXPECT_FALSE(record.remote && !record.how.empty()) << "two ways to get it";
    const bool has_to_be_named = record.load != nullptr && !record.files.empty() && !record.remote;
    EXPECT_EQ(record.path_help.empty(), !has_to_be_named);
  }
}

TEST(AllDatasets, CountTheirClasses) {
  for (const DatasetRecord& record : all_datasets()) {
    SCOPED_TRACE(record.name);
    if (!record.class_names.empty()) {
      EXPECT_EQ(std::ssize(record.class_names), record.classes);
    }
  }
  EXPECT_EQ(dataset_record("fashion_mnist").class_names.at(9), "Ankle boot");
  EXPECT_EQ(dataset_record("cifar10").class_names.at(9), "truck");
  EXPECT_TRUE(dataset_record("mnist").class_names.empty());
  EXPECT_EQ(dataset_record("cosmoflow").classes, std::nullopt);  // its labels are numbers
}

TEST(AllDatasets, ShapesAsUsersReadThem) {
  EXPECT_EQ(shape_text(dataset_record("mnist")), "28x28x1");
  EXPECT_EQ(shape_text(dataset_record("cosmoflow")), "128x128x128x4");
  EXPECT_EQ(shape_text(dataset_record("imagenet")), "any x any x3");
  EXPECT_EQ(shape_text(dataset_record("tfrecord")), "");
}

TEST(AllDatasets, TheOnesForTraining) {
  EXPECT_EQ(join(trainable_datasets(), " "),
            "fashion_mnist mnist cifar10 cifar100 imagenet cosmoflow image_folder numpy");
  EXPECT_EQ(join(datasets_with_views(), " "), "imagenet image_folder");
}

TEST(AllDatasets, HaveThoseOfTheZoo) {
  for (const ZooEntry& entry : model_zoo()) {
    EXPECT_NO_THROW(dataset_record(entry.dataset)) << entry.name;
  }
}

TEST(AllDatasets, OfferTheNearestName) {
  EXPECT_SAYS(error_of([] { dataset_record("cifar1o"); }), "'cifar1o'", "'cifar10'");
}

}  // namespace
}  // namespace pando
