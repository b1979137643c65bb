// SPDX-License-Identifier: MIT
#include "pando/rest/tf_serving.h"

#include "pando/base/error.h"
#include "pando/rest/call.h"
#include "pando/rest/tf_request_impl.h"

namespace pando::rest {
namespace {

http::Response json_response(std::string body) {
  http::Response response;
  response.body = std::move(body);
  return response;
}

http::Response malformed(const http::Request& request) {
  return http::error_response(400,
                              concat("Malformed request: ", request.method, " ", request.path));
}

bool is_media_type(std::string_view type, std::string_view wanted) {
  return to_lower(trim(type.substr(0, type.find(';')))) == wanted;
}

Answer answer_of(const std::string& verb, TfForm form) {
  if (verb == "classify") {
    return
        [](const serve::InferResponse& response) { return json_response(classify_text(response)); };
  }
  if (verb == "regress") {
    return
        [](const serve::InferResponse& response) { return json_response(regress_text(response)); };
  }
  return [form](const serve::InferResponse& response) {
    return json_response(predict_text(response, form));
  };
}

}  // namespace

bool is_raw_body(const http::Request& request) {
  const std::string_view type = request.header("content-type");
  return is_media_type(type, "image/jpeg") || is_media_type(type, "image/png") ||
         is_media_type(type, "application/octet-stream");
}

void TfServing::handle(const http::Request& request, http::Reply reply) {
  if (request.method == "GET" || request.method == "HEAD") return get(request, std::move(reply));
  if (request.method != "POST") return reply.send(malformed(request));
  reply_or_refuse(std::move(reply), [&](http::Reply& own) { post(request, own); });
}

void TfServing::get(const http::Request& request, http::Reply reply) const {
  if (request.path == "/v1/models" || request.path == "/v1/models/") {
    return reply.send(http::error_response(400, "Missing model name in request."));
  }
  const auto path = parse_tf_path(request.path);
  if (!path || (!path->verb.empty() && path->verb != "metadata")) {
    return reply.send(malformed(request));
  }
  if (path->verb == "metadata") {
    const auto servable = backend_.find(path->spec);
    if (!servable) return reply.send(response_of(servable.status()));
    return reply.send(json_response(metadata_text(**servable)));
  }
  const auto status = backend_.status(path->spec);
  if (!status) return reply.send(response_of(status.status()));
  reply.send(json_response(status_text(*status)));
}

void TfServing::post(const http::Request& request, http::Reply& reply) {
  auto path = parse_tf_path(request.path);
  if (!path || path->verb.empty() || path->verb == "metadata") {
    return reply.send(malformed(request));
  }
  const std::string_view type = request.header("content-type");
  if (to_lower(type.substr(0, 6)) == "image/" && !is_raw_body(request)) {
    return reply.send(http::error_response(
        415, concat("expected a body of image/jpeg, image/png, application/octet-stream or JSON, "
                    "got ",
                    type)));
  }
  const bool is_raw = is_raw_body(request);
  if (!is_raw) path->spec.signature_name = tf_signature_name(request.body);
  const auto servable = backend_.find(path->spec);
  if (!servable) return reply.send(response_of(servable.status()));
  const auto memory = std::make_shared<InputMemory>();
  TfBody body = is_raw ? parse_raw_body(request.body, **servable)
                       : parse_tf_body(request.body, path->verb != "predict", **servable, *memory);
  serve::InferRequest infer;
  infer.servable = *servable;
  infer.inputs = std::move(body.inputs);
  infer.deadline = deadline_of(request);
  infer.received = request.began;
  submit_call(backend_, std::move(infer), memory, std::move(reply),
              answer_of(path->verb, body.form));
}

}  // namespace pando::rest
