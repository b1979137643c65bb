// SPDX-License-Identifier: MIT
#include "pando/serve/loaded_model.h"

#include <algorithm>
#include <filesystem>

#include "pando/base/clock.h"
#include "pando/base/memory_limit.h"
#include "pando/serve/batcher.h"

namespace pando::serve {

namespace {

// Limits the pictures that clients send: a small file may unpack to a huge picture.
constexpr int64_t kMostPixels = 64'000'000;

InputKind kind_of(ServedInput input) {
  switch (input) {
    case ServedInput::tensors: return InputKind::tensors;
    case ServedInput::images: return InputKind::images;
    case ServedInput::pixels: return InputKind::bytes;
  }
  return InputKind::tensors;
}

TensorInfo info_of(const PredictorTensor& tensor, int64_t batch) {
  TensorInfo info{tensor.name, element_type(tensor.dtype), {batch}};
  info.shape.insert(info.shape.end(), tensor.shape.begin(), tensor.shape.end());
  return info;
}

std::string shape_text(const std::vector<int64_t>& shape) { return to_string(Shape(shape)); }

// The network has one input that takes what the preparation makes.
bool fits(const PicturePreparation& pictures, const Predictor& predictor) {
  if (predictor.inputs().size() != 1) return false;
  const PredictorTensor& input = predictor.inputs()[0];
  const bool is_number = input.dtype == DType::f32 || input.dtype == DType::u8;
  return is_number && input.shape == Shape{pictures.height, pictures.width, pictures.channels()};
}

}  // namespace

LoadedModel::LoadedModel(Predictor predictor, const LoadOptions& options)
    : predictor_(std::move(predictor)), queue_(std::make_unique<ModelQueue>()) {
  name_ = options.name;
  version_ = options.version;
  max_request_samples_ = options.max_request_samples;
  describe();
}

LoadedModel::~LoadedModel() = default;

std::shared_ptr<LoadedModel> LoadedModel::load(const std::string& file,
                                               const LoadOptions& options) {
  // The bytes of the file, its weights, and the weights as kernels read them.
  constexpr int64_t kCopies = 3;
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file, unknown);
  if (!unknown)
    require_memory("the file and the weights of the model", kCopies * static_cast<int64_t>(bytes));
  Predictor predictor = Predictor::load(
      file, {.max_batch = options.max_batch, .workers = options.workers, .latency = false});
  const std::shared_ptr<LoadedModel> model(new LoadedModel(std::move(predictor), options));
  if (model->facts_.pictures && !options.examples_of.empty()) {
    model->examples_ = app::read_examples(options.examples_of);
  }
  model->warm_up(options.warmup_runs);
  return model;
}

void LoadedModel::describe() {
  facts_ = predictor_.facts();
  const ServingFacts serving = facts_.serving.value_or(ServingFacts{});
  const int64_t batch = serving.batch > 0 ? serving.batch : -1;
  signature_ = serving.signature;
  input_kind_ = kind_of(serving.input);
  for (const PredictorTensor& input : predictor_.inputs()) {
    network_inputs_.push_back(info_of(input, batch));
  }
  for (const PredictorTensor& output : predictor_.outputs()) {
    outputs_.push_back(info_of(output, batch));
  }
  inputs_ = network_inputs_;
  if (facts_.pictures && !fits(*facts_.pictures, predictor_)) facts_.pictures.reset();
  if (!facts_.pictures) {
    input_kind_ = InputKind::tensors;
    return;
  }
  pictures_.emplace(*facts_.pictures, predictor_.inputs()[0].dtype,
                    DecodeLimits{.max_pixels = kMostPixels});
  if (input_kind_ == InputKind::images) inputs_[0] = {inputs_[0].name, ElementType::bytes, {batch}};
  if (input_kind_ == InputKind::bytes) inputs_[0].type = ElementType::u8;
}

void LoadedModel::warm_up(int runs) {
  const int64_t most = predictor_.max_batch();
  std::vector<std::vector<std::byte>> memory;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs(predictor_.outputs().size(), nullptr);
  for (const PredictorTensor& input : predictor_.inputs()) {
    memory.emplace_back(static_cast<size_t>(most) * input.sample_bytes());
    inputs.push_back(memory.back().data());
  }
  for (int64_t size = 1; size <= most; size *= 2) {
    for (int run = 0; run < std::max(runs, 1); ++run) {
      const auto begin = Clock::now();
      predictor_.run({.inputs = inputs, .outputs = outputs, .samples = size});
      warm_seconds_ = seconds_since(begin) / static_cast<double>(size);
      if (runs == 0) return;
    }
  }
}

const InputTensor& LoadedModel::tensor_of(const InferRequest& request, size_t input) const {
  const auto found = std::ranges::find_if(request.inputs, [&](const InputTensor& tensor) {
    return tensor.name.empty() || tensor.name == inputs_[input].name;
  });
  return *found;
}

