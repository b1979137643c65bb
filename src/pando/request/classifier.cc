// SPDX-License-Identifier: MIT
#include "pando/request/classifier.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "pando/base/json.h"
#include "pando/wire/base64.h"

namespace pando::request {
namespace {

using grpc::Classes;
using serve::Code;
using serve::Result;

class GrpcClassifier : public Classifier {
 public:
  explicit GrpcClassifier(const grpc::ClientOptions& options) : client_(options) {}
  Result<Classes> classify(const std::string& picture, Seconds at_most) override {
    return client_.classify(picture, at_most);
  }

 private:
  grpc::Client client_;
};

// Reads an answer; what it lacks is a failure of the server.
template <typename Value, typename Read>
Result<Value> read_json(const std::string& text, const Read& read) {
  try {
    return read(Json::parse(text));
  } catch (const std::exception& error) {
    return serve::failure(Code::internal, "the answer cannot be read: ", error.what());
  }
}

// TensorFlow Serving's REST knows classes itself.
class TfClassifier : public Classifier {
 public:
  explicit TfClassifier(const RestTarget& target)
      : path_("/v1/models/" + target.model + ":classify"), client_(target) {}

  Result<Classes> classify(const std::string& picture, Seconds at_most) override {
    const std::string body = R"({"examples":[{"b64":")" + wire::base64_encode(picture) + R"("}]})";
    const auto answer = client_.ask(path_, "", body, at_most);
    if (!answer) return answer.status();
    return read_json<Classes>(*answer, [](const Json& json) {
      auto classes = json.get<std::vector<Classes>>("results").at(0);
      grpc::sort(classes);
      return classes;
    });
  }

 private:
  const std::string path_;
  RestClient client_;
};

// The Open Inference Protocol has numbers only, and its descriptions of models no room for names.
// Servers of Pando tell them beside it; classes of others have their numbers.
class OipClassifier : public Classifier {
 public:
  explicit OipClassifier(const RestTarget& target)
      : name_(target.model), path_("/v2/models/" + target.model), client_(target) {}

  Result<Classes> classify(const std::string& picture, Seconds at_most) override {
    if (!model_) {
      const auto answer = client_.ask(path_, "", "", at_most);
      if (!answer) return answer.status();
      auto input = read_json<std::string>(*answer, [](const Json& json) {
        return json.at("inputs").items().at(0).get<std::string>("name");
      });
      if (!input) return input.status();
      model_ = {.input = std::move(*input), .labels = labels(at_most)};
    }
    const auto answer = client_.ask(path_ + "/infer", head_of(picture), body_of(picture), at_most);
    if (!answer) return answer.status();
    return read_json<Classes>(*answer, [this](const Json& json) {
      const auto scores = json.at("outputs").items().at(0).get<std::vector<float>>("data");
      return grpc::named_classes(scores, model_->labels);
    });
  }

 private:
  struct Model {
    std::string input;
    std::vector<std::string> labels;
  };

  std::vector<std::string> labels(Seconds at_most) {
    const auto answer = client_.ask("/pando/models", "", "", at_most);
    if (!answer) return {};
    auto found = read_json<std::vector<std::string>>(*answer, [&](const Json& json) {
      for (const Json& model : json.at("models").items()) {
        if (model.get<std::string>("name") != name_) continue;
        return model.get<std::vector<std::string>>("classes", {});
      }
      return std::vector<std::string>();
    });
    return found ? std::move(*found) : std::vector<std::string>();
  }

  // One element of BYTES: its length, then itself.
  static size_t element_bytes(const std::string& picture) {
    return sizeof(uint32_t) + picture.size();
  }
  std::string json_of(const std::string& picture) const {
    Json parameters = {{"binary_data_size", element_bytes(picture)}};
    Json input = {{"name", model_->input},
                  {"datatype", "BYTES"},
                  {"shape", std::vector<int64_t>{1}},
                  {"parameters", parameters}};
    Json request = Json::object();
    request["inputs"].push_back(input);
    return request.dump();
  }
  std::string head_of(const std::string& picture) const {
    return fmt::format("Inference-Header-Content-Length: {}\r\n", json_of(picture).size());
  }
  std::string body_of(const std::string& picture) const {
    std::string body = json_of(picture);
    for (int shift = 0; shift < 32; shift += 8) {
      body += static_cast<char>(static_cast<uint32_t>(picture.size()) >> shift);
    }
    return body + picture;
  }

  const std::string name_;
  const std::string path_;
  RestClient client_;
  std::optional<Model> model_;
};

}  // namespace

std::unique_ptr<Classifier> grpc_classifier(const grpc::ClientOptions& options) {
  return std::make_unique<GrpcClassifier>(options);
}

std::unique_ptr<Classifier> rest_classifier(const RestTarget& target) {
  if (target.open_inference) return std::make_unique<OipClassifier>(target);
  return std::make_unique<TfClassifier>(target);
}

}  // namespace pando::request
