// SPDX-License-Identifier: MIT
#include "pando/rest/open_inference.h"

#include "pando/base/error.h"
#include "pando/rest/call.h"
#include "pando/rest/open_inference_impl.h"

namespace pando::rest {
namespace {

http::Response text_response(std::string body, int status = 200) {
  http::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

// M[/versions/V][/ready | /infer], behind /v2/models/
struct OipPath {
  serve::ModelSpec spec;
  std::string verb;
};

std::optional<OipPath> parse_oip_path(std::string_view path) {
  constexpr std::string_view kModels = "/v2/models/";
  if (!path.starts_with(kModels)) return std::nullopt;
  const std::vector<std::string> parts = split(path.substr(kModels.size()), '/');
  OipPath result;
  size_t next = 1;
  if (!http::percent_decode(parts[0], result.spec.name) || parts[0].empty()) return std::nullopt;
  if (parts.size() > 2 && parts[1] == "versions") {
    result.spec.version = parse_int(parts[2]);
    if (!result.spec.version || *result.spec.version < 0) return std::nullopt;
    next = 3;
  }
  if (parts.size() > next + 1) return std::nullopt;
  if (parts.size() > next) result.verb = parts[next];
  return result;
}

size_t json_bytes_of(const http::Request& request) {
  const std::string_view text = request.header("inference-header-content-length");
  if (text.data() == nullptr) return request.body.size();
  const auto length = parse_int(text);
  if (!length || *length < 0 || static_cast<size_t>(*length) > request.body.size()) {
    throw InvalidArgument("header Inference-Header-Content-Length: expected 0 to ",
                          request.body.size(), ", the size of the body, got '", text, "'");
  }
  return static_cast<size_t>(*length);
}

}  // namespace

void OpenInference::handle(const http::Request& request, http::Reply reply) {
  reply_or_refuse(std::move(reply), [&](http::Reply& own) {
    constexpr std::string_view kHealth = "/v2/health/";
    const bool is_get = request.method == "GET" || request.method == "HEAD";
    if (is_get && (request.path == "/v2" || request.path == "/v2/")) {
      return own.send(text_response("{\"name\": \"pando\", \"version\": \"" + version_ +
                                    "\", \"extensions\": [\"binary_tensor_data\"]}"));
    }
    if (is_get && request.path.starts_with(kHealth)) {
      return health(request.path.substr(kHealth.size()), own);
    }
    model(request, own);
  });
}

void OpenInference::health(std::string_view which, http::Reply& reply) const {
  if (which != "live" && which != "ready") {
    return reply.send(http::error_response(404, "expected /v2/health/live or /v2/health/ready"));
  }
  const bool is_well = which == "live" ? backend_.live() : backend_.ready();
  reply.send(text_response(concat("{\"", which, "\": ", is_well ? "true" : "false", "}"),
                           is_well ? 200 : 503));
}

void OpenInference::model(const http::Request& request, http::Reply& reply) {
  const auto path = parse_oip_path(request.path);
  const bool is_get = request.method == "GET" || request.method == "HEAD";
  if (!path) return reply.send(http::error_response(404, "there is nothing at this address"));
  if (path->verb == "infer" && request.method == "POST") return infer(request, path->spec, reply);
  if (path->verb.empty() && is_get) return describe(path->spec, reply);
  if (path->verb == "ready" && is_get) {
    const auto status = backend_.status(path->spec);
    if (!status) return reply.send(response_of(status.status()));
    const bool is_ready = backend_.ready(path->spec);
    std::string body = "{\"name\": ";
    http::append_json_string(body, path->spec.name);
    return reply.send(text_response(concat(body, ", \"ready\": ", is_ready ? "true" : "false", "}"),
                                    is_ready ? 200 : 503));
  }
  const bool is_known = path->verb.empty() || path->verb == "ready" || path->verb == "infer";
  reply.send(http::error_response(is_known ? 405 : 404,
                                  is_known ? concat("unexpected method ", request.method)
                                           : std::string("there is nothing at this address")));
}

void OpenInference::describe(const serve::ModelSpec& spec, http::Reply& reply) const {
  const auto servable = backend_.find(spec);
  if (!servable) return reply.send(response_of(servable.status()));
  std::vector<int64_t> versions;
  const auto status = backend_.status({.name = spec.name});
  if (status) {
    for (const serve::VersionStatus& version : status->versions) {
      if (version.state == serve::VersionState::available) versions.push_back(version.version);
    }
  }
  reply.send(text_response(oip_metadata(**servable, versions)));
}

void OpenInference::infer(const http::Request& request, const serve::ModelSpec& spec,
                          http::Reply& reply) {
  const auto servable = backend_.find(spec);
  if (!servable) return reply.send(response_of(servable.status()));
  const auto memory = std::make_shared<InputMemory>();
  OipBody body = parse_oip_body(request.body, json_bytes_of(request), *memory);
  serve::InferRequest infer;
  infer.servable = *servable;
  infer.inputs = std::move(body.inputs);
  for (const OipOutput& output : body.outputs) infer.outputs.push_back(output.name);
  infer.deadline = deadline_of(request);
  if (body.timeout_us) {
    infer.deadline =
        std::min(infer.deadline, request.began + std::chrono::microseconds(*body.timeout_us));
  }
  infer.received = request.began;
  submit_call(backend_, std::move(infer), memory, std::move(reply),
              [body = std::move(body)](const serve::InferResponse& response) {
                return oip_response(response, body);
              });
}

}  // namespace pando::rest
