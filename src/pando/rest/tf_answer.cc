// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/base/error.h"
#include "pando/http/message.h"
#include "pando/rest/call.h"
#include "pando/rest/tf_request_impl.h"

namespace pando::rest {
namespace {

using http::append_json_string;

// The samples of all outputs, which must agree.
int64_t samples_of(const serve::InferResponse& response) {
  const int64_t samples = response.outputs.empty() || response.outputs[0].shape.empty()
                              ? 0
                              : response.outputs[0].shape[0];
  for (const serve::OutputTensor& output : response.outputs) {
    if (output.shape.empty() || output.shape[0] != samples) {
      throw InvalidArgument("Tensor name: ", output.name,
                            " has inconsistent batch size; ask for columns ('inputs')");
    }
  }
  return samples;
}

void append_sample(std::string& out, const serve::OutputTensor& output, int64_t sample) {
  const std::span<const int64_t> shape(output.shape.begin() + 1, output.shape.end());
  const size_t bytes = output.data.size() / static_cast<size_t>(output.shape[0]);
  append_output(out, output, shape,
                output.data.subspan(static_cast<size_t>(sample) * bytes, bytes));
}

void append_key(std::string& out, std::string_view key) {
  append_json_string(out, key);
  out += ": ";
}

std::string_view tf_type(serve::ElementType type) {
  switch (type) {
    case serve::ElementType::f32: return "DT_FLOAT";
    case serve::ElementType::f16: return "DT_HALF";
    case serve::ElementType::bf16: return "DT_BFLOAT16";
    case serve::ElementType::u8: return "DT_UINT8";
    case serve::ElementType::i32: return "DT_INT32";
    case serve::ElementType::bytes: return "DT_STRING";
  }
  return "DT_INVALID";
}

void append_tensor_infos(std::string& out, const std::vector<serve::TensorInfo>& tensors) {
  out += "{";
  for (const serve::TensorInfo& tensor : tensors) {
    if (&tensor != &tensors.front()) out += ", ";
    append_key(out, tensor.name);
    out += concat("{\"dtype\": \"", tf_type(tensor.type), "\", \"tensor_shape\": {\"dim\": [");
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      out += concat(i == 0 ? "" : ", ", "{\"size\": \"", tensor.shape[i], "\", \"name\": \"\"}");
    }
    out += "], \"unknown_rank\": false}, ";
    append_key(out, "name");
    append_json_string(out, tensor.name + ":0");
    out += "}";
  }
  out += "}";
}

// The f32 output of shape [samples, ...] with this many numbers per sample; 0: any.
const serve::OutputTensor& scores_of(const serve::InferResponse& response, int64_t per_sample,
                                     const char* verb) {
  for (const serve::OutputTensor& output : response.outputs) {
    const bool is_row = output.shape.size() == 1 || output.shape.size() == 2;
    const int64_t numbers = output.shape.size() == 2 ? output.shape[1] : 1;
    if (output.type == serve::ElementType::f32 && is_row &&
        (per_sample == 0 || numbers == per_sample)) {
      return output;
    }
  }
  throw InvalidArgument("Expected ", verb,
                        " signature method_name; the model has no output for it, use :predict");
}

float score_at(const serve::OutputTensor& output, size_t index) {
  float score = 0;
  std::memcpy(&score, output.data.data() + index * sizeof(score), sizeof(score));
  return score;
}

}  // namespace

std::string predict_text(const serve::InferResponse& response, TfForm form) {
  const auto& outputs = response.outputs;
  std::string out;
  size_t bytes = 0;
  for (const serve::OutputTensor& output : outputs) bytes += output.data.size();
  out.reserve(bytes * 4 + 64);
  const auto append_named = [&](auto append_one) {
    if (outputs.size() == 1) return append_one(outputs[0]);
    out += "{";
    for (const serve::OutputTensor& output : outputs) {
      if (&output != &outputs.front()) out += ", ";
      append_key(out, output.name);
      append_one(output);
    }
    out += "}";
  };
  if (form == TfForm::columns) {
    out += "{\"outputs\": ";
    append_named([&](const serve::OutputTensor& output) {
      append_output(out, output, output.shape, output.data);
    });
    return out += "}";
  }
  out += "{\"predictions\": [";
  const int64_t samples = samples_of(response);
  for (int64_t i = 0; i < samples; ++i) {
    if (i > 0) out += ", ";
    append_named([&](const serve::OutputTensor& output) { append_sample(out, output, i); });
  }
  return out += "]}";
}

std::string classify_text(const serve::InferResponse& response) {
  const serve::OutputTensor& output = scores_of(response, 0, "classify");
  const std::vector<std::string>& labels = response.servable->facts().labels;
  const auto samples = static_cast<size_t>(output.shape[0]);
  const size_t classes = output.shape.size() == 2 ? static_cast<size_t>(output.shape[1]) : 1;
  std::string out = "{\"results\": [";
  for (size_t i = 0; i < samples; ++i) {
    out += i == 0 ? "[" : ", [";
    for (size_t k = 0; k < classes; ++k) {
      out += k == 0 ? "[" : ", [";
      append_json_string(out, k < labels.size() ? labels[k] : std::to_string(k));
      out += ", ";
      wire::append_float(out, score_at(output, i * classes + k));
      out += "]";
    }
    out += "]";
  }
  return out += "]}";
}

std::string regress_text(const serve::InferResponse& response) {
  const serve::OutputTensor& output = scores_of(response, 1, "regress");
  std::string out = "{\"results\": ";
  append_output(out, output, std::span(output.shape).first(1), output.data);
  return out += "}";
}

std::string status_text(const serve::ModelStatus& status) {
  std::string out = "{\"model_version_status\": [";
  for (const serve::VersionStatus& version : status.versions) {
    if (&version != &status.versions.front()) out += ", ";
    out += concat("{\"version\": \"", version.version, "\", \"state\": \"",
                  to_string(version.state), "\", \"status\": {\"error_code\": \"",
                  to_string(version.status.code), "\", \"error_message\": ");
    append_json_string(out, version.status.message);
    out += "}}";
  }
  return out += "]}";
}

std::string metadata_text(const serve::Servable& servable) {
  std::string out = "{\"model_spec\": {\"name\": ";
  append_json_string(out, servable.name());
  out +=
      ", \"signature_name\": \"\", \"version\": \"" + std::to_string(servable.version()) + "\"}, ";
  out += "\"metadata\": {\"signature_def\": {\"signature_def\": {";
  append_key(out, servable.signature());
  out += "{\"inputs\": ";
  append_tensor_infos(out, servable.inputs());
  out += ", \"outputs\": ";
  append_tensor_infos(out, servable.outputs());
  out += ", \"method_name\": \"tensorflow/serving/predict\"}}}}}";
  return out;
}

}  // namespace pando::rest