Status LoadedModel::check_tensor(const InputTensor& tensor, size_t input, int64_t& samples) const {
  const TensorInfo& info = inputs_[input];
  auto expected = accepted_shape(info, tensor.type);
  if (!expected) {
    return failure(Code::invalid_argument, "input '", info.name, "': expected elements of type ",
                   to_string(info.type), ", got ", to_string(tensor.type));
  }
  (*expected)[0] = -1;
  const bool has_batch = tensor.shape.size() == expected->size() && tensor.shape[0] >= 1;
  if (!has_batch ||
      !std::equal(tensor.shape.begin() + 1, tensor.shape.end(), expected->begin() + 1)) {
    return failure(Code::invalid_argument, "input '", info.name, "': expected the shape ",
                   shape_text(*expected), ", where -1 is the number of samples, got ",
                   shape_text(tensor.shape));
  }
  if (samples == 0) samples = tensor.shape[0];
  if (tensor.shape[0] != samples) {
    return failure(Code::invalid_argument, "input '", info.name, "': expected ", samples,
                   " samples, as the other inputs have, got ", tensor.shape[0]);
  }
  if (samples > max_request_samples_) return {};  // refused by its number, not by its bytes
  const bool is_encoded = tensor.type == ElementType::bytes;
  const auto wanted =
      is_encoded ? static_cast<size_t>(samples)
                 : static_cast<size_t>(Shape(tensor.shape).elements()) * size_of(tensor.type);
  const size_t got = is_encoded ? tensor.elements.size() : tensor.data.size();
  if (got == wanted) return {};
  return failure(Code::invalid_argument, "input '", info.name, "': expected ", wanted,
                 is_encoded ? " pictures" : " bytes", " for the shape ", shape_text(tensor.shape),
                 ", got ", got);
}

Result<int64_t> LoadedModel::check(const InferRequest& request) const {
  std::vector<bool> given(inputs_.size(), false);
  int64_t samples = 0;
  for (const InputTensor& tensor : request.inputs) {
    const TensorInfo* info = find_input(tensor.name);
    if (info == nullptr) {
      std::vector<std::string> names;
      for (const TensorInfo& input : inputs_) names.push_back(input.name);
      return failure(Code::invalid_argument, unknown_name_message("input", tensor.name, names));
    }
    const auto place = static_cast<size_t>(info - inputs_.data());
    if (given[place]) {
      return failure(Code::invalid_argument, "input '", info->name, "' is there twice");
    }
    given[place] = true;
    Status status = check_tensor(tensor, place, samples);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!given[i]) {
      return failure(Code::invalid_argument, "input '", inputs_[i].name, "' is missing");
    }
  }
  for (const std::string& name : request.outputs) {
    const auto is_it = [&](const TensorInfo& output) { return output.name == name; };
    if (std::ranges::any_of(outputs_, is_it)) continue;
    std::vector<std::string> names;
    for (const TensorInfo& output : outputs_) names.push_back(output.name);
    return failure(Code::invalid_argument, unknown_name_message("output", name, names));
  }
  if (samples == 0) return failure(Code::invalid_argument, "the request has no samples");
  return samples;
}

std::vector<size_t> LoadedModel::wanted_outputs(const InferRequest& request) const {
  std::vector<size_t> wanted;
  for (const std::string& name : request.outputs) {
    const auto found = std::ranges::find(outputs_, name, &TensorInfo::name);
    wanted.push_back(static_cast<size_t>(found - outputs_.begin()));
  }
  if (!wanted.empty()) return wanted;
  for (size_t i = 0; i < outputs_.size(); ++i) wanted.push_back(i);
  return wanted;
}

const std::byte* LoadedModel::rows(const InferRequest& request, size_t input, SampleRange range,
                                   std::vector<std::byte>& scratch) const {
  const InputTensor& tensor = tensor_of(request, input);
  const size_t row = predictor_.inputs()[input].sample_bytes();
  if (tensor.type == network_inputs_[input].type) {
    return tensor.data.data() + static_cast<size_t>(range.first) * row;
  }
  scratch.resize(static_cast<size_t>(range.count) * row);
  for (int64_t i = 0; i < range.count; ++i) {
    std::byte* to = scratch.data() + static_cast<size_t>(i) * row;
    const auto place = static_cast<size_t>(range.first + i);
    if (tensor.type == ElementType::bytes) {
      const std::string_view picture = tensor.elements[place];
      pictures_->read({reinterpret_cast<const uint8_t*>(picture.data()), picture.size()},
                      concat("picture ", place), to);
    } else {
      const size_t pixels = row / size_of(network_inputs_[input].type);
      pictures_->take_pixels(reinterpret_cast<const uint8_t*>(tensor.data.data()) + place * pixels,
                             to);
    }
  }
  return scratch.data();
}

}  // namespace pando::serve
