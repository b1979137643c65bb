// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/rest/call.h"
#include "pando/rest/open_inference_impl.h"

namespace pando::rest {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += concat(i == 0 ? "" : ", ", shape[i]);
  return text + "]";
}

bool is_binary(const serve::OutputTensor& output, const OipBody& body) {
  for (const OipOutput& wanted : body.outputs) {
    if (wanted.name == output.name && wanted.is_binary) return *wanted.is_binary;
  }
  return body.binary_outputs;
}

void append_tensor_list(std::string& out, const std::vector<serve::TensorInfo>& tensors) {
  out += "[";
  for (const serve::TensorInfo& tensor : tensors) {
    out += &tensor == &tensors.front() ? "{\"name\": " : ", {\"name\": ";
    http::append_json_string(out, tensor.name);
    out += concat(", \"datatype\": \"", oip_type(tensor.type),
                  "\", \"shape\": ", shape_text(tensor.shape), "}");
  }
  out += "]";
}

}  // namespace

http::Response oip_response(const serve::InferResponse& response, const OipBody& body) {
  std::string json = "{\"model_name\": ";
  http::append_json_string(json, response.servable->name());
  json += concat(", \"model_version\": \"", response.servable->version(), "\"");
  if (body.id) {
    json += ", \"id\": ";
    http::append_json_string(json, *body.id);
  }
  json += ", \"outputs\": [";
  size_t binary_bytes = 0;
  for (const serve::OutputTensor& output : response.outputs) {
    json += &output == &response.outputs.front() ? "{\"name\": " : ", {\"name\": ";
    http::append_json_string(json, output.name);
    json += concat(", \"datatype\": \"", oip_type(output.type),
                   "\", \"shape\": ", shape_text(output.shape));
    if (is_binary(output, body)) {
      json += concat(", \"parameters\": {\"binary_data_size\": ", output.data.size(), "}}");
      binary_bytes += output.data.size();
      continue;
    }
    if (output.type == serve::ElementType::f16 || output.type == serve::ElementType::bf16) {
      throw InvalidArgument("output '", output.name, "': ", oip_type(output.type),
                            " exists only as binary data; ask for it by 'binary_data'");
    }
    json += ", \"data\": ";
    const int64_t elements[] = {static_cast<int64_t>(output.data.size() / size_of(output.type))};
    append_output(json, output, elements, output.data);
    json += "}";
  }
  json += "]}";
  http::Response result;
  if (binary_bytes > 0) {
    result.content_type = "application/octet-stream";
    result.headers.push_back({"Inference-Header-Content-Length", std::to_string(json.size())});
    json.reserve(json.size() + binary_bytes);
    for (const serve::OutputTensor& output : response.outputs) {
      if (!is_binary(output, body)) continue;
      json.append(reinterpret_cast<const char*>(output.data.data()), output.data.size());
    }
  }
  result.body = std::move(json);
  return result;
}

std::string oip_metadata(const serve::Servable& servable, const std::vector<int64_t>& versions) {
  std::string out = "{\"name\": ";
  http::append_json_string(out, servable.name());
  out += ", \"versions\": [";
  for (size_t i = 0; i < versions.size(); ++i) {
    out += concat(i == 0 ? "\"" : ", \"", versions[i], "\"");
  }
  out += "], \"platform\": \"pando\", \"inputs\": ";
  append_tensor_list(out, servable.inputs());
  out += ", \"outputs\": ";
  append_tensor_list(out, servable.outputs());
  return out + "}";
}

}  // namespace pando::rest
