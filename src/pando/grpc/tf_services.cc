// TensorFlow Serving's services.
// SPDX-License-Identifier: MIT
#include <cstring>

#include <tensorflow_serving.pb.h>

#include "pando/base/error.h"
#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

namespace tfs = tensorflow::serving;
using serve::Code;
using serve::failure;
using serve::InferRequest;
using serve::InferResponse;
using serve::OutputTensor;
using serve::Result;
using serve::Servable;
using serve::Status;

// The version that a request asks for.
Result<serve::ModelSpec> spec_of(const tfs::ModelSpec& message) {
  if (message.name().empty()) return failure(Code::invalid_argument, "Missing ModelSpec");
  serve::ModelSpec spec{.name = message.name(),
                        .version = std::nullopt,
                        .label = message.version_label(),
                        .signature_name = message.signature_name()};
  if (message.has_version()) spec.version = message.version().value();
  return spec;
}

Result<std::shared_ptr<const Servable>> find(const serve::ModelServer& models,
                                             const tfs::ModelSpec& message) {
  const auto spec = spec_of(message);
  if (!spec) return spec.status();
  return models.find(*spec);
}

void write_spec(const Servable& servable, tfs::ModelSpec& message) {
  message.set_name(servable.name());
  message.set_signature_name(servable.signature());
  message.mutable_version()->set_value(servable.version());
}

// The f32 output of shape [samples] or [samples, n]. Unless `per_sample` is 0, n must be
// `per_sample`.
const OutputTensor& scores_of(const InferResponse& response, int64_t per_sample,
                              const char* method) {
  for (const OutputTensor& output : response.outputs) {
    const bool is_row = output.shape.size() == 1 || output.shape.size() == 2;
    const int64_t numbers = output.shape.size() == 2 ? output.shape[1] : 1;
    if (output.type == serve::ElementType::f32 && is_row &&
        (per_sample == 0 || numbers == per_sample)) {
      return output;
    }
  }
  throw InvalidArgument("Expected ", method,
                        " signature method_name; the model has no output for it, use Predict");
}

float number_at(const OutputTensor& output, int64_t index) {
  float number = 0;
  std::memcpy(&number, output.data.data() + static_cast<size_t>(index) * sizeof(number),
              sizeof(number));
  return number;
}

Result<InferRequest> example_request(const serve::ModelServer& models, const tfs::ModelSpec& spec,
                                     const tfs::Input& input, InputMemory& memory) {
  auto servable = find(models, spec);
  if (!servable) return servable.status();
  const bool has_context = input.has_example_list_with_context();
  const auto& shared = input.example_list_with_context();
  auto tensors = tensors_of(has_context ? shared.examples() : input.example_list().examples(),
                            has_context ? &shared.context() : nullptr, **servable, memory);
  if (!tensors) return tensors.status();
  InferRequest request;
  request.servable = *servable;
  request.inputs = std::move(*tensors);
  return request;
}

void write_infos(const std::vector<serve::TensorInfo>& infos,
                 google::protobuf::Map<std::string, tensorflow::TensorInfo>& map) {
  for (const serve::TensorInfo& info : infos) {
    tensorflow::TensorInfo& message = map[info.name];
    message.set_name(info.name + ":0");
    message.set_dtype(tf_type(info.type));
    for (const int64_t size : info.shape) {
      message.mutable_tensor_shape()->add_dim()->set_size(size);
    }
  }
}

Result<InferRequest> predict_request(const Shared& shared, const tfs::PredictRequest& message,
                                     InputMemory& memory) {
  auto servable = find(shared.models, message.model_spec());
  if (!servable) return servable.status();
  const size_t expected = (*servable)->inputs().size();
  if (static_cast<size_t>(message.inputs_size()) > expected) {  // each may become a large tensor
    return failure(Code::invalid_argument, "the model has ", counted(expected, "input"), ", got ",
                   message.inputs_size());
  }
  InferRequest request;
  request.servable = *servable;
  for (const auto& [name, proto] : message.inputs()) {
    auto tensor =
        tensor_of(name, proto,
                  {.bytes = shared.options.max_message_bytes, .servable = servable->get()}, memory);
    if (!tensor) return tensor.status();
    request.inputs.push_back(std::move(*tensor));
  }
  request.outputs.assign(message.output_filter().begin(), message.output_filter().end());
  return request;
}

