// SPDX-License-Identifier: MIT
#include "pando/rest/tf_serving.h"

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "tests/rest/fake_backend.h"
#include "tests/support/expect_error.h"

namespace pando::rest {
namespace {

struct RestTf : testing::Test {
  FakeBackend backend;
  TfServing serving{backend};
  std::string post(const std::string& model, std::string_view body,
                   std::vector<http::HeaderView> headers = {}) {
    const http::Response response =
        ask(serving, "POST", "/v1/models/" + model, body, std::move(headers));
    return concat(response.status, " ", response.body);
  }
};

TEST_F(RestTf, ParsesPaths) {
  const auto path = [](std::string_view text) -> std::string {
    const auto parsed = parse_tf_path(text);
    if (!parsed) return "refused";
    const serve::ModelSpec& spec = parsed->spec;
    return concat(spec.name, "|", spec.version ? concat(*spec.version) : "", "|", spec.label, "|",
                  parsed->verb);
  };
  EXPECT_EQ(path("/v1/models/a:predict"), "a|||predict");
  EXPECT_EQ(path("/V1/Models/a:Predict"), "a|||predict");
  EXPECT_EQ(path("/v1/models/a%20b/versions/007:classify"), "a b|7||classify");
  EXPECT_EQ(path("/v1/models/a/labels/stable:regress"), "a||stable|regress");
  EXPECT_EQ(path("/v1/models/a"), "a|||");
  EXPECT_EQ(path("/v1/models/a/versions/1/metadata"), "a|1||metadata");
  EXPECT_EQ(path("/v1/models/..%2f..%2fetc"), "../../etc|||");  // a name, never a path
  for (const char* bad :
       {"/v1/models/", "/v1/models/a:", "/v1/models/a:delete", "/v1/models/a/versions/x:predict",
        "/v1/models/a/versions/-1", "/v1/models/a/versions/", "/v1/models/a/labels/",
        "/v1/models/a/b", "/v1/models/:predict", "/v1/models/a%zz", "/v1/models/a%00",
        "/v2/models/a", "/v1/models/a/versions/99999999999999999999:predict",
        "/v1/models/a/metadata/x"}) {
    EXPECT_EQ(path(bad), "refused") << bad;
  }
}

TEST_F(RestTf, AnswersTheExamplesOfItsDocumentation) {
  EXPECT_EQ(post("half_plus_two:predict", R"({"instances": [1.0, 2.0, 5.0]})"),
            R"(200 {"predictions": [2.5, 3.0, 4.5]})");
  EXPECT_EQ(post("half_plus_two/versions/123:predict",
                 R"({"signature_name": "serving_default", "instances": [1.0, 2.0, 5.0]})"),
            R"(200 {"predictions": [2.5, 3.0, 4.5]})");
  EXPECT_EQ(post("half_plus_two:regress", R"({"examples": [{"x": 1.0}, {"x": 2.0}]})"),
            R"(200 {"results": [2.5, 3.0]})");
}

TEST_F(RestTf, TakesRowsAndColumns) {
  EXPECT_EQ(post("rows:predict", R"({"instances": [[0, 2], [4, NaN]]})"),
            R"(200 {"predictions": [[2.0, 3.0], [4.0, NaN]]})");
  EXPECT_EQ(post("rows:predict", R"({"instances": [{"x": [0, 2]}]})"),
            R"(200 {"predictions": [[2.0, 3.0]]})");
  EXPECT_EQ(post("rows:predict", R"({"inputs": [[0, 2], [4, 6]]})"),
            R"(200 {"outputs": [[2.0, 3.0], [4.0, 5.0]]})");
  EXPECT_EQ(post("rows:predict", R"({"inputs": {"x": [[0, 2]]}})"),
            R"(200 {"outputs": [[2.0, 3.0]]})");
  EXPECT_EQ(post("two:predict", R"({"instances": [{"a": 1, "b": [2, 3]}, {"b": [4, 5], "a": 3}]})"),
            R"(200 {"predictions": [{"a": 2.5, "b": [2, 3]}, {"a": 3.5, "b": [4, 5]}]})");
  EXPECT_EQ(post("two:predict", R"({"inputs": {"a": [1], "b": [[2, 3]]}})"),
            R"(200 {"outputs": {"a": [2.5], "b": [[2, 3]]}})");
  EXPECT_EQ(post("halves:predict", R"({"instances": [1.5]})"), R"(200 {"predictions": [1.5]})");
  // What follows the document is ignored, as upstream does.
  EXPECT_EQ(post("rows:predict", R"({"instances": [[0, 2]]} and more)").substr(0, 3), "200");
}

TEST_F(RestTf, TakesPictures) {
  EXPECT_EQ(post("pictures:predict", R"({"instances": [{"b64": "Zm9v"}, {"b64": "YmFyYg=="}]})"),
            R"(200 {"predictions": [3.0, 4.0]})");
  EXPECT_EQ(post("pictures:predict", R"({"instances": [{"image": {"b64": "Zm9v"}}]})"),
            R"(200 {"predictions": [3.0]})");
  post("pictures:predict", R"({"instances": [[[[1], [2]], [[3], [255]]]]})");
  EXPECT_EQ(backend.last.inputs[0].type, serve::ElementType::u8);
  EXPECT_EQ(backend.last.inputs[0].shape, (std::vector<int64_t>{1, 2, 2, 1}));
  post("pictures:predict", R"({"instances": [[[[1], [2]], [[3], [0.5]]]]})");
  EXPECT_EQ(backend.last.inputs[0].type, serve::ElementType::f32);
}

TEST_F(RestTf, TakesBodiesThatArePicturesOrNumbers) {
  const std::string jpeg = "\xFF\xD8\xFF and so on";
  EXPECT_EQ(post("pictures:predict", jpeg, {{"Content-Type", "image/jpeg"}}),
            concat(R"(200 {"predictions": [)", jpeg.size(), R"(.0]})"));
  EXPECT_EQ(
      post("pictures:predict", jpeg, {{"content-type", "application/octet-stream"}}).substr(0, 3),
      "200");
  const float numbers[] = {0, 2, 4, 6};
  const std::string_view raw(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  EXPECT_EQ(post("rows:predict", raw, {{"Content-Type", "application/octet-stream"}}),
            R"(200 {"predictions": [[2.0, 3.0], [4.0, 5.0]]})");
  EXPECT_EQ(backend.last.inputs[0].data.data(), static_cast<const void*>(numbers));  // not copied
  const auto bad = [&](const char* model, std::string_view body, std::string_view type) {
    return post(model, body, {{"Content-Type", type}});
  };
  EXPECT_SAYS(bad("rows:predict", "123", "application/octet-stream"), "400", "8 bytes each");
  EXPECT_SAYS(bad("rows:predict", "", "application/octet-stream"), "400");
  EXPECT_SAYS(bad("pictures:predict", "123", "image/png"), "400", "JPEG or PNG");
  EXPECT_SAYS(bad("two:predict", jpeg, "image/jpeg"), "400", "several inputs");
  EXPECT_SAYS(bad("pictures:predict", "GIF89a", "image/gif"), "415", "image/gif");
}

TEST_F(RestTf, Classifies) {
  EXPECT_EQ(
      post("classes:classify", R"({"examples": [{"x": [0, 2]}, {"x": [4, 6]}]})"),
      R"(200 {"results": [[["cat", 2.0], ["\"dog\"", 3.0]], [["cat", 4.0], ["\"dog\"", 5.0]]]})");
  EXPECT_EQ(post("rows:classify", R"({"examples": [{"x": [0, 2]}]})"),
            R"(200 {"results": [[["0", 2.0], ["1", 3.0]]]})");
  EXPECT_SAYS(post("pixels:classify", R"({"examples": [{"image": [0, 2]}]})"), "400", "classify");
  EXPECT_SAYS(post("rows:regress", R"({"examples": [{"x": [0, 2]}]})"), "400", "regress");
  EXPECT_SAYS(post("rows:classify", R"({"instances": [[1, 2]]})"), "400", "'examples'");
  EXPECT_SAYS(post("rows:classify", R"({"context": {}, "examples": []})"), "400", "context");
}

