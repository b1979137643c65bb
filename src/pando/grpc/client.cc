// SPDX-License-Identifier: MIT
#include "pando/grpc/client.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include <open_inference.pb.h>
#include <tensorflow_serving.pb.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/grpc/framing_impl.h"
#include "pando/grpc/tensors_impl.h"
#include "pando/http/h2_client.h"

namespace pando::grpc {
namespace {

namespace tfs = tensorflow::serving;
using serve::Code;
using serve::ElementType;

serve::Status status_of_call(const http::CallAnswer& answer) {
  const std::string* const number = answer.header("grpc-status");
  const std::string* const message = answer.header("grpc-message");
  if (number == nullptr) {
    const std::string* const status = answer.header(":status");
    return serve::failure(Code::unknown, "expected an answer of gRPC, got one of HTTP with status ",
                          status == nullptr ? "none" : *status);
  }
  serve::Status status{.code = static_cast<Code>(parse_int(*number).value_or(2))};
  if (message != nullptr && !http::percent_decode(*message, status.message)) {
    status.message = *message;
  }
  return status;
}

std::optional<ElementType> element_type_of(tensorflow::DataType type) {
  for (const auto known : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::u8,
                           ElementType::i32, ElementType::bytes}) {
    if (tf_type(known) == type) return known;
  }
  return std::nullopt;
}

std::string frame_of(const google::protobuf::MessageLite& message) {
  std::string frame(kPrefixBytes, '\0');
  message.AppendToString(&frame);
  write_prefix(frame.data(), static_cast<uint32_t>(frame.size() - kPrefixBytes));
  return frame;
}

const std::string kOip = "/inference.GRPCInferenceService/";

std::string method_path(const char* method) {
  return concat("/tensorflow.serving.PredictionService/", method);
}

}  // namespace

struct Client::Impl {
  explicit Impl(ClientOptions options_in)
      : options(std::move(options_in)), connection(options.host, options.port) {}

  // Sends a message with its prefix; reads the answer, unless the status is a failure.
  serve::Status call(const std::string& path, std::string_view frame,
                     google::protobuf::MessageLite& answer, std::chrono::duration<double> at_most) {
    const auto left = std::chrono::ceil<std::chrono::microseconds>(at_most);
    std::vector<http::Header> headers = {{"content-type", "application/grpc"},
                                         {"te", "trailers"},
                                         {"user-agent", "pando-request"},
                                         {"grpc-timeout", timeout_text(left)}};
    if (!options.token.empty()) headers.push_back({"authorization", "Bearer " + options.token});
    const http::CallAnswer got = connection.call(path, headers, frame, http::Clock::now() + left);
    if (got.kind == http::CallAnswer::Kind::broken) {
      return serve::failure(Code::unavailable, got.problem);
    }
    if (got.kind == http::CallAnswer::Kind::late) {
      return serve::failure(Code::deadline_exceeded, "Deadline Exceeded");
    }
    serve::Status status = status_of_call(got);
    if (status.ok() && !read_answer(got.body, answer)) {
      status = serve::failure(Code::internal, "the answer cannot be read");
    }
    return status;
  }

  static bool read_answer(std::string_view body, google::protobuf::MessageLite& answer) {
    MessageSplitter splitter(std::numeric_limits<int>::max());
    MessageSplitter::Message message;
    return splitter.next(body, message) == MessageSplitter::Found::message && !message.is_packed &&
           answer.ParseFromArray(message.bytes.data(), static_cast<int>(message.bytes.size()));
  }

  // The protocol has numbers only; the description of the model has their names.
  serve::Result<Classes> classify_by_oip(const std::string& picture,
                                         std::chrono::duration<double> at_most) {
    if (description.inputs_size() == 0) {
      inference::ModelMetadataRequest question;
      question.set_name(options.model);
      const serve::Status status =
          call(kOip + "ModelMetadata", frame_of(question), description, at_most);
      if (!status.ok()) return status;
      if (description.inputs_size() == 0) {
        return serve::failure(Code::internal, "the server tells no inputs");
      }
    }
    inference::ModelInferRequest request;
    request.set_model_name(options.model);
    auto& input = *request.add_inputs();
    input.set_name(description.inputs(0).name());
    input.set_datatype("BYTES");
    input.add_shape(1);
    input.mutable_contents()->add_bytes_contents(picture);
    inference::ModelInferResponse response;
    const serve::Status status = call(kOip + "ModelInfer", frame_of(request), response, at_most);
    if (!status.ok()) return status;
    if (response.outputs_size() == 0) return serve::failure(Code::internal, "no outputs");
    const auto& scores = response.outputs(0).contents().fp32_contents();
    std::vector<std::string> labels;
    const auto found = description.properties().find("labels");
    if (found != description.properties().end()) {
      const auto json = Json::try_parse(found->second);
      if (json) labels = json->get<std::vector<std::string>>();
    }
    return named_classes({scores.begin(), scores.end()}, labels);
  }

