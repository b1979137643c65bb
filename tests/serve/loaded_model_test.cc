#include "pando/serve/loaded_model.h"

#include <gtest/gtest.h>

#include "pando/app/run/example_files.h"
#include "pando/data/image/jpeg.h"
#include "pando/data/image/png.h"
#include "pando/serve/batcher.h"
#include "tests/serve/small_models.h"
#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

// The means of the channels of a 4x4 picture.
Model mean_model(ServedInput input, PicturePreparation::Fit fit = PicturePreparation::Fit::crop) {
  Model model(Sequential({4, 4, 3}, {GlobalAveragePooling2D()}), {.name = "means"});
  model.set_facts({.labels = {"red", "green", "blue"},
                   .pictures = PicturePreparation{.height = 4,
                                                  .width = 4,
                                                  .fit = fit,
                                                  .short_side = 4,
                                                  .scale = 1.0 / 255,
                                                  .mean = {0.5},
                                                  .std = {0.5}},
                   .origin = {},
                   .serving = ServingFacts{.input = input}});
  return model;
}

struct Means {
  explicit Means(ServedInput input) {
    save_model(mean_model(input), folder.path("m.onnx"));
    model = LoadedModel::load(folder.path("m.onnx"), {.name = "m", .version = 3, .workers = 1});
  }
  TempFolder folder;
  std::shared_ptr<LoadedModel> model;
};

Image one_colour(const ImageSize& size) {
  Image image(size);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    image.pixels[i] = 255;
    image.pixels[i + 1] = 51;
    image.pixels[i + 2] = 0;
  }
  return image;
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

InferRequest picture_request(const Means& means, std::vector<std::string> pictures) {
  InferRequest request{.servable = means.model};
  const auto kept = std::make_shared<const std::vector<std::string>>(std::move(pictures));
  request.owner = kept;
  InputTensor tensor{.type = ElementType::bytes, .shape = {std::ssize(*kept)}};
  for (const std::string& picture : *kept) tensor.elements.push_back(picture);
  request.inputs.push_back(std::move(tensor));
  return request;
}

float first_value(const std::byte* row, size_t channel) {
  return reinterpret_cast<const float*>(row)[channel];
}

TEST(LoadedModel, SignatureFollowsTheKindOfInput) {
  const Means images(ServedInput::images);
  EXPECT_EQ(images.model->version(), 3);
  EXPECT_EQ(images.model->inputs()[0].type, ElementType::bytes);
  EXPECT_EQ(images.model->inputs()[0].shape, (std::vector<int64_t>{-1}));
  EXPECT_EQ(images.model->facts().labels[1], "green");
  EXPECT_GT(images.model->warm_seconds_per_sample(), 0);
  const Means pixels(ServedInput::pixels);
  EXPECT_EQ(pixels.model->inputs()[0].type, ElementType::u8);
  EXPECT_EQ(pixels.model->inputs()[0].shape, (std::vector<int64_t>{-1, 4, 4, 3}));
  const Means tensors(ServedInput::tensors);
  EXPECT_EQ(tensors.model->inputs()[0].type, ElementType::f32);
}

TEST(LoadedModel, PreparesPicturesAsValidationDoes) {
  const Means means(ServedInput::tensors);  // pictures are taken by every model that knows how
  const std::string png = text_of(encode_png(one_colour({9, 6}).view()));
  const InferRequest request = picture_request(means, {png, png});
  ASSERT_EQ(*means.model->check(request), 2);
  std::vector<std::byte> scratch;
  const std::byte* rows = means.model->rows(request, 0, {.first = 1, .count = 1}, scratch);
  EXPECT_FLOAT_EQ(first_value(rows, 0), 1);
  EXPECT_NEAR(first_value(rows, 1), -0.6f, 1e-6);
  EXPECT_FLOAT_EQ(first_value(rows, 2), -1);
}

TEST(LoadedModel, MapsPixelsLikePictures) {
  const Means means(ServedInput::pixels);
  const Image image = one_colour({4, 4});
  InferRequest request{.servable = means.model};
  request.inputs.push_back({.name = "",
                            .type = ElementType::u8,
                            .shape = {1, 4, 4, 3},
                            .data = std::as_bytes(std::span(image.pixels)),
                            .elements = {}});
  ASSERT_EQ(*means.model->check(request), 1);
  std::vector<std::byte> scratch;
  const std::byte* rows = means.model->rows(request, 0, {.first = 0, .count = 1}, scratch);
  const InferRequest same = picture_request(means, {text_of(encode_png(image.view()))});
  std::vector<std::byte> other;
  const std::byte* expected = means.model->rows(same, 0, {.first = 0, .count = 1}, other);
  EXPECT_EQ(std::memcmp(rows, expected, 4 * 4 * 3 * sizeof(float)), 0);
}

