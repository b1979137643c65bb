#include "pando/train/other_sizes.h"

#include <algorithm>

#include "pando/base/memory_limit.h"
#include "pando/base/memory_use.h"
#include "pando/train/load_model.h"
#include "tests/onnx/made_models.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

Network enlarger(int64_t height, int64_t width) {
  return Sequential({height, width, 3},
                    {Conv2D({.filters = 8, .kernel = {3, 3}, .padding = "same", .name = "first"}),
                     ReLU(), UpSampling2D({.size = {2, 2}}),
                     Conv2D({.filters = 2, .kernel = {3, 3}, .padding = "same", .name = "last"})});
}

// A model of 8x8 pictures whose height and width are open; `made` gets the sizes it is asked for.
Model open_enlarger(std::vector<Shape>* made = nullptr) {
  Model model(enlarger(8, 8), {.seed = 3});
  model.set_open_sizes(
      {.axes = {{true, true, false}}, .network = [made](const std::vector<Shape>& inputs) {
         if (made != nullptr) made->push_back(inputs.at(0));
         return enlarger(inputs.at(0)[0], inputs.at(0)[1]);
       }});
  return model;
}

void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_TRUE(std::ranges::equal(a.f32(), b.f32()));
}

TEST(OtherSizes, AnswerAsAModelOfThatSizeDoes) {
  Model model = open_enlarger();
  for (const Shape& shape : {Shape{2, 8, 8, 3}, Shape{1, 5, 12, 3}, Shape{3, 20, 7, 3}}) {
    Model whole(enlarger(shape[1], shape[2]), {.seed = 3});
    const Tensor x = random_tensor(shape, 5);
    expect_same(model.predict(x), whole.predict(x));
  }
  EXPECT_EQ(model.network().inputs()[0].shape, (Shape{8, 8, 3}));
}

TEST(OtherSizes, UseTheWeightsThatTheModelHasNow) {
  Model model = open_enlarger();
  const Tensor x = random_tensor({1, 9, 9, 3}, 5);
  const Tensor before = model.predict(x);
  Model other(enlarger(9, 9), {.seed = 4});
  model.set_weights(other.get_weights());
  EXPECT_GT(difference(before, model.predict(x)).absolute, 1e-3);
  expect_same(model.predict(x), other.predict(x));
  model.compile({.loss = "mse"});
  model.fit(random_tensor({4, 8, 8, 3}, 1), random_tensor({4, 16, 16, 2}, 2), {.verbose = 0});
  other.set_weights(model.get_weights());
  expect_same(model.predict(x), other.predict(x));
}

TEST(OtherSizes, OnlyThoseUsedLastAreKept) {
  std::vector<Shape> made;
  Model model = open_enlarger(&made);
  const auto predict = [&](int64_t side) { model.predict(random_tensor({1, side, side, 3}, 5)); };
  predict(8);
  EXPECT_EQ(made.size(), 0u);
  for (const int64_t side : {9, 10, 11, 12, 9, 12}) predict(side);
  EXPECT_EQ(made.size(), train::OtherSizes::kMost);
  predict(13);  // 10 was not used for longest
  for (const int64_t side : {9, 11, 12, 13}) predict(side);
  EXPECT_EQ(made.size(), 5u);
  predict(10);
  EXPECT_EQ(made.size(), 6u);
}

TEST(OtherSizes, MakeRoomForEachOther) {
  Model model = open_enlarger();
  const auto x = [](int64_t side) { return Tensor(DType::f32, {1, side, side, 3}); };
  constexpr int64_t kSide = 512;
  const Tensor first = x(kSide);
  const Tensor second = x(kSide + 1);
  model.predict(first, 1);
  const int64_t need = model
                           .memory_of({.mode = RunMode::predict,
                                       .batch_size = 1,
                                       .fields = Dataset::from_tensors(second).fields()})
                           .to_come();
  set_memory_limit(memory_use().resident + need * 3 / 4);
  EXPECT_NO_THROW(model.predict(second, 1));
  EXPECT_THROW(model.predict(x(4 * kSide), 1), OverMemoryLimit);
  set_memory_limit(0);
}

TEST(OtherSizes, OtherAxesAndOtherWeightsAreRefused) {
  Model model = open_enlarger();
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                model.predict(Tensor(DType::f32, {1, 9, 9, 4}));
              }),
              "[9,9,4]", "[8,8,3]");
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                model.predict(Tensor(DType::f32, {1, 9, 3}));
              }),
              "[9,3]");
  model.set_open_sizes({});
  EXPECT_THROW(model.predict(Tensor(DType::f32, {1, 9, 9, 3})), InvalidArgument);
  const auto flat = [](int64_t side) {
    return Sequential({side, side, 1}, {Flatten(), Dense({.units = 2, .name = "last"})});
  };
  Model fixed(flat(4));
  fixed.set_open_sizes(
      {.axes = {{true, true, false}},
       .network = [&](const std::vector<Shape>& inputs) { return flat(inputs[0][0]); }});
  EXPECT_SAYS(error_of<InvalidArgument>([&] {
                fixed.predict(Tensor(DType::f32, {1, 5, 5, 1}));
              }),
              "last/kernel", "load the file");
}

