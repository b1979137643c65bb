// SPDX-License-Identifier: MIT
#include "pando/rest/open_inference.h"

#include <gtest/gtest.h>

#include "tests/rest/fake_backend.h"
#include "tests/support/expect_error.h"

namespace pando::rest {
namespace {

std::string raw(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * 4};
}

struct RestOip : testing::Test {
  FakeBackend backend;
  OpenInference serving{backend, "1.2.3"};
  std::string get(std::string_view path) {
    const http::Response response = ask(serving, "GET", path);
    return concat(response.status, " ", response.body);
  }
  std::string infer(const std::string& model, std::string_view body) {
    const http::Response response = ask(serving, "POST", "/v2/models/" + model + "/infer", body);
    return concat(response.status, " ", response.body);
  }
  http::Response binary(const std::string& model, const std::string& json,
                        const std::string& rest) {
    return ask(serving, "POST", "/v2/models/" + model + "/infer", json + rest,
               {{"Inference-Header-Content-Length", length = std::to_string(json.size())}});
  }
  std::string length;
};

TEST_F(RestOip, TellsAboutItself) {
  EXPECT_EQ(get("/v2"),
            R"(200 {"name": "pando", "version": "1.2.3", "extensions": ["binary_tensor_data"]})");
  EXPECT_EQ(get("/v2/health/live"), R"(200 {"live": true})");
  EXPECT_EQ(get("/v2/health/ready"), R"(200 {"ready": true})");
  EXPECT_EQ(get("/v2/models/rows/ready"), R"(200 {"name": "rows", "ready": true})");
  EXPECT_EQ(get("/v2/models/rows/versions/123"),
            R"(200 {"name": "rows", "versions": ["123"], "platform": "pando", "inputs": )"
            R"([{"name": "x", "datatype": "FP32", "shape": [-1, 2]}], "outputs": )"
            R"([{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]})");
  backend.is_ready = false;
  EXPECT_EQ(get("/v2/health/ready"), R"(503 {"ready": false})");
  EXPECT_SAYS(get("/v2/models/rows/ready"), "503");
  for (const char* nothing :
       {"/v2/health/well", "/v2/models/", "/v2/models/x", "/v2/models/x/ready",
        "/v2/models/rows/other", "/v2/models/rows/ready/x", "/v2/x", "/v2/models/rows/versions/x",
        "/v2/models/rows/versions/5"}) {
    EXPECT_EQ(get(nothing).substr(0, 3), "404") << nothing;
  }
  EXPECT_EQ(get("/v2/models/rows/infer").substr(0, 3), "405");
}

TEST_F(RestOip, AnswersJson) {
  EXPECT_EQ(
      infer("rows", R"({"id": "q\"1", "inputs": [{"name": "x", "shape": [2, 2],
                  "datatype": "FP32", "data": [0, 2, 4, 6]}], "outputs": [{"name": "y"}]})"),
      R"(200 {"model_name": "rows", "model_version": "123", "id": "q\"1", "outputs": )"
      R"([{"name": "y", "datatype": "FP32", "shape": [2, 2], "data": [2.0, 3.0, 4.0, 5.0]}]})");
  EXPECT_EQ(backend.last.outputs, std::vector<std::string>{"y"});
  // Nested lists, and the data before its type.
  EXPECT_SAYS(infer("rows", R"({"inputs": [{"data": [[0, 2], [4, 6]], "shape": [2, 2],
                    "name": "x", "datatype": "FP32"}]})"),
              "200", "[2.0, 3.0, 4.0, 5.0]");
  EXPECT_SAYS(
      infer("two", R"({"inputs": [{"name": "a", "shape": [1], "datatype": "FP32", "data": [1]},
                    {"name": "b", "shape": [1, 2], "datatype": "INT32", "data": [5, 6]}]})"),
      R"("name": "a", "datatype": "FP32", "shape": [1], "data": [2.5])",
      R"("name": "b", "datatype": "INT32", "shape": [1, 2], "data": [5, 6])");
  EXPECT_SAYS(infer("pixels", R"({"inputs": [{"name": "image", "shape": [1, 2], "datatype": "UINT8",
                    "data": [0, 255]}]})"),
              "[0, 255]");
  EXPECT_SAYS(infer("pictures", R"({"inputs": [{"name": "image", "shape": [1], "datatype": "BYTES",
                    "data": ["Zm9v"]}]})"),
              "\"data\": [3.0]");
}

TEST_F(RestOip, MovesBinaryTensors) {
  const std::string json =
      R"({"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32",
          "parameters": {"binary_data_size": 8}}],
          "outputs": [{"name": "y", "parameters": {"binary_data": true}}]})";
  const http::Response response = binary("rows", json, raw({0, 2}));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/octet-stream");
  const size_t head = std::stoul(response.headers.at(0).value);
  EXPECT_EQ(response.headers[0].name, "Inference-Header-Content-Length");
  EXPECT_EQ(response.body.substr(0, head),
            R"({"model_name": "rows", "model_version": "123", "outputs": [{"name": "y", )"
            R"("datatype": "FP32", "shape": [1, 2], "parameters": {"binary_data_size": 8}}]})");
  EXPECT_EQ(response.body.substr(head), raw({2, 3}));
}

