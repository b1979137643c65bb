// SPDX-License-Identifier: MIT
#include <deque>

#include "pando/base/error.h"
#include "pando/rest/tf_request_impl.h"

namespace pando::rest {
namespace {

using Kind = wire::JsonCursor::Kind;

// All inputs of a model while a body is read.
class TfInputs {
 public:
  TfInputs(const serve::Servable& servable, InputMemory& memory)
      : servable_(servable), memory_(memory) {
    for (const serve::TensorInfo& info : servable.inputs()) inputs_.emplace_back(servable, info);
  }

  // {"name": value, ...} with all names once.
  void add_object(wire::JsonCursor& cursor) {
    std::string name;
    const int64_t before = inputs_.front().values();
    cursor.enter_object();
    while (cursor.next_member(name)) {
      JsonInput& input = find(name);
      if (input.values() != before && before == expected_) {
        throw InvalidArgument("input '", name, "' occurs twice");
      }
      input.add(cursor);
    }
    ++expected_;
    for (const JsonInput& input : inputs_) {
      if (input.values() != expected_) {
        throw InvalidArgument("Failed to process element: ", expected_ - 1,
                              " key: ", input.info().name,
                              " of 'instances' list: expected the "
                              "key once for every input of the model: ",
                              names());
      }
    }
  }
  void add_plain(wire::JsonCursor& cursor) {
    only().add(cursor);
    ++expected_;
  }

  std::vector<serve::InputTensor> finish(bool in_rows) {
    std::vector<serve::InputTensor> tensors;
    for (JsonInput& input : inputs_) tensors.push_back(input.finish(in_rows, memory_));
    return tensors;
  }

  // Whether an object is the value of the only input, as {"b64": ...} is.
  bool is_encoded(wire::JsonCursor cursor) const {
    if (servable_.inputs().size() != 1 || servable_.find_input("b64") != nullptr) return false;
    std::string name;
    cursor.enter_object();
    return cursor.next_member(name) && name == "b64";
  }

 private:
  JsonInput& only() {
    if (inputs_.size() == 1) return inputs_.front();
    throw InvalidArgument("expected an object with a value for each of the inputs ", names());
  }
  JsonInput& find(const std::string& name) {
    for (JsonInput& input : inputs_) {
      if (input.info().name == name) return input;
    }
    throw InvalidArgument(unknown_name_message("input", name, name_list()));
  }
  std::vector<std::string> name_list() const {
    std::vector<std::string> list;
    for (const serve::TensorInfo& info : servable_.inputs()) list.push_back(info.name);
    return list;
  }
  std::string names() const { return join(name_list(), ", "); }

  const serve::Servable& servable_;
  InputMemory& memory_;
  std::deque<JsonInput> inputs_;
  int64_t expected_ = 0;  // values of every input
};

void read_rows(wire::JsonCursor& cursor, TfInputs& inputs, const char* key) {
  if (cursor.kind() != Kind::array) {
    throw InvalidArgument("Excepting '", key, "' value to be an list/array");
  }
  cursor.enter_array();
  int64_t rows = 0;
  while (cursor.next_element()) {
    ++rows;
    if (cursor.kind() == Kind::object && !inputs.is_encoded(cursor)) {
      inputs.add_object(cursor);
    } else {
      inputs.add_plain(cursor);
    }
  }
  if (rows == 0) throw InvalidArgument("No values found in '", key, "' list");
}

void read_columns(wire::JsonCursor& cursor, TfInputs& inputs) {
  if (cursor.kind() == Kind::object && !inputs.is_encoded(cursor)) {
    inputs.add_object(cursor);
  } else {
    inputs.add_plain(cursor);
  }
}

}  // namespace

std::string tf_signature_name(std::string_view body) {
  if (body.find("\"signature_name\"") == body.npos) return {};
  wire::JsonCursor cursor(body);
  std::string key;
  if (cursor.kind() != Kind::object) return {};
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key != "signature_name") {
      cursor.skip();
    } else if (cursor.kind() == Kind::string) {
      cursor.string(key);
      return key;
    } else {
      throw InvalidArgument("'signature_name' key must be a string value.");
    }
  }
  return {};
}

TfBody parse_tf_body(std::string_view body, bool wants_examples, const serve::Servable& servable,
                     InputMemory& memory) {
  TfBody result;
  TfInputs inputs(servable, memory);
  bool is_found = false;
  const auto begin = [&](TfForm form) {
    if (is_found) {
      throw InvalidArgument("Not expecting both 'instances' and 'inputs', nor one of them twice");
    }
    is_found = true;
    result.form = form;
  };
  wire::JsonCursor cursor(body);
  if (cursor.kind() != Kind::object) {
    throw InvalidArgument("Request should be an object, got a list or a value");
  }
  std::string key;
  cursor.enter_object();
  while (cursor.next_member(key)) {
    if (key == "instances" && !wants_examples) {
      begin(TfForm::rows);
      read_rows(cursor, inputs, "instances");
    } else if (key == "inputs" && !wants_examples) {
      begin(TfForm::columns);
      read_columns(cursor, inputs);
    } else if (key == "examples" && wants_examples) {
      begin(TfForm::examples);
      read_rows(cursor, inputs, "examples");
    } else if (key == "context" && wants_examples) {
      throw InvalidArgument("'context': this model takes complete examples, expected no context");
    } else {
      cursor.skip();
    }
  }
  if (!is_found) {
    throw InvalidArgument(wants_examples ? "Missing 'examples' key"
                                         : "Missing 'inputs' or 'instances' key");
  }
  result.inputs = inputs.finish(result.form != TfForm::columns);
  return result;
}

TfBody parse_raw_body(std::string_view body, const serve::Servable& servable) {
  const serve::TensorInfo* input = servable.find_input("");
  if (input == nullptr) {
    throw InvalidArgument("expected JSON: the model has several inputs, a picture is only one");
  }
  TfBody result;
  serve::InputTensor& tensor = result.inputs.emplace_back();
  tensor.name = input->name;
  const bool is_picture = body.starts_with("\xFF\xD8\xFF") || body.starts_with("\x89PNG\r\n\x1A\n");
  if (is_picture && servable.accepted_shape(*input, serve::ElementType::bytes)) {
    tensor.type = serve::ElementType::bytes;
    tensor.shape = {1};
    tensor.elements = {body};
    return result;
  }
  tensor.type = input->type;
  if (tensor.type == serve::ElementType::bytes) {
    throw InvalidArgument("expected a body that is a JPEG or PNG picture, got ", body.size(),
                          " other bytes");
  }
  const auto sample = sample_elements(input->shape) * static_cast<int64_t>(size_of(tensor.type));
  if (sample == 0 || body.empty() || static_cast<int64_t>(body.size()) % sample != 0) {
    throw InvalidArgument("expected a body of samples of ", sample, " bytes each (",
                          to_string(tensor.type), "), got ", body.size(), " bytes");
  }
  tensor.shape = input->shape;
  tensor.shape[0] = static_cast<int64_t>(body.size()) / sample;
  tensor.data = std::as_bytes(std::span(body));
  return result;
}

}  // namespace pando::rest
