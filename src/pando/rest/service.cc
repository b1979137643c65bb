// SPDX-License-Identifier: MIT
#include "pando/rest/service.h"

#include <algorithm>

#include "pando/base/json.h"
#include "pando/rest/page.h"

namespace pando::rest {
namespace {

constexpr std::string_view kExamplesPath = "/pando/examples/";

// Adds a header to an answer on its way.
class CorsSink : public http::ReplySink {
 public:
  explicit CorsSink(http::Reply reply) : reply_(std::move(reply)) {}
  void send(http::Response response) override {
    response.headers.push_back({"Access-Control-Allow-Origin", "*"});
    reply_.send(std::move(response));
  }
  void begin_stream(http::Response head) override {
    head.headers.push_back({"Access-Control-Allow-Origin", "*"});
    stream_.emplace(reply_.stream(std::move(head)));
  }
  bool write(std::string data) override { return stream_->write(std::move(data)); }
  void end_stream() override { stream_.reset(); }

 private:
  http::Reply reply_;
  std::optional<http::Stream> stream_;
};

// Whether a page of another address may ask, as TensorFlow Serving answers it.
http::Response preflight(const http::Request& request) {
  const std::string_view origin = request.header("origin");
  if (!origin.starts_with("http://") && !origin.starts_with("https://")) {
    return http::error_response(400, "expected a header Origin that begins with http");
  }
  http::Response response;
  response.content_type = "text/plain";
  response.headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                      {"Access-Control-Allow-Headers",
                       "Content-Type, Authorization, Inference-Header-Content-Length"}};
  return response;
}

http::Response metrics_response(const Backend& backend) {
  http::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = backend.metrics_text();
  return response;
}

http::Response page_response() {
  http::Response response;
  response.content_type = "text/html; charset=utf-8";
  response.body = kPageText;
  response.headers = {{"Cache-Control", "no-cache"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"X-Frame-Options", "DENY"},
                      {"Content-Security-Policy",
                       "default-src 'self'; script-src 'unsafe-inline'; "
                       "style-src 'unsafe-inline'; img-src blob: data:"}};
  return response;
}

Json tensors_json(const std::vector<serve::TensorInfo>& tensors) {
  Json list = Json::array();
  for (const serve::TensorInfo& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"type", std::string(to_string(tensor.type))},
                    {"shape", tensor.shape}});
  }
  return list;
}

Json model_json(const Backend& backend, const serve::ModelStatus& model) {
  Json json = {{"name", model.name}};
  Json versions = Json::array();
  for (const serve::VersionStatus& version : model.versions) {
    versions.push_back({{"version", version.version},
                        {"state", std::string(to_string(version.state))},
                        {"message", version.status.message}});
  }
  json["versions"] = versions;
  json["labels"] = model.labels;
  const auto servable = backend.find({.name = model.name});
  if (!servable) return json;
  const serve::Servable& loaded = **servable;
  const serve::TensorInfo* input = loaded.find_input("");
  json["serves"] = loaded.version();
  json["takes_pictures"] =
      input != nullptr && loaded.accepted_shape(*input, serve::ElementType::bytes).has_value();
  json["inputs"] = tensors_json(loaded.inputs());
  json["outputs"] = tensors_json(loaded.outputs());
  json["classes"] = loaded.facts().labels;
  Json examples = Json::array();
  for (const app::ExamplePicture& example : loaded.examples()) examples.push_back(example.name);
  json["examples"] = examples;
  json["task"] = loaded.facts().origin.task;
  return json;
}

// The picture at "/pando/examples/MODEL/FILE". All of them are in memory: no path of a request ever
// names a file.
http::Response example_response(const Backend& backend, std::string_view path) {
  path.remove_prefix(kExamplesPath.size());
  const size_t slash = path.find('/');
  std::string model;
  if (slash != path.npos && http::percent_decode(path.substr(0, slash), model)) {
    const auto servable = backend.find({.name = model});
    const std::vector<app::ExamplePicture> none;
    const auto& examples = servable ? (*servable)->examples() : none;
    const auto found =
        std::ranges::find(examples, path.substr(slash + 1), &app::ExamplePicture::name);
    if (found != examples.end()) {
      return {.content_type = app::picture_type(found->bytes),
              .body = std::string(found->bytes.begin(), found->bytes.end()),
              .headers = {{"Cache-Control", "no-cache"}, {"X-Content-Type-Options", "nosniff"}}};
    }
  }
  return http::error_response(404, "there is no such example");
}

}  // namespace

std::string models_text(const Backend& backend) {
  Json list = Json::array();
  for (const serve::ModelStatus& model : backend.models()) {
    list.push_back(model_json(backend, model));
  }
  return Json({{"ready", backend.ready()}, {"models", list}}).dump();
}

Service::Service(Backend& backend, ServiceOptions options)
    : backend_(backend),
      options_(std::move(options)),
      tf_serving_(backend),
      open_inference_(backend, options_.version) {
  const auto give = [](http::Handler& handler) {
    return [&handler](const http::Request& request, http::Reply reply) {
      handler.handle(request, std::move(reply));
    };
  };
  routes_.add("*", "/v1*", give(tf_serving_));
  routes_.add("*", "/v2*", give(open_inference_));
  for (const char* path : {"/metrics", "/monitoring/prometheus/metrics"}) {
    routes_.add("GET", path, [this](const http::Request&, http::Reply reply) {
      reply.send(metrics_response(backend_));
    });
  }
  routes_.add("GET", "/pando/models", [this](const http::Request&, http::Reply reply) {
    reply.send({.body = models_text(backend_)});
  });
  if (!options_.page) return;
  routes_.add("GET", concat(kExamplesPath, "*"),
              [this](const http::Request& request, http::Reply reply) {
                reply.send(example_response(backend_, request.path));
              });
  routes_.add("GET", "/",
              [](const http::Request&, http::Reply reply) { reply.send(page_response()); });
}

std::vector<std::string> Service::public_paths() {
  return {"/", "/v2/health/live", "/v2/health/ready"};
}

void Service::handle(const http::Request& request, http::Reply reply) {
  if (!options_.cors) {
    if (request.method == "OPTIONS") {
      return reply.send(http::error_response(405, "pages of other addresses may not ask"));
    }
    return routes_.handle(request, std::move(reply));
  }
  http::Reply open(std::make_shared<CorsSink>(std::move(reply)));
  if (request.method == "OPTIONS") return open.send(preflight(request));
  routes_.handle(request, std::move(open));
}

}  // namespace pando::rest