std::string write_file(const testing_support::TempFolder& folder, const onnx::ModelProto& file) {
  const std::vector<uint8_t> bytes = onnx::to_bytes(file);
  folder.write("open.onnx", bytes);
  return folder.path("open.onnx");
}

// The file that save_onnx() writes, with open height and width.
std::string write_open_onnx(const testing_support::TempFolder& folder, const Model& model) {
  save_model(model, folder.path("closed.onnx"));
  onnx::ModelProto file = onnx::read_model(folder.path("closed.onnx"));
  file.graph.inputs[0].shape[2] = {-1, "H"};
  file.graph.inputs[0].shape[3] = {-1, "W"};
  return write_file(folder, file);
}

TEST(OtherSizes, OfOnnxFilesNeedOneFile) {
  const testing_support::TempFolder folder;
  const Model source(
      Sequential({8, 8, 3}, {Conv2D({.filters = 8, .kernel = {3, 3}, .strides = {2, 2}}), ReLU(),
                             GlobalAveragePooling2D(), Dense({.units = 3})}),
      {.seed = 3});
  const std::string path = write_open_onnx(folder, source);
  EXPECT_SAYS(error_of<InvalidArgument>([&] { load_model(path); }), "axis 2", "free");
  EXPECT_EQ(load_model(path, {.usual_side = 24}).network().inputs()[0].shape, (Shape{24, 24, 3}));
  Model model = load_model(path, {.height = 8, .width = 8});
  EXPECT_EQ(model.open_sizes().axes, (std::vector<std::vector<bool>>{{true, true, false}}));
  folder.write_text("open.onnx", "gone");
  for (const auto& size : {std::pair<int64_t, int64_t>(8, 8), {17, 9}, {30, 12}}) {
    Model whole = [&] {
      write_open_onnx(folder, source);
      return load_model(path, {.height = size.first, .width = size.second});
    }();
    const Tensor x = random_tensor({2, size.first, size.second, 3}, 5);
    expect_same(model.predict(x), whole.predict(x));
  }
}

TEST(OtherSizes, OfOnnxFilesThatComputeConstantsFromThemAreRefused) {
  using onnx::node_of;
  const testing_support::TempFolder folder;
  // Adds its three extents to the three channels.
  const onnx::ModelProto file = onnx::model_with(
      {3, -1, -1},
      {node_of("Shape", {"x"}, "extents"), node_of("Slice", {"extents", "one", "four"}, "sample"),
       node_of("Cast", {"sample"}, "real", {onnx::whole_attribute("to", 1)}),
       node_of("Reshape", {"real", "column"}, "offsets"), node_of("Add", {"x", "offsets"}, "y")},
      {onnx::wholes("one", {1}), onnx::wholes("four", {4}), onnx::wholes("column", {3, 1, 1})});
  Model model = load_model(write_file(folder, file), {.height = 4, .width = 5});
  EXPECT_EQ(model.predict(Tensor(DType::f32, {1, 4, 5, 3})).f32()[2], 5);
  EXPECT_SAYS(error_of<Unsupported>([&] {
                model.predict(Tensor(DType::f32, {1, 4, 6, 3}));
              }),
              "computes it from the extents", "load the file");
}

TEST(OtherSizes, OfKerasFilesNeedOneFile) {
  const testing_support::TempFolder folder;
  save_model(open_enlarger(), folder.path("closed.json"));
  std::string text = folder.read("closed.json");
  const std::string closed = "[null,8,8,3]";
  for (size_t at = text.find(closed); at != std::string::npos; at = text.find(closed)) {
    text.replace(at, closed.size(), "[null,null,null,3]");
  }
  const std::string path = folder.write_text("open.json", text);
  EXPECT_SAYS(error_of<InvalidArgument>([&] { load_model(path); }), "leaves axis 1");
  EXPECT_EQ(load_model(path, {.usual_side = 24}).network().inputs()[0].shape, (Shape{24, 24, 3}));
  Model model = load_model(path, {.height = 8, .width = 8});
  for (const Shape& shape : {Shape{1, 8, 8, 3}, Shape{2, 5, 12, 3}}) {
    Model whole(enlarger(shape[1], shape[2]), {.seed = 3});
    const Tensor x = random_tensor(shape, 5);
    expect_same(model.predict(x), whole.predict(x));
  }
}

}  // namespace
}  // namespace pando
