// TensorFlow Serving's services.
// SPDX-License-Identifier: MIT
#include <cstring>

#include <tensorflow_serving.grpc.pb.h>

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

::grpc::Status invalid(const std::string& message) {
  return {::grpc::StatusCode::INVALID_ARGUMENT, message};
}

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

using Tf = tfs::PredictionService;
// What waits for a model is taken from the queue of the server, the rest is answered at once.
using TfService = Tf::WithAsyncMethod_Predict<
    Tf::WithAsyncMethod_Classify<Tf::WithAsyncMethod_Regress<Tf::Service>>>;

class PredictionService : public TfService {
 public:
  explicit PredictionService(Shared& shared) : shared_(shared) {}

  void listen_at(::grpc::ServerCompletionQueue& queue) {
    listen<tfs::PredictRequest, tfs::PredictResponse>(
        shared_, queue,
        {.expect = [this](
                       auto* context, auto* message, auto* responder, auto* own,
                       void* tag) { RequestPredict(context, message, responder, own, own, tag); },
         .handle = [this](auto& call, const auto& message,
                          auto& answer) { predict(call, message, answer); }});
    listen<tfs::ClassificationRequest, tfs::ClassificationResponse>(
        shared_, queue,
        {.expect = [this](
                       auto* context, auto* message, auto* responder, auto* own,
                       void* tag) { RequestClassify(context, message, responder, own, own, tag); },
         .handle = [this](auto& call, const auto& message,
                          auto& answer) { classify(call, message, answer); }});
    listen<tfs::RegressionRequest, tfs::RegressionResponse>(
        shared_, queue,
        {.expect = [this](
                       auto* context, auto* message, auto* responder, auto* own,
                       void* tag) { RequestRegress(context, message, responder, own, own, tag); },
         .handle = [this](auto& call, const auto& message,
                          auto& answer) { regress(call, message, answer); }});
  }

  ::grpc::Status GetModelMetadata(ServerContext* context,
                                  const tfs::GetModelMetadataRequest* message,
                                  tfs::GetModelMetadataResponse* answer) override {
    return answer_now(shared_, context, [&] {
      if (message->metadata_field().empty()) {
        return invalid("GetModelMetadataRequest must specify at least one metadata_field");
      }
      for (const std::string& field : message->metadata_field()) {
        if (field != "signature_def")
          return invalid("Metadata field " + field + " is not supported");
      }
      const auto servable = find(shared_.models, message->model_spec());
      if (!servable) return to_grpc(servable.status());
      tfs::SignatureDefMap map;
      auto& signature = (*map.mutable_signature_def())[(*servable)->signature()];
      write_infos((*servable)->inputs(), *signature.mutable_inputs());
      write_infos((*servable)->outputs(), *signature.mutable_outputs());
      signature.set_method_name("tensorflow/serving/predict");
      (*answer->mutable_metadata())["signature_def"].PackFrom(map);
      write_spec(**servable, *answer->mutable_model_spec());
      return ::grpc::Status::OK;
    });
  }

 private:
  void predict(ModelCall& call, const tfs::PredictRequest& message,
               tfs::PredictResponse& answer) const {
    call.answer_later([&](InputMemory& memory) { return predict_request(message, memory); },
                      [&message, &answer](const InferResponse& response) {
                        // Clients that list their numbers may not know how to read bytes.
                        bool as_content = false;
                        for (const auto& [name, tensor] : message.inputs()) {
                          as_content = as_content || !tensor.tensor_content().empty();
                        }
                        for (const OutputTensor& output : response.outputs) {
                          write_tensor(output, as_content,
                                       (*answer.mutable_outputs())[output.name]);
                        }
                        write_spec(*response.servable, *answer.mutable_model_spec());
                        return ::grpc::Status::OK;
                      });
  }

  void classify(ModelCall& call, const tfs::ClassificationRequest& message,
                tfs::ClassificationResponse& answer) const {
    call.answer_later(
        [&](InputMemory& memory) {
          return example_request(shared_.models, message.model_spec(), message.input(), memory);
        },
        [&answer](const InferResponse& response) {
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
          return ::grpc::Status::OK;
        });
  }

  void regress(ModelCall& call, const tfs::RegressionRequest& message,
               tfs::RegressionResponse& answer) const {
    call.answer_later(
        [&](InputMemory& memory) {
          return example_request(shared_.models, message.model_spec(), message.input(), memory);
        },
        [&answer](const InferResponse& response) {
          const OutputTensor& output = scores_of(response, 1, "regress");
          for (int64_t i = 0; i < output.shape[0]; ++i) {
            answer.mutable_result()->add_regressions()->set_value(number_at(output, i));
          }
          write_spec(*response.servable, *answer.mutable_model_spec());
          return ::grpc::Status::OK;
        });
  }

  Result<InferRequest> predict_request(const tfs::PredictRequest& message,
                                       InputMemory& memory) const {
    auto servable = find(shared_.models, message.model_spec());
    if (!servable) return servable.status();
    InferRequest request;
    request.servable = *servable;
    for (const auto& [name, proto] : message.inputs()) {
      auto tensor = tensor_of(name, proto, shared_.options.max_message_bytes, memory);
      if (!tensor) return tensor.status();
      request.inputs.push_back(std::move(*tensor));
    }
    request.outputs.assign(message.output_filter().begin(), message.output_filter().end());
    return request;
  }

  Shared& shared_;
};

}  // namespace

ServiceParts make_prediction_service(Shared& shared) {
  auto service = std::make_unique<PredictionService>(shared);
  const auto listen = [own = service.get()](auto& queue) { own->listen_at(queue); };
  return {.service = std::move(service), .listen = listen};
}

}  // namespace pando::grpc