TEST_F(RestTf, NamesWhatIsWrongInItsWords) {
  const auto error = [&](std::string_view body) { return post("rows:predict", body); };
  EXPECT_SAYS(post("nothing:predict", "{}"), "404 {\"error\": \"Servable not found",
              "for request: Latest(nothing)\"}");
  EXPECT_SAYS(post("rows/versions/5:predict", "{}"), "404", "Specific(rows, 5)");
  EXPECT_SAYS(error(R"({"signature_name": "x", "instances": [[1, 2]]})"), "400",
              R"(Serving signature name: \"x\" not found in signature def)");
  EXPECT_SAYS(error(R"({"instances": [[1, 2]], "signature_name": 5})"), "400", "'signature_name'");
  EXPECT_SAYS(error("{"), "400", "JSON Parse error: ", "at offset: 1");
  EXPECT_SAYS(error(""), "The document is empty");
  EXPECT_SAYS(error("[]"), "object");
  EXPECT_SAYS(error("{}"), "400", "Missing 'inputs' or 'instances' key");
  EXPECT_SAYS(error(R"({"instances": [[1, 2]], "inputs": [[1, 2]]})"), "both");
  EXPECT_SAYS(error(R"({"instances": 1})"), "list");
  EXPECT_SAYS(error(R"({"instances": []})"), "No values");
  EXPECT_SAYS(error(R"({"instances": [[1, 2], [3]]})"),
              "Encountered list at unexpected size: 1 at level: 0 expected size: 2");
  EXPECT_SAYS(error(R"({"instances": [{"y": [1, 2]}]})"), "unknown input 'y'");
  EXPECT_SAYS(error(R"({"instances": [{}]})"), "key: x");
  EXPECT_SAYS(error(R"({"instances": [{"x": [1, 2], "x": [3, 4]}]})"), "twice");
  EXPECT_SAYS(error(R"({"instances": [[1, 2], {"b64": "Zm9v"}]})"), "400");
  EXPECT_SAYS(error(R"({"instances": [{"b64": "?"}]})"), "Unable to base64 decode");
  EXPECT_SAYS(post("two:predict", R"({"instances": [1]})"), "a, b");
  EXPECT_SAYS(post("two:predict", R"({"instances": [{"a": 1}]})"), "key: b");
  EXPECT_SAYS(post("pixels:predict", R"({"instances": [[1, 256]]})"), "0 to 255");
  EXPECT_SAYS(error(R"({"instances": [[1, "x"]]})"), "both");
  EXPECT_SAYS(post("pixels:predict", R"({"instances": [{"b64": "Zm9v"}]})"), "200");
}

