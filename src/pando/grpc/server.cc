// SPDX-License-Identifier: MIT
#include "pando/grpc/server.h"

#include <algorithm>
#include <map>

#include "pando/grpc/services_impl.h"
#include "pando/http/h2_server.h"

namespace pando::grpc {
namespace {

using serve::Code;
using serve::failure;
using serve::Status;

constexpr std::string_view kContentType = "application/grpc";
// The limit for messages to methods that everybody may call: health and reflection.
constexpr int64_t kMostPublicBytes = 64 << 10;

http::H2ServerOptions transport_options(const Shared& shared) {
  const ServerOptions& options = shared.options;
  http::H2ServerOptions own;
  own.protocol = "gRPC";
  own.address = options.address;
  own.port = options.port;
  own.unix_socket = options.unix_socket;
  own.tls = {options.tls_certificate, options.tls_key, options.tls_client_ca};
  own.answer_headers = {{"content-type", std::string(kContentType)},
                        {"grpc-accept-encoding", "identity,deflate,gzip"}};
  own.io_threads = shared.io_threads;
  if (shared.helps) own.after_reads = [&models = shared.models] { return models.help(); };
  own.limits.connections = options.max_connections;
  own.limits.header_timeout = options.header_timeout;
  own.limits.body_timeout = options.body_timeout;
  own.limits.ping_after = options.ping_after;
  own.outcome = "grpc-status";
  own.access_log = options.access_log;
  return own;
}

bool is_grpc(std::string_view type) {
  if (!type.starts_with(kContentType)) return false;
  const std::string_view rest = type.substr(kContentType.size());
  return rest.empty() || rest.starts_with(';') || rest == "+proto" || rest.starts_with("+proto;");
}

bool has_token(const ServerOptions& options, std::string_view authorization) {
  return options.token.empty() || http::is_bearer_of(options.token, authorization);
}

serve::Clock::time_point deadline_of(const http::CallHead& head) {
  const auto left = parse_timeout(head.header("grpc-timeout"));
  return left ? serve::Clock::now() + *left : serve::Clock::time_point::max();
}

}  // namespace

struct Server::Impl : http::CallService {
  Impl(ServerOptions options, serve::ModelServer& models)
      : shared(std::make_shared<Shared>(std::move(options), models)), watch(start_health(shared)) {
    add(prediction_methods(shared));
    add(model_methods(shared));
    add(open_inference_methods(shared));
    add(health_methods(watch));
    add(reflection_methods());
    try {
      server = std::make_unique<http::H2Server>(transport_options(*shared), *this);
    } catch (...) {
      stop_health(*watch);
      throw;
    }
  }

  ~Impl() override {
    shared->stopping = true;
    server.reset();
    stop_health(*watch);
  }

  void add(std::vector<Method> list) {
    for (Method& method : list) {
      std::string path = method.path;
      methods.emplace(std::move(path), std::move(method));
    }
  }

  std::shared_ptr<http::CallHandler> begin(const http::CallHead& head,
                                           std::shared_ptr<http::CallSink> sink) override {
    const int http_status = head.method != "POST"                   ? 405
                            : !is_grpc(head.header("content-type")) ? 415
                                                                    : 200;
    if (http_status != 200) {
      sink->send({.is_last = true, .status = http_status});
      return nullptr;
    }
    CallStart start{.shared = shared, .sink = sink, .deadline = deadline_of(head)};
    const auto method = methods.find(head.path);
    const Status status = check(head, method == methods.end() ? nullptr : &method->second, start);
    if (!status.ok()) {
      refuse(*sink, status);
      return nullptr;
    }
    return method->second.make(std::move(start));
  }

  Status check(const http::CallHead& head, const Method* method, CallStart& start) const {
    if (method == nullptr) {
      return failure(Code::unimplemented, "this server has no method '", head.path, "'");
    }
    if (method->needs_token && !has_token(shared->options, head.header("authorization"))) {
      return failure(Code::unauthenticated,
                     "expected the metadata 'authorization: Bearer TOKEN' with the server's token");
    }
    const int64_t most = shared->options.max_message_bytes;
    start.max_message_bytes = method->needs_token ? most : std::min(most, kMostPublicBytes);
    const std::string_view encoding = head.header("grpc-encoding");
    if (encoding == "gzip" || encoding == "deflate") {
      start.packing = Packing::zlib;
    } else if (!encoding.empty() && encoding != "identity") {
      return failure(Code::unimplemented, "expected grpc-encoding identity, deflate or gzip, got '",
                     encoding, "'");
    }
    return {};
  }

  const std::shared_ptr<Shared> shared;
  const std::shared_ptr<HealthWatch> watch;
  std::map<std::string, Method, std::less<>> methods;
  std::unique_ptr<http::H2Server> server;
};

Server::Server(ServerOptions options, serve::ModelServer& models)
    : impl_(std::make_unique<Impl>(std::move(options), models)) {}
Server::~Server() = default;

int Server::port() const { return impl_->server->port(); }
int Server::connections() const { return impl_->server->connections(); }
int64_t Server::open_calls() const { return impl_->server->open_calls(); }

bool Server::drain(std::chrono::milliseconds at_most) {
  impl_->shared->stopping = true;  // ends the calls that watch the health
  return impl_->server->drain(at_most);
}

}  // namespace pando::grpc