  const ClientOptions options;
  inference::ModelMetadataResponse description;  // by classify_by_oip()
  http::CallClient connection;
  std::string prepared;  // by prepare()
};

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

serve::Result<Signature> Client::signature(std::chrono::duration<double> at_most) {
  constexpr std::chrono::milliseconds kPause{50};
  tfs::GetModelMetadataRequest request;
  request.mutable_model_spec()->set_name(impl_->options.model);
  request.add_metadata_field("signature_def");
  tfs::GetModelMetadataResponse response;
  const auto until = http::Clock::now() + std::chrono::ceil<http::Clock::duration>(at_most);
  serve::Status status;
  do {  // until somebody listens
    status = impl_->call(method_path("GetModelMetadata"), frame_of(request), response,
                         until - http::Clock::now());
    if (status.code != Code::unavailable) break;
    std::this_thread::sleep_for(kPause);
  } while (http::Clock::now() < until);
  if (!status.ok()) return status;
  tfs::SignatureDefMap map;
  const auto found = response.metadata().find("signature_def");
  if (found == response.metadata().end() || !found->second.UnpackTo(&map) ||
      map.signature_def().empty()) {
    return serve::failure(Code::internal,
                          "expected a signature of the model, got metadata without one");
  }
  Signature signature{.version = response.model_spec().version().value()};
  for (const auto& [name, info] : map.signature_def().begin()->second.inputs()) {
    const auto type = element_type_of(info.dtype());
    if (!type) return serve::failure(Code::unimplemented, "input '", name, "' has another type");
    serve::TensorInfo to{.name = name, .type = *type};
    for (const auto& dim : info.tensor_shape().dim()) to.shape.push_back(dim.size());
    signature.inputs.push_back(std::move(to));
  }
  return signature;
}

void Client::prepare(const serve::InputTensor& input) {
  const bool is_encoded = input.type == ElementType::bytes;
  if (impl_->options.open_inference) {
    inference::ModelInferRequest request;
    request.set_model_name(impl_->options.model);
    auto& to = *request.add_inputs();
    to.set_name(input.name);
    to.set_datatype(std::string(oip_type(input.type)));
    to.mutable_shape()->Assign(input.shape.begin(), input.shape.end());
    for (const auto& element : input.elements) {
      to.mutable_contents()->add_bytes_contents(std::string(element));
    }
    if (!is_encoded) request.add_raw_input_contents(input.data.data(), input.data.size());
    impl_->prepared = frame_of(request);
    return;
  }
  tfs::PredictRequest request;
  request.mutable_model_spec()->set_name(impl_->options.model);
  tensorflow::TensorProto& to = (*request.mutable_inputs())[input.name];
  to.set_dtype(tf_type(input.type));
  for (const int64_t size : input.shape) to.mutable_tensor_shape()->add_dim()->set_size(size);
  for (const auto& element : input.elements) to.add_string_val(std::string(element));
  if (!is_encoded) to.set_tensor_content(input.data.data(), input.data.size());
  impl_->prepared = frame_of(request);
}

serve::Status Client::infer(std::chrono::duration<double> at_most) {
  if (impl_->options.open_inference) {
    inference::ModelInferResponse response;
    return impl_->call(kOip + "ModelInfer", impl_->prepared, response, at_most);
  }
  tfs::PredictResponse response;
  return impl_->call(method_path("Predict"), impl_->prepared, response, at_most);
}

void sort(Classes& classes) {
  std::ranges::stable_sort(classes, std::greater<>(), &Classes::value_type::second);
}

Classes named_classes(const std::vector<float>& scores, const std::vector<std::string>& labels) {
  Classes classes;
  for (size_t i = 0; i < scores.size(); ++i) {
    classes.emplace_back(i < labels.size() ? labels[i] : std::to_string(i), scores[i]);
  }
  sort(classes);
  return classes;
}

serve::Result<Classes> Client::classify(const std::string& picture,
                                        std::chrono::duration<double> at_most) {
  if (impl_->options.open_inference) return impl_->classify_by_oip(picture, at_most);
  tfs::ClassificationRequest request;
  request.mutable_model_spec()->set_name(impl_->options.model);
  auto& example = *request.mutable_input()->mutable_example_list()->add_examples();
  auto& feature = (*example.mutable_features()->mutable_feature())["input"];
  feature.mutable_bytes_list()->add_value(picture);
  tfs::ClassificationResponse response;
  const serve::Status status =
      impl_->call(method_path("Classify"), frame_of(request), response, at_most);
  if (!status.ok()) return status;
  Classes classes;
  if (response.result().classifications_size() > 0) {
    for (const auto& one : response.result().classifications(0).classes()) {
      classes.emplace_back(one.label(), one.score());
    }
  }
  sort(classes);
  return classes;
}

}  // namespace pando::grpc