TEST_F(RestTf, MapsFailures) {
  const auto status = [&](serve::Code code) {
    backend.failure = serve::failure(code, "why");
    const http::Response response =
        ask(serving, "POST", "/v1/models/rows:predict", R"({"instances": [[1, 2]]})");
    EXPECT_EQ(response.body, "{\"error\": \"why\"}\n");
    return response;
  };
  EXPECT_EQ(status(serve::Code::invalid_argument).status, 400);
  EXPECT_EQ(status(serve::Code::deadline_exceeded).status, 504);
  EXPECT_EQ(status(serve::Code::internal).status, 500);
  backend.failure.retry_after_sec = 0;
  const http::Response busy = status(serve::Code::resource_exhausted);
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.headers.at(0).name, "Retry-After");
  EXPECT_EQ(status(serve::Code::unavailable).status, 503);
}

TEST_F(RestTf, TakesDeadlines) {
  post("rows:predict", R"({"instances": [[1, 2]]})");
  EXPECT_EQ(backend.last.deadline, serve::Clock::time_point::max());
  post("rows:predict", R"({"instances": [[1, 2]]})", {{"Request-Timeout-Ms", "2000"}});
  EXPECT_EQ(backend.last.deadline - backend.last.received, std::chrono::seconds(2));
  for (const char* bad : {"0", "-1", "x", "1e9", "99999999999", ""}) {
    EXPECT_SAYS(post("rows:predict", R"({"instances": [[1, 2]]})", {{"Request-Timeout-Ms", bad}}),
                "400", "Request-Timeout-Ms");
  }
}

TEST_F(RestTf, TellsStatusAndMetadata) {
  const auto get = [&](std::string_view path) {
    const http::Response response = ask(serving, "GET", path);
    return concat(response.status, " ", response.body);
  };
  EXPECT_EQ(get("/v1/models/rows"),
            R"(200 {"model_version_status": [{"version": "124", "state": "END", )"
            R"("status": {"error_code": "INVALID_ARGUMENT", "error_message": "bad \"file\""}}, )"
            R"({"version": "123", "state": "AVAILABLE", )"
            R"("status": {"error_code": "OK", "error_message": ""}}]})");
  EXPECT_EQ(get("/v1/models/rows/metadata"),
            R"(200 {"model_spec": {"name": "rows", "signature_name": "", "version": "123"}, )"
            R"("metadata": {"signature_def": {"signature_def": {"serving_default": {"inputs": )"
            R"({"x": {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": "-1", "name": ""}, )"
            R"({"size": "2", "name": ""}], "unknown_rank": false}, "name": "x:0"}}, "outputs": )"
            R"({"y": {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": "-1", "name": ""}, )"
            R"({"size": "2", "name": ""}], "unknown_rank": false}, "name": "y:0"}}, )"
            R"("method_name": "tensorflow/serving/predict"}}}}})");
  EXPECT_NO_THROW(Json::parse(get("/v1/models/two/metadata").substr(4)));
  EXPECT_SAYS(get("/v1/models"), "400", "Missing model name in request.");
  EXPECT_SAYS(get("/v1/models/x"), "404");
  EXPECT_SAYS(get("/v1/models/x/metadata"), "404");
  EXPECT_SAYS(get("/v1/models/rows:predict"), "400",
              "Malformed request: GET /v1/models/rows:predict");
  EXPECT_SAYS(get("/v1/other"), "400", "Malformed request");
  EXPECT_EQ(ask(serving, "DELETE", "/v1/models/rows").status, 400);
  EXPECT_EQ(ask(serving, "POST", "/v1/models/rows").status, 400);
}

}  // namespace
}  // namespace pando::rest
