// Random networks of our layers, exported with random opsets: python3-onnx accepts them, and ONNX
// Runtime gives our results. So does OpenCV for two networks of the zoo.
// SPDX-License-Identifier: MIT
#include <random>

#include "pando/base/error.h"
#include "pando/nn/layers.h"
#include "pando/onnx/importer_impl.h"
#include "pando/train/onnx_model.h"
#include "pando/zoo/zoo.h"
#include "tests/onnx/imported_model.h"
#include "tests/onnx/onnx_runtime.h"
#include "tests/support/temp_folder.h"

namespace pando::onnx {
namespace {

struct Made {
  SymbolicTensor tensor;
  Shape shape;
};

// Adds layers to what is there; layers that do not fit a shape are left out.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint32_t seed) : random_(seed) {
    const int64_t inputs = between(1, 3);
    const int64_t height = between(6, 15), width = between(6, 15), channels = between(1, 6);
    for (int64_t i = 0; i < inputs; ++i) {
      const Shape shape = {height, width, i > 0 && chance(2) ? between(1, 6) : channels};
      inputs_.push_back(Input(shape, {.name = concat("in", i)}));
      values_.push_back({inputs_.back(), shape});
      pending_.push_back(values_.size() - 1);
    }
  }

  Network build() {
    const int64_t steps = between(4, 11);
    for (int64_t i = 0; i < steps; ++i) add_layer(pick());
    while (pending_.size() > 1 && !(pending_.size() <= 3 && chance(3))) join();
    std::vector<SymbolicTensor> outputs;
    for (const size_t i : pending_) outputs.push_back(headed(values_[i]).tensor);
    return Network(inputs_, outputs);
  }

 private:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool chance(int64_t of) { return between(1, of) == 1; }
  template <typename T>
  T one_of(std::vector<T> list) {
    return list[static_cast<size_t>(between(0, std::ssize(list) - 1))];
  }
  // Mostly what nothing has read yet.
  size_t pick() {
    if (chance(4)) return static_cast<size_t>(between(0, std::ssize(values_) - 1));
    return one_of(pending_);
  }

  Made after(const Layer& layer, const std::vector<Made>& from) {
    std::vector<SymbolicTensor> tensors;
    for (const Made& value : from) tensors.push_back(value.tensor);
    const SymbolicTensor y = layer(tensors);
    return {y, Network(inputs_of(tensors), {y}).outputs()[0].shape};
  }
  std::vector<SymbolicTensor> inputs_of(const std::vector<SymbolicTensor>&) { return inputs_; }

  void keep(Made made, const std::vector<size_t>& read) {
    if (made.shape.elements() > 20000) return;
    for (const size_t i : read) std::erase(pending_, i);
    values_.push_back(std::move(made));
    pending_.push_back(values_.size() - 1);
  }

  void add_layer(size_t i) {
    try {
      if (chance(12)) return add_attention(i);
      keep(after(chance(2) ? layer_with_weights(values_[i].shape) : plain_layer(values_[i].shape),
                 {values_[i]}),
           {i});
    } catch (const InvalidArgument&) {
    }
  }

  Layer layer_with_weights(const Shape& shape) {
    const int64_t channels = shape.back();
    const std::array<int64_t, 2> kernel = {between(1, 4), between(1, 4)};
    const std::array<int64_t, 2> strides = {between(1, 2), between(1, 2)};
    const std::array<int64_t, 2> dilation = {between(1, 2), between(1, 2)};
    const bool dilates = chance(3);
    const std::array<int64_t, 2> one = {1, 1};
    const std::string padding = one_of<std::string>({"valid", "same", "symmetric"});
    const std::string activation = one_of<std::string>({"", "relu", "tanh", "relu6", "swish"});
    switch (between(0, 9)) {
      case 0:
      case 1:
      case 2: {
        const int64_t groups = channels % 2 == 0 && chance(3) ? 2 : 1;
        return Conv2D({.filters = groups * between(1, 5),
                       .kernel = kernel,
                       .strides = dilates ? one : strides,
                       .padding = padding,
                       .dilation = dilates ? dilation : one,
                       .groups = groups,
                       .activation = activation,
                       .use_bias = chance(2)});
      }
      case 3:
        return DepthwiseConv2D({.kernel = kernel,
                                .strides = dilates ? one : strides,
                                .padding = one_of<std::string>({"valid", "same"}),
                                .dilation = dilates ? dilation : one,
                                .depth_multiplier = between(1, 2),
                                .activation = activation});
      case 4:
        return SeparableConv2D({.filters = between(1, 6), .kernel = kernel, .padding = "same"});
      case 5:
        return Conv2DTranspose({.filters = between(1, 4),
                                .kernel = kernel,
                                .strides = strides,
                                .padding = one_of<std::string>({"valid", "same"})});
      case 6: return BatchNormalization({.epsilon = 1e-3});
      case 7: return InstanceNormalization({});
      case 8: return PReLU({.shared_axes = {1, 2}});
      default:
        return channels % 2 == 0 ? GroupNormalization({.groups = 2}) : BatchNormalization({});
    }
  }

