// A model server for tests of protocols: its models compute half of x plus two, or the lengths of
// pictures, at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pando/rest/backend.h"
#include "tests/http/reply_recorder.h"

namespace pando::rest {

class FakeServable : public serve::Servable {
 public:
  FakeServable(std::string name, std::vector<serve::TensorInfo> inputs,
               std::vector<serve::TensorInfo> outputs) {
    name_ = std::move(name);
    version_ = 123;
    network_inputs_ = inputs_ = std::move(inputs);
    outputs_ = std::move(outputs);
    max_request_samples_ = 64;
  }
  void take_pictures() {
    facts_.pictures.emplace();
    input_kind_ = serve::InputKind::images;
    inputs_[0].type = serve::ElementType::bytes;
    inputs_[0].shape = {-1};
  }
  void add_example(std::string name, std::string_view bytes) {
    examples_.push_back({std::move(name), {bytes.begin(), bytes.end()}});
  }
  void set_labels(std::vector<std::string> labels) { facts_.labels = std::move(labels); }
};

class FakeBackend : public Backend {
 public:
  FakeBackend() {
    using serve::ElementType;
    add({"half_plus_two", {{"x", ElementType::f32, {-1}}}, {{"y", ElementType::f32, {-1}}}});
    add({"rows", {{"x", ElementType::f32, {-1, 2}}}, {{"y", ElementType::f32, {-1, 2}}}});
    add({"two",
         {{"a", ElementType::f32, {-1}}, {"b", ElementType::i32, {-1, 2}}},
         {{"a", ElementType::f32, {-1}}, {"b", ElementType::i32, {-1, 2}}}});
    add({"halves", {{"x", ElementType::f16, {-1}}}, {{"y", ElementType::f16, {-1}}}});
    FakeServable& pictures = add({"pictures",
                                  {{"image", ElementType::f32, {-1, 2, 2, 1}}},
                                  {{"y", ElementType::f32, {-1}}}});
    pictures.take_pictures();
    pictures.add_example("0-cat.png", "\x89PNG\r\n\x1A\n...");
    add({"pixels", {{"image", ElementType::u8, {-1, 2}}}, {{"y", ElementType::u8, {-1, 2}}}});
    add({"classes", {{"x", ElementType::f32, {-1, 2}}}, {{"y", ElementType::f32, {-1, 2}}}})
        .set_labels({"cat", "\"dog\""});
  }

  serve::Result<std::shared_ptr<const serve::Servable>> find(
      const serve::ModelSpec& spec) const override {
    const auto model = models_.find(spec.name);
    if (model == models_.end() || (spec.version && *spec.version != 123)) {
      return serve::failure(serve::Code::not_found, "Servable not found for request: ",
                            spec.version ? "Specific(" : "Latest(", spec.name,
                            spec.version ? concat(", ", *spec.version) : "", ")");
    }
    if (!spec.signature_name.empty() && spec.signature_name != serve::kDefaultSignature) {
      return serve::failure(serve::Code::invalid_argument, "Serving signature name: \"",
                            spec.signature_name, "\" not found in signature def");
    }
    return std::shared_ptr<const serve::Servable>(model->second);
  }

  void submit(serve::InferRequest request, serve::InferCallback callback) override {
    last = request;
    if (!failure.ok()) return callback(failure);
    serve::InferResponse response;
    response.servable = request.servable;
    auto memory = std::make_shared<std::vector<std::vector<std::byte>>>();
    for (const serve::InputTensor& input : request.inputs) {
      memory->push_back(computed(input));
      serve::OutputTensor output;
      output.name = request.servable->outputs()[memory->size() - 1].name;
      output.type = input.type == serve::ElementType::bytes ? serve::ElementType::f32 : input.type;
      output.shape = input.shape;
      response.outputs.push_back(output);
    }
    for (size_t i = 0; i < memory->size(); ++i) response.outputs[i].data = (*memory)[i];
    response.owner = memory;
    callback(std::move(response));
  }

  std::vector<serve::ModelStatus> models() const override {
    std::vector<serve::ModelStatus> all;
    for (const auto& [name, servable] : models_) all.push_back(*status({.name = name}));
    return all;
  }
  serve::Result<serve::ModelStatus> status(const serve::ModelSpec& spec) const override {
    const auto servable = find(spec);
    if (!servable) return servable.status();
    return serve::ModelStatus{
        .name = spec.name,
        .versions = {{.version = 124,
                      .state = serve::VersionState::end,
                      .status = serve::failure(serve::Code::invalid_argument, "bad \"file\"")},
                     {.version = 123, .state = serve::VersionState::available, .status = {}}},
        .labels = {}};
  }
  bool live() const override { return true; }
  bool ready() const override { return is_ready; }
  bool ready(const serve::ModelSpec& spec) const override { return is_ready && bool(find(spec)); }
  std::string metrics_text() const override { return "# TYPE x counter\nx 1\n"; }

  serve::Status failure;  // of all requests
  serve::InferRequest last;
  bool is_ready = true;

 private:
  FakeServable& add(FakeServable servable) {
    const std::string name = servable.name();
    return *(models_[name] = std::make_shared<FakeServable>(std::move(servable)));
  }
  static std::vector<std::byte> computed(const serve::InputTensor& input) {
    std::vector<std::byte> result(input.data.begin(), input.data.end());
    if (input.type == serve::ElementType::f32) {
      for (size_t i = 0; i + 4 <= result.size(); i += 4) {
        float value = 0;
        std::memcpy(&value, result.data() + i, 4);
        value = value / 2 + 2;
        std::memcpy(result.data() + i, &value, 4);
      }
    }
    for (const std::string_view element : input.elements) {
      const auto length = static_cast<float>(element.size());
      const auto* bytes = reinterpret_cast<const std::byte*>(&length);
      result.insert(result.end(), bytes, bytes + 4);
    }
    return result;
  }

  std::map<std::string, std::shared_ptr<FakeServable>> models_;
};

// Asks a handler without any network.
inline http::Response ask(http::Handler& handler, std::string_view method, std::string_view path,
                          std::string_view body = "", std::vector<http::HeaderView> headers = {}) {
  http::Request request;
  request.method = method;
  request.target = request.path = path;
  request.body = body;
  request.headers = headers;
  request.began = request.arrived = http::Clock::now();
  const auto recorder = std::make_shared<http::ReplyRecorder>();
  handler.handle(request, http::Reply(recorder));
  return recorder->wait();
}

}  // namespace pando::rest
