#include "pando/data/sources/imagenet/inputs.h"

#include <algorithm>
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
  overwrite(source_ + "/imagenet_metadata.txt", "red disc\n");
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

TEST_F(ImagenetBuildTest, ValidationHasManyNamesAndSomeClasses) {
  fs::remove_all(source_ + "/validation");
  for (const char* name : {"test", "val", "validation"}) {  // the later ones come first
    SCOPED_TRACE(name);
    const std::string folder = source_ + "/" + name;
    fs::create_directories(folder + "/n90000003");
    fs::create_directories(folder + "/n90000001");  // empty
    fs::copy(image_, folder + "/n90000003/" + name + ".JPEG");
    overwrite(folder + "/n90000003/Thumbs.db", "clutter");
    const data::ImagenetInputs inputs = data::list_imagenet_inputs(source_, {}, 1);
    ASSERT_EQ(inputs.validation.size(), 1u);
    EXPECT_EQ(inputs.validation[0].path, folder + "/n90000003/" + name + ".JPEG");
    EXPECT_EQ(inputs.validation[0].label, 3);
  }
  fs::create_directories(source_ + "/validation/n1");
  overwrite(source_ + "/validation/n1/1.JPEG", "x");
  EXPECT_SAYS(build_error(), "'n1'", "5 classes");
}

// The layout of https://www.kaggle.com/c/imagenet-object-localization-challenge
class KaggleTest : public ImagenetBuildTest {
 protected:
  KaggleTest() {
    first_ = data::list_imagenet_inputs(source_, {}, 1);
    const std::string labels = folder_.read("ilsvrc/imagenet_2012_validation_synset_labels.txt");
    std::string solution = "ImageId,PredictionString\n";
    const std::vector<std::string> synsets = split(trim(labels), '\n');
    for (size_t i = synsets.size(); i > 0; --i) {  // in any order
      solution += concat("ILSVRC2012_val_000000", i < 10 ? "0" : "", i, ",", synsets[i - 1],
                         " 85 1 499 272 ", synsets[i - 1], " 1 2 3 4 \n");
    }
    overwrite(source_ + "/LOC_val_solution.csv", solution);
    std::string mapping;
    for (int i = 0; i < 5; ++i) mapping += concat("n9000000", i, " thing ", i, ", or so\n");
    overwrite(source_ + "/LOC_synset_mapping.txt", mapping);
    const std::string images = source_ + "/ILSVRC/Data/CLS-LOC";
    fs::create_directories(images);
    fs::rename(source_ + "/train", images + "/train");
    fs::rename(source_ + "/validation", images + "/val");
    image_ = images + "/train/n90000002/" + fs::path(image_).filename().string();
    const std::string boxes = source_ + "/ILSVRC/Annotations/CLS-LOC/";
    fs::create_directories(boxes + "train/n90000002");
    overwrite(boxes + "train/n90000002/" + fs::path(image_).stem().string() + ".xml",
              "<size><width>100</width><height>50</height></size><bndbox><xmin>10</xmin>"
              "<ymin>5</ymin><xmax>50</xmax><ymax>25</ymax></bndbox>");
    for (const char* name :
         {"synset_labels.txt", "imagenet_metadata.txt", "imagenet_2012_bounding_boxes.csv",
          "imagenet_2012_validation_synset_labels.txt"}) {
      fs::remove(source_ + "/" + name);
    }
  }

  data::ImagenetInputs first_;  // the same images in the other layout
};

TEST_F(KaggleTest, IsReadAsItIsUnpacked) {
  for (const std::string& source : {source_, source_ + "/ILSVRC/Data/CLS-LOC"}) {
    SCOPED_TRACE(source);
    EXPECT_EQ(data::list_imagenet_inputs(source + "/", {}, 1).classes[2].text, "thing 2, or so");
    const data::ImagenetInputs inputs = data::list_imagenet_inputs(source, {}, 2);
    ASSERT_EQ(inputs.classes.size(), 5u);
    EXPECT_EQ(inputs.classes[2].synset, "n90000002");
    EXPECT_EQ(inputs.classes[2].text, "thing 2, or so");
    EXPECT_EQ(inputs.train.size(), 20u);
    ASSERT_EQ(inputs.validation.size(), first_.validation.size());
    for (size_t i = 0; i < inputs.validation.size(); ++i) {
      EXPECT_EQ(inputs.validation[i].label, first_.validation[i].label);
    }
    const auto boxed = std::ranges::find(inputs.train, image_, &data::ImagenetInput::path);
    ASSERT_NE(boxed, inputs.train.end());
    ASSERT_EQ(boxed->objects.size(), 1u);
    EXPECT_FLOAT_EQ(boxed->objects[0].x_max, 0.5f);
  }
  EXPECT_TRUE(build().finished);
  EXPECT_SAYS(folder_.read("out/labels.txt"), "n90000004\tthing 4, or so\n");
}

TEST_F(KaggleTest, ListsThatDoNotFit) {
  const std::string path = source_ + "/LOC_val_solution.csv";
  overwrite(path, "ImageId,PredictionString\nILSVRC2012_val_00000001,n90000001 1 2 3 4\n");
  EXPECT_SAYS(build_error(), path, "ILSVRC2012_val_00000002");
  overwrite(path, "ImageId,PredictionString\nILSVRC2012_val_00000001\n");
  EXPECT_SAYS(build_error(), path, "line 2", "comma");
  fs::remove(path);
  EXPECT_SAYS(build_error(), "CLS-LOC/val", "--validation-labels", "LOC_val_solution.csv");
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