  Layer plain_layer(const Shape& shape) {
    const std::array<int64_t, 2> pool = {between(1, 3), between(1, 3)};
    const Pool2DOptions windows{.pool = pool,
                                .strides = {between(1, 2), between(1, 2)},
                                .padding = one_of<std::string>({"valid", "same"}),
                                .pads = {},
                                .ceil_mode = false};
    switch (between(0, 13)) {
      case 0: return MaxPooling2D(windows);
      case 1: return AveragePooling2D(windows);
      case 2:
      case 3:
        return Activation(one_of<std::string>({"relu", "sigmoid", "tanh", "softplus", "elu", "selu",
                                               "hard_sigmoid", "hard_swish", "mish", "gelu",
                                               "swish", "relu6", "leaky_relu", "softmax"}));
      case 4: return UpSampling2D({.interpolation = one_of<std::string>({"nearest", "bilinear"})});
      case 5:
        return ZeroPadding2D({.top_bottom = {between(0, 2), between(0, 2)},
                              .left_right = {between(0, 2), between(0, 2)}});
      case 6:
        return Cropping2D({.top_bottom = {between(0, 1), 1}, .left_right = {1, between(0, 1)}});
      case 7: return shape.back() % 4 == 0 ? DepthToSpace({}) : SpaceToDepth({});
      case 8: return Rescaling({.factor = 0.7, .offset = chance(2) ? 0.0 : 0.3});
      case 9:
        return Permute({.dims = one_of<std::vector<int64_t>>({{2, 1, 3}, {1, 3, 2}, {3, 1, 2}})});
      case 10: return Slice({.starts = {1}, .ends = {-1}, .axes = {between(1, 3)}});
      case 11:
        return Reduce({.function = one_of<std::string>({"sum", "mean", "max", "min"}),
                       .axes = {static_cast<int>(between(1, 3))},
                       .keepdims = true});
      case 12: return resize_of();
      default: return LeakyReLU({.alpha = 0.2});
    }
  }