TEST(LoadedModel, PicturesThatCannotBeReadAreNamed) {
  const Means means(ServedInput::images);
  const std::string png = text_of(encode_png(one_colour({9, 6}).view()));
  const InferRequest request = picture_request(means, {png, png.substr(0, 40)});
  std::vector<std::byte> scratch;
  EXPECT_SAYS(
      error_of<IoError>([&] { means.model->rows(request, 0, {.first = 0, .count = 2}, scratch); }),
      "picture 1");
  InferRequest few = picture_request(means, {png});
  few.inputs[0].shape = {2};
  EXPECT_SAYS(means.model->check(few).status().message, "2 pictures", "got 1");
}

TEST(LoadedModel, AServerAnswersForPictures) {
  const TempFolder folder;
  write_version(folder.path(), 1, mean_model(ServedInput::images));
  ModelServer server(config_of(folder.path()));
  ASSERT_TRUE(server.await_ready(std::chrono::seconds(60)));
  const auto model = *server.find({.name = "m"});
  const std::string jpeg = text_of(encode_jpeg(one_colour({16, 16}).view(), {}));
  InferRequest request{.servable = model};
  request.inputs.push_back({.name = "",
                            .type = ElementType::bytes,
                            .shape = {3},
                            .data = {},
                            .elements = {jpeg, jpeg, jpeg}});
  const auto response = server.infer(request);
  ASSERT_TRUE(response) << response.status().message;
  const std::vector<float> means = numbers_of(*response);
  ASSERT_EQ(means.size(), 9u);
  EXPECT_NEAR(means[3], 1, 0.05);
  EXPECT_NEAR(means[5], -1, 0.05);
  request.inputs[0].elements[1] = "no picture";
  const auto refused = server.infer(request);
  EXPECT_EQ(refused.status().code, Code::invalid_argument);
  EXPECT_SAYS(refused.status().message, "picture 1");
}

TEST(LoadedModel, HasTheExamplesOfItsVersion) {
  const TempFolder folder;
  write_version(folder.path(), 1, mean_model(ServedInput::images));
  const std::vector<uint8_t> png = encode_png(one_colour({4, 4}).view());
  app::write_examples(folder.path("1"), {{"0-red.png", png}});
  ModelServer server(config_of(folder.path()));
  ASSERT_TRUE(server.await_ready(std::chrono::seconds(60)));
  const auto model = *server.find({.name = "m"});
  ASSERT_EQ(model->examples().size(), 1u);
  EXPECT_EQ(model->examples()[0].name, "0-red.png");
  EXPECT_EQ(model->examples()[0].bytes, png);
}

TEST(LoadedModel, APreparationForAnotherNetworkIsIgnored) {
  const TempFolder folder;
  Model model = mean_model(ServedInput::images);
  ModelFacts facts = model.facts();
  facts.pictures->height = 5;
  facts.pictures->short_side = 5;
  model.set_facts(facts);
  save_model(model, folder.path("m.onnx"));
  const auto loaded = LoadedModel::load(folder.path("m.onnx"), {.name = "m", .workers = 1});
  EXPECT_EQ(loaded->inputs()[0].type, ElementType::f32);
}

TEST(LoadedModel, OutputsAreReturnedInTheOrderOfTheRequest) {
  const TempFolder folder;
  const SymbolicTensor x = Input({2}, {.name = "x"});
  const Model model(Network(std::vector<SymbolicTensor>{x},
                            std::vector<SymbolicTensor>{Dense({.units = 2, .name = "a"})(x),
                                                        Dense({.units = 3, .name = "b"})(x)}));
  save_model(model, folder.path("m.onnx"));
  const auto loaded = LoadedModel::load(folder.path("m.onnx"), {.name = "m", .workers = 1});
  const std::string second = loaded->outputs()[1].name;
  EXPECT_EQ(loaded->wanted_outputs({.servable = loaded, .inputs = {}, .outputs = {second}}),
            (std::vector<size_t>{1}));
  EXPECT_EQ(loaded->wanted_outputs({.servable = loaded}), (std::vector<size_t>{0, 1}));
}

}  // namespace
}  // namespace pando::serve
