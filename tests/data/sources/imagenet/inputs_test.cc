#include "pando/data/sources/imagenet/inputs.h"

#include <set>

#include "tests/data/imagenet_build_case.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

TEST_F(ImagenetBuildTest, ValidationInFoldersOfSynsets) {
  fs::remove_all(source_ + "/validation");
  fs::copy(source_ + "/train", source_ + "/validation", fs::copy_options::recursive);
  const ImagenetBuildReport report = build();
  EXPECT_EQ(report.validation, 20);
  for (const Bytes& payload : payloads_in(folder_.path("out/validation-00000-of-00002"))) {
    const Example example(payload);
    EXPECT_TRUE(example.text("image/filename").starts_with(example.text("image/class/synset")));
  }
}

TEST_F(ImagenetBuildTest, SynsetsDecideAboutLabels) {
  fs::remove(source_ + "/imagenet_metadata.txt");
  options_.synsets =
      folder_.write_text("synsets", "n90000004\nn90000003\nn90000002\r\nn90000001\nn90000000\n");
  options_.metadata = folder_.write_text("metadata", "n90000004\tthe fifth\nn1\tunknown\n");
  build();
  EXPECT_EQ(folder_.read("out/labels.txt"),
            "n90000004\tthe fifth\nn90000003\tn90000003\nn90000002\tn90000002\n"
            "n90000001\tn90000001\nn90000000\tn90000000\n");
  const Bytes payload = payloads_in(folder_.path("out/train-00000-of-00004"))[0];
  const Example example(payload);
  const auto synset = example.text("image/class/synset");
  EXPECT_EQ(synset, concat("n9000000", 5 - example.integer("image/class/label")));
}

TEST_F(ImagenetBuildTest, WithoutFilesBesideTheImages) {
  for (const char* name :
       {"synset_labels.txt", "imagenet_metadata.txt", "imagenet_2012_bounding_boxes.csv"}) {
    fs::remove(source_ + "/" + name);
  }
  EXPECT_TRUE(build().finished);
  EXPECT_SAYS(folder_.read("out/labels.txt"), "n90000001\tn90000001\n");
  const Bytes payload = payloads_in(folder_.path("out/train-00000-of-00004"))[0];
  const Example example(payload);
  EXPECT_TRUE(example.floats("image/object/bbox/xmin").empty());
}

TEST_F(ImagenetBuildTest, InputsThatDoNotFitTogether) {
  const std::string synsets = source_ + "/synset_labels.txt";
  const std::string good = folder_.read("ilsvrc/synset_labels.txt");
  overwrite(synsets, good.substr(10));
  EXPECT_SAYS(build_error(), "synset", "'n90000000'", "4 classes", synsets);
  overwrite(synsets, good + "n90000009\n");
  EXPECT_SAYS(build_error(), "train/n90000009", "class");
  overwrite(synsets, good + "n90000000\n");
  EXPECT_SAYS(build_error(), "synset", "'n90000000'", "twice");
  overwrite(synsets, "\n" + good);
  EXPECT_SAYS(build_error(), "line 1", "empty", "synset");
  overwrite(synsets, "\n");
  EXPECT_SAYS(build_error(), "synset_labels.txt", "at least one line");
  overwrite(synsets, good);
  overwrite(source_ + "/imagenet_metadata.txt", "n90000000 red disc\n");
  EXPECT_SAYS(build_error(), "synset", "tab", "text");
  fs::remove(source_ + "/imagenet_metadata.txt");
  options_.bounding_boxes = folder_.path("absent");
  EXPECT_SAYS(build_error(), "absent");
}

TEST_F(ImagenetBuildTest, ValidationLabelsThatDoNotFit) {
  const std::string path = source_ + "/imagenet_2012_validation_synset_labels.txt";
  const std::string good = folder_.read("ilsvrc/imagenet_2012_validation_synset_labels.txt");
  overwrite(path, good + "n90000000\n");
  EXPECT_SAYS(build_error(), "11 lines", "10");
  overwrite(path, good.substr(0, 90) + "n1\n");
  EXPECT_SAYS(build_error(), "synset_labels.txt", "line 10", "'n1'", "5 classes");
  fs::remove(path);
  EXPECT_SAYS(build_error(), "synset", "--validation-labels");
  fs::remove_all(source_ + "/validation");
  EXPECT_SAYS(build_error(), "validation");
  fs::create_directories(source_ + "/validation");
  EXPECT_SAYS(build_error(), "validation: ", "image");
  fs::remove_all(source_ + "/train");
  EXPECT_SAYS(build_error(), "train");
  fs::create_directories(source_ + "/train");
  EXPECT_SAYS(build_error(), "synset");
}

TEST_F(ImagenetBuildTest, FingerprintSeesEveryInput) {
  const data::ImagenetInputs inputs = data::list_imagenet_inputs(source_, {}, 2);
  std::set<uint64_t> prints = {fingerprint(inputs)};
  const auto changed = [&](const auto& change) {
    data::ImagenetInputs other = inputs;
    change(other);
    return prints.insert(fingerprint(other)).second;
  };
  EXPECT_FALSE(changed([](data::ImagenetInputs&) {}));
  EXPECT_TRUE(changed([](auto& i) { i.classes[1].text = "x"; }));
  EXPECT_TRUE(changed([](auto& i) { i.classes[1].synset = "x"; }));
  EXPECT_TRUE(changed([](auto& i) { i.train[3].path += "x"; }));
  EXPECT_TRUE(changed([](auto& i) { ++i.train[3].label; }));
  EXPECT_TRUE(changed([](auto& i) { ++i.train[3].bytes; }));
  EXPECT_TRUE(changed([](auto& i) { ++i.train[3].changed_ns; }));
  EXPECT_TRUE(changed([](auto& i) { i.train[3].objects.clear(); }));
  EXPECT_TRUE(changed([](auto& i) { i.validation.pop_back(); }));
}

}  // namespace
}  // namespace pando