  // ONNX Runtime computes positions in 32 bits: where half a pixel is subtracted and the exact
  // position is a pixel, its floor and ceil may be the pixel beside it (7 pixels to 1: pixel 2, but
  // 0.5 * 7 - 0.5 = 3). So these two only for positions without halves.
  Layer resize_of() {
    const std::string coordinates =
        one_of<std::string>({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"});
    if (chance(2)) {
      return Resize(
          {.size = {between(3, 12), between(3, 12)}, .mode = "linear", .coordinates = coordinates});
    }
    const bool halves = coordinates.ends_with("half_pixel");
    std::vector<std::string> modes = {"round_prefer_floor", "round_prefer_ceil"};
    if (!halves) modes.insert(modes.end(), {"floor", "ceil"});
    return Resize({.size = {between(3, 12), between(3, 12)},
                   .mode = "nearest",
                   .coordinates = coordinates,
                   .nearest_mode = one_of(modes)});
  }

  // Products of all pixels with all pixels.
  void add_attention(size_t i) {
    const Shape& shape = values_[i].shape;
    const Made rows = after(Reshape({.shape = {shape[0] * shape[1], shape[2]}}), {values_[i]});
    const Made scores = after(MatMul({.transpose_b = true}), {rows, rows});
    const Made mixed = after(MatMul({}), {after(Softmax({}), {scores}), rows});
    keep(after(Reshape({.shape = shape}), {mixed}), {i});
  }

  // Two values become one.
  void join() {
    const size_t a = pending_[0], b = pending_[1];
    Made x = values_[a], y = values_[b];
    if (x.shape[0] != y.shape[0] || x.shape[1] != y.shape[1]) {
      y = after(Resize({.size = {x.shape[0], x.shape[1]}, .mode = "linear"}), {y});
    }
    if (chance(2)) return keep(after(Concatenate({}), {x, y}), {a, b});
    if (x.shape != y.shape) y = after(Conv2D({.filters = x.shape[2]}), {y});
    const Layer arithmetic =
        one_of<Layer>({Add(), Subtract(), Multiply(), Maximum(), Minimum(), Average()});
    keep(after(arithmetic, {x, y}), {a, b});
    if (values_.size() > 60) pending_ = {a};
  }

  Made headed(const Made& value) {
    if (chance(3)) return after(Activation("sigmoid"), {value});
    const Layer flat = one_of<Layer>({GlobalAveragePooling2D(), GlobalMaxPooling2D(), Flatten()});
    const Made dense =
        after(Dense({.units = between(1, 7), .activation = chance(2) ? "softmax" : ""}),
              {after(flat, {value})});
    return chance(4) ? after(Activation("tanh"), {dense}) : dense;
  }

  std::mt19937 random_;
  std::vector<SymbolicTensor> inputs_;
  std::vector<Made> values_;
  std::vector<size_t> pending_;  // that nothing reads
};

void give_random_weights(Model& model, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> weights = model.get_weights();
  const std::vector<std::string> names = model.weight_names();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (names[i].ends_with("kernel")) continue;
    for (float& value : weights[i].f32()) {
      value = 0.5f + static_cast<float>(random() % 1000) / 1000;
    }
  }
  model.set_weights(weights);
}

std::vector<std::pair<std::string, Tensor>> random_feeds(const Network& network, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<std::string, Tensor>> feeds;
  for (const auto& input : network.inputs()) {
    std::vector<int64_t> dims = {2};
    dims.insert(dims.end(), input.shape.begin(), input.shape.end());
    Tensor x(DType::f32, Shape(dims));
    for (float& value : x.f32()) value = static_cast<float>(random() % 2000) / 1000 - 1;
    feeds.emplace_back(input.name, std::move(x));
  }
  return feeds;
}

Tensor channels_first(const Tensor& x) {
  return with_axes(x, inverse(channels_last_order(static_cast<size_t>(x.shape().rank()))));
}

// Saves with this opset or, if the layers need a later one, with the latest.
int64_t saved_opset(const Model& model, const std::string& path, int64_t opset) {
  for (; opset < 17; ++opset) {
    try {
      save_onnx(model, path, {.opset = opset});
      return opset;
    } catch (const Unsupported&) {
    }
  }
  save_onnx(model, path, {.opset = opset});
  return opset;
}

int network_count() {
  const char* given = std::getenv("PANDO_RANDOM_NETWORKS");
  return given != nullptr ? std::atoi(given) : 500;
}

TEST(OnnxRandomNetworks, OnnxRuntimeGivesTheSame) {
  const std::string runtime = onnx_runtime_folder();
  if (runtime.empty()) SKIP_WITHOUT("onnxruntime-node");
  const testing_support::TempFolder folder;
  std::vector<RuntimeJob> jobs;
  std::vector<std::vector<Tensor>> results;
  std::map<int64_t, int> opsets;
  for (int i = 0; i < network_count(); ++i) {
    const auto seed = static_cast<uint32_t>(i + 1);
    Model model(RandomNetwork(seed).build());
    give_random_weights(model, seed);
    const std::string path = concat(folder.path(), "/", i, ".onnx");
    ++opsets[saved_opset(model, path, 9 + static_cast<int64_t>(seed * 7 % 9))];
    const auto feeds = random_feeds(model.network(), seed);
    results.push_back(model.predict_all(Dataset::from_fields(feeds), {.batch_size = 2}));
    RuntimeJob job{.model = path, .inputs = {}, .stem = concat(folder.path(), "/", i)};
    const std::vector<ValueInfoProto> inputs = read_model(path).graph.inputs;
    for (size_t k = 0; k < feeds.size(); ++k) {
      job.inputs.emplace_back(inputs.at(k).name, channels_first(feeds[k].second));
    }
    jobs.push_back(std::move(job));
  }
  const auto checked = testing_support::run_command(
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/onnx/check_onnx.py' '" + folder.path() + "'");
  if (checked.exit_code == testing_support::kMissingPackage) SKIP_WITHOUT("python3-onnx");
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
  const std::vector<RuntimeAnswer> answers = run_onnx(runtime, folder.path(), jobs);
  ASSERT_EQ(answers.size(), jobs.size());
  double worst = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(answers[i].error, "") << "network " << i;
    for (size_t k = 0; k < answers[i].outputs.size(); ++k) {
      const double error =
          relative_difference(answers[i].outputs[k], channels_first(results[i].at(k)));
      EXPECT_LT(error, 1e-4) << "network " << i << ", output " << k;
      worst = std::max(worst, error);
    }
  }
  std::cout << jobs.size() << " networks, largest difference " << worst << ", opsets";
  for (const auto& [opset, count] : opsets) std::cout << " " << opset << ":" << count;
  std::cout << "\n";
}

TEST(OnnxRandomNetworks, OpenCvGivesTheSame) {
  for (const std::string name : {"resnet18", "mobilenet_v2"}) {
    const testing_support::TempFolder folder;
    Model model(zoo_entry(name).build({224, 224, 3}, 10));
    const std::string path = folder.path() + "/model.onnx";
    save_onnx(model, path, {.opset = 10});  // OpenCV 4.6 reads no later form of Clip
    const auto feeds = random_feeds(model.network(), 5);
    Tensor x(DType::f32, {1, 224, 224, 3});
    std::copy_n(feeds[0].second.f32().begin(), x.f32().size(), x.f32().begin());
    const Tensor first = channels_first(x);
    std::ofstream(folder.path() + "/x", std::ios::binary)
        .write(reinterpret_cast<const char*>(first.f32().data()),
               static_cast<std::streamsize>(first.f32().size_bytes()));
    const auto run = testing_support::run_command(
        PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/onnx/opencv_dnn.py' '" + path + "' '" +
        folder.path() + "/x' '" + folder.path() + "/y' 3 224 224");
    if (run.exit_code == testing_support::kMissingPackage) SKIP_WITHOUT("python3-opencv");
    ASSERT_EQ(run.exit_code, 0);
    const Tensor y = model.predict(x, 1);
    Tensor theirs(DType::f32, y.shape());
    std::ranges::copy(floats_in(folder.path() + "/y"), theirs.f32().begin());
    EXPECT_LT(relative_difference(theirs, y), 1e-4) << name;
  }
}

}  // namespace
}  // namespace pando::onnx
