#include "pando/app/run/example_pictures.h"

#include <set>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/data/image/image.h"
#include "pando/options/usage_error.h"
#include "tests/app/mnist_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

const std::vector<std::string> kDigits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

struct ExamplePictures : testing::Test {
  ExamplePictures() {
    write_mnist(folder);
    data.dataset = "mnist";
    data.dataset_path = folder.path.string();
    facts.origin.task = "classification";
  }
  std::set<std::string> labels(int64_t count) const {
    std::set<std::string> found;
    for (const ExamplePicture& example : example_pictures(data, facts, count)) {
      EXPECT_TRUE(is_example_name(example.name)) << example.name;
      const size_t dash = example.name.find('-');
      found.insert(example.name.substr(dash + 1, example.name.find('.') - dash - 1));
    }
    return found;
  }

  TestFolder folder;
  DataFlags data;
  ModelFacts facts;
};

TEST_F(ExamplePictures, AreOfDifferentClasses) {
  EXPECT_EQ(labels(6).size(), 6u);
  EXPECT_EQ(labels(6), labels(6));
  facts.labels = kDigits;
  EXPECT_EQ(labels(6).size(), 6u);
}

TEST_F(ExamplePictures, HaveTheBytesOfTheFiles) {
  // The bar of its class is 200 bright, in two rows from 2 * label on; see mnist_folder.h.
  for (const ExamplePicture& example : example_pictures(data, facts, 4)) {
    const int64_t label = example.name[2] - '0';
    Image picture;
    ImageReader(example.bytes, example.name).read(picture);
    EXPECT_EQ(picture.size, (ImageSize{28, 28}));
    const int64_t values = picture.channels;
    EXPECT_EQ(picture.view().row(2 * label)[0], 200) << example.name;
    EXPECT_EQ(picture.view().row(2 * label + 1)[27 * values], 200) << example.name;
    EXPECT_LT(picture.view().row(27)[0], 64) << example.name;
  }
}

TEST_F(ExamplePictures, AreOfClassesThatTheNetworkKnows) {
  facts.labels = {"3", "8"};
  const std::set<std::string> found = labels(12);
  EXPECT_FALSE(found.empty());
  for (const std::string& label : found) EXPECT_TRUE(label == "3" || label == "8") << label;
  facts.labels = {"cat"};
  EXPECT_TRUE(labels(12).empty());
}

TEST_F(ExamplePictures, NeedTheData) {
  data.dataset_path = (folder.path / "nowhere").string();
  EXPECT_THROW(labels(3), Error);
  data.synthetic_data = SyntheticData::host;
  EXPECT_SAYS(error_of<UsageError>([&] { labels(3); }), "--examples", "synthetic");
}

}  // namespace
}  // namespace pando::app