TEST_F(RestOip, MovesBinaryTensorsWithoutBeingAskedForEach) {
  const std::string json =
      R"({"parameters": {"binary_data_output": true, "timeout": 5000000, "other": [1]},
          "inputs": [{"name": "x", "shape": [1], "datatype": "FP16",
          "parameters": {"binary_data_size": 2, "other": {}}}]})";
  const http::Response response = binary("halves", json, "\x01\x02");
  EXPECT_EQ(response.body.substr(response.body.size() - 2), "\x01\x02");
  EXPECT_EQ(backend.last.deadline - backend.last.received, std::chrono::seconds(5));
  const std::string pictures =
      R"({"inputs": [{"name": "image", "shape": [2], "datatype": "BYTES",
          "parameters": {"binary_data_size": 11}}]})";
  EXPECT_SAYS(binary("pictures", pictures, std::string("\1\0\0\0a\2\0\0\0bc", 11)).body,
              "[1.0, 2.0]");
}

TEST_F(RestOip, RefusesOther) {
  const auto input = [&](const std::string& fields) {
    return infer("rows", R"({"inputs": [{"name": "x", )" + fields + "}]}");
  };
  EXPECT_SAYS(infer("nothing", "{}"), "404", "nothing");
  EXPECT_SAYS(infer("rows", "{}"), "400", "inputs");
  EXPECT_SAYS(infer("rows", "[]"), "400", "object");
  EXPECT_SAYS(infer("rows", "{"), "400", "JSON Parse error");
  EXPECT_SAYS(infer("rows", R"({"inputs": 1})"), "list");
  EXPECT_SAYS(infer("rows", R"({"inputs": []} x)"), "400", "must not be followed");
  EXPECT_SAYS(infer("rows", R"({"id": 1})"), "'id'", "string");
  EXPECT_SAYS(infer("rows", R"({"parameters": {"timeout": -1}})"), "timeout");
  EXPECT_SAYS(infer("rows", R"({"parameters": {"binary_data_output": 1}})"), "true or false");
  EXPECT_SAYS(input(R"("shape": [1, 2], "datatype": "FP32")"), "'data'");
  EXPECT_SAYS(input(R"("shape": [1, 2], "datatype": "FP33", "data": [1, 2])"), "FP33", "FP32");
  EXPECT_SAYS(input(R"("shape": [1, 3], "datatype": "FP32", "data": [1, 2])"), "3 elements",
              "got 2");
  EXPECT_SAYS(input(R"("shape": [1, 1], "datatype": "FP32", "data": [1, 2])"), "at most 1");
  EXPECT_SAYS(input(R"("shape": [1, -1], "datatype": "FP32", "data": [1, 2])"), "shape");
  EXPECT_SAYS(input(R"("shape": [1.5], "datatype": "FP32", "data": [1, 2])"), "shape");
  EXPECT_SAYS(input(R"("shape": [4000000000, 4000000000], "datatype": "FP32", "data": [])"),
              "at most");
  EXPECT_SAYS(input(R"("shape": [1,1,1,1,1,1,1,1,1], "datatype": "FP32", "data": [1])"), "8 dim");
  EXPECT_SAYS(input(R"("shape": [1], "datatype": "BYTES", "data": [1])"), "bytes");
  EXPECT_SAYS(input(R"("shape": [1], "datatype": "FP32", "data": ["x"])"), "numbers");
  EXPECT_SAYS(
      input(
          R"("shape": [1], "datatype": "FP32", "data": [1], "parameters": {"binary_data_size": 4})"),
      "no 'data'");
  std::string many;
  for (int i = 0; i < 70; ++i) many += R"({"name": "x"},)";
  many.pop_back();
  EXPECT_SAYS(infer("rows", R"({"inputs": [)" + many + "]}"), "too many");
  EXPECT_SAYS(infer("rows", R"({"outputs": [)" + many + "]}"), "too many");
  EXPECT_SAYS(
      infer("halves",
            R"({"inputs": [{"name": "x", "shape": [1], "datatype": "FP16", "data": [1]}]})"),
      "400", "binary");
}

TEST_F(RestOip, RefusesOtherBinary) {
  const auto body = [&](const char* type, const char* bytes, const std::string& rest) {
    return binary("rows",
                  concat(R"({"inputs": [{"name": "x", "shape": [1], "datatype": ")", type,
                         R"(", "parameters": {"binary_data_size": )", bytes, "}}]}"),
                  rest)
        .body;
  };
  EXPECT_SAYS(body("FP32", "8", "1234"), "8 binary bytes", "got 4");
  EXPECT_SAYS(body("FP32", "3", "123"), "1 elements");
  EXPECT_SAYS(body("FP32", "4", "12345"), "no bytes after", "got 1");
  EXPECT_SAYS(body("BYTES", "3", "123"), "four bytes");
  EXPECT_SAYS(body("BYTES", "5", std::string("\5\0\0\0a", 5)), "longer");
  EXPECT_SAYS(body("FP32", "1e30", "1234"), "whole number");
  const auto length_of = [&](std::string_view header) {
    return ask(serving, "POST", "/v2/models/rows/infer", "{}",
               {{"Inference-Header-Content-Length", header}})
        .body;
  };
  for (const char* bad : {"3", "-1", "x", ""}) {
    EXPECT_SAYS(length_of(bad), "Inference-Header-Content-Length");
  }
}

}  // namespace
}  // namespace pando::rest
