// Bodies of requests to TensorFlow Serving, and their answers.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/http/message.h"
#include "pando/rest/json_input.h"
#include "pando/serve/model_server.h"

namespace pando::rest {

enum class TfForm {
  rows,     // "instances", answered by "predictions"
  columns,  // "inputs", answered by "outputs"
  examples  // of classify and regress, answered by "results"
};

struct TfBody {
  TfForm form = TfForm::rows;
  std::string signature_name;
  std::vector<serve::InputTensor> inputs;
};

// Reads only the signature name, which decides which servable reads the rest. Fast if the name
// comes before the tensors.
std::string tf_signature_name(std::string_view body);
// Throws InvalidArgument in the words of TensorFlow Serving.
TfBody parse_tf_body(std::string_view body, bool wants_examples, const serve::Servable& servable,
                     InputMemory& memory);
// A body that is one encoded picture, or the bytes of samples one after the other.
TfBody parse_raw_body(std::string_view body, const serve::Servable& servable);
bool is_raw_body(const http::Request& request);

std::string predict_text(const serve::InferResponse& response, TfForm form);
// Throw InvalidArgument if the model has no such output.
std::string classify_text(const serve::InferResponse& response);
std::string regress_text(const serve::InferResponse& response);
std::string status_text(const serve::ModelStatus& status);
std::string metadata_text(const serve::Servable& servable);

}  // namespace pando::rest