void write_prediction(const tfs::PredictRequest& message, const InferResponse& response,
                      tfs::PredictResponse& answer) {
  // Clients that list their numbers may not know how to read bytes.
  bool as_content = false;
  for (const auto& [name, tensor] : message.inputs()) {
    as_content = as_content || !tensor.tensor_content().empty();
  }
  for (const OutputTensor& output : response.outputs) {
    write_tensor(output, as_content, (*answer.mutable_outputs())[output.name]);
  }
  write_spec(*response.servable, *answer.mutable_model_spec());
}

void write_classes(const tfs::ClassificationRequest&, const InferResponse& response,
                   tfs::ClassificationResponse& answer) {
  const OutputTensor& output = scores_of(response, 0, "classify");
  const std::vector<std::string>& labels = response.servable->facts().labels;
  const int64_t classes = output.shape.size() == 2 ? output.shape[1] : 1;
  for (int64_t i = 0; i < output.shape[0]; ++i) {
    auto& sample = *answer.mutable_result()->add_classifications();
    for (int64_t k = 0; k < classes; ++k) {
      auto& one = *sample.add_classes();
      const auto place = static_cast<size_t>(k);
      one.set_label(place < labels.size() ? labels[place] : std::to_string(k));
      one.set_score(number_at(output, i * classes + k));
    }
  }
  write_spec(*response.servable, *answer.mutable_model_spec());
}

void write_values(const tfs::RegressionRequest&, const InferResponse& response,
                  tfs::RegressionResponse& answer) {
  const OutputTensor& output = scores_of(response, 1, "regress");
  for (int64_t i = 0; i < output.shape[0]; ++i) {
    answer.mutable_result()->add_regressions()->set_value(number_at(output, i));
  }
  write_spec(*response.servable, *answer.mutable_model_spec());
}

Status tell_signature(const serve::ModelServer& models, const tfs::GetModelMetadataRequest& message,
                      tfs::GetModelMetadataResponse& answer) {
  if (message.metadata_field().empty()) {
    return failure(Code::invalid_argument,
                   "GetModelMetadataRequest must specify at least one metadata_field");
  }
  for (const std::string& field : message.metadata_field()) {
    if (field == "signature_def") continue;
    return failure(Code::invalid_argument, "Metadata field ", field, " is not supported");
  }
  const auto servable = find(models, message.model_spec());
  if (!servable) return servable.status();
  tfs::SignatureDefMap map;
  auto& signature = (*map.mutable_signature_def())[(*servable)->signature()];
  write_infos((*servable)->inputs(), *signature.mutable_inputs());
  write_infos((*servable)->outputs(), *signature.mutable_outputs());
  signature.set_method_name("tensorflow/serving/predict");
  (*answer.mutable_metadata())["signature_def"].PackFrom(map);
  write_spec(**servable, *answer.mutable_model_spec());
  return {};
}

}  // namespace

std::vector<Method> prediction_methods(const std::shared_ptr<Shared>& shared) {
  const std::string service = "/tensorflow.serving.PredictionService/";
  const auto examples = [shared](const auto& message, InputMemory& memory) {
    return example_request(shared->models, message.model_spec(), message.input(), memory);
  };
  return {answered_by_model<tfs::PredictRequest, tfs::PredictResponse>(
              service + "Predict",
              [shared](const auto& message, InputMemory& memory) {
                return predict_request(*shared, message, memory);
              },
              write_prediction),
          answered_by_model<tfs::ClassificationRequest, tfs::ClassificationResponse>(
              service + "Classify", examples, write_classes),
          answered_by_model<tfs::RegressionRequest, tfs::RegressionResponse>(
              service + "Regress", examples, write_values),
          answered_now<tfs::GetModelMetadataRequest, tfs::GetModelMetadataResponse>(
              service + "GetModelMetadata", [shared](const auto& message, auto& answer) {
                return tell_signature(shared->models, message, answer);
              })};
}

}  // namespace pando::grpc
