// SPDX-License-Identifier: MIT
#include "pando/grpc/server.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "pando/base/error.h"
#include "pando/base/threads.h"
#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

constexpr int kMostThreads = 128;  // of gRPC, for calls that need no model
constexpr std::chrono::milliseconds kLastCalls{1};

std::string pem_of(const std::string& path) {
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file || text.empty()) throw IoError("TLS: cannot read '", path, "'");
  return text;
}

std::shared_ptr<::grpc::ServerCredentials> credentials_of(const ServerOptions& options) {
  if (options.tls_certificate.empty()) return ::grpc::InsecureServerCredentials();
  ::grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({pem_of(options.tls_key), pem_of(options.tls_certificate)});
  if (!options.tls_client_ca.empty()) {
    tls.pem_root_certs = pem_of(options.tls_client_ca);
    tls.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return ::grpc::SslServerCredentials(tls);
}

std::string place_of(const ServerOptions& options) {
  const bool is_ipv6 = options.address.find(':') != std::string::npos;
  return concat(is_ipv6 ? "[" : "", options.address, is_ipv6 ? "]:" : ":", options.port);
}

// Switches of the whole process.
void enable_plugins() {
  static const bool done = [] {
    ::grpc::EnableDefaultHealthCheckService(false);  // health.cc is ours
    ::grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    // Debian's locks look for cycles of locks, which costs a tenth of what gRPC takes.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    // Our own errors say what fails; its log has lines of its sources.
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  static_cast<void>(done);
}

void set_limits(const ServerOptions& options, ::grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(-1);
  builder.SetResourceQuota(::grpc::ResourceQuota("pando").SetMaxThreads(kMostThreads));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port that is taken is an error
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1024);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);  // finds clients that are gone
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
}

}  // namespace

struct Server::Impl {
  Impl(ServerOptions options_in, serve::ModelServer& models)
      : options(std::move(options_in)), shared{.options = options, .models = models} {
    enable_plugins();
    services.push_back(make_prediction_service(shared));
    services.push_back(make_model_service(shared));
    services.push_back(make_open_inference_service(shared));
    services.push_back(make_health_service(shared));
    ::grpc::ServerBuilder builder;
    set_limits(options, builder);
    const auto credentials = credentials_of(options);
    builder.AddListeningPort(place_of(options), credentials, &port);
    if (!options.unix_socket.empty()) {
      builder.AddListeningPort("unix:" + options.unix_socket, credentials);
    }
    for (const ServiceParts& parts : services) builder.RegisterService(parts.service.get());
    queue = builder.AddCompletionQueue();
    server = builder.BuildAndStart();
    if (server == nullptr || port == 0) {
      if (server != nullptr) server->Shutdown(std::chrono::system_clock::now());
      empty_queue();
      throw IoError("gRPC: cannot listen at ", place_of(options),
                    "; is the port taken, and are the TLS files right?");
    }
    for (const ServiceParts& parts : services) {
      if (parts.listen) parts.listen(*queue);
    }
    calls = start_thread("pando-grpc", [this](const std::stop_token&) { take_events(); });
  }

  ~Impl() {
    shared.stopping = true;
    server->Shutdown(std::chrono::system_clock::now());
    // Calls that a model still computes need the queue for their answers.
    while (shared.expected_calls > 0 || shared.open_calls > 0) {
      std::this_thread::sleep_for(kLastCalls);
    }
    queue->Shutdown();
    calls.join();
  }

  void take_events() const {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) {
      const auto event = *static_cast<ModelCall::Event*>(tag);
      (event.call->*event.happen)(ok);
    }
  }

  // A queue must be empty before it goes.
  void empty_queue() const {
    queue->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) {
    }
  }

  const ServerOptions options;
  Shared shared;
  int port = 0;
  std::vector<ServiceParts> services;
  std::unique_ptr<::grpc::ServerCompletionQueue> queue;
  std::unique_ptr<::grpc::Server> server;
  std::jthread calls;
};

Server::Server(ServerOptions options, serve::ModelServer& models)
    : impl_(std::make_unique<Impl>(std::move(options), models)) {}
Server::~Server() = default;

int Server::port() const { return impl_->port; }
int64_t Server::open_calls() const { return impl_->shared.open_calls; }

bool Server::drain(std::chrono::milliseconds at_most) {
  const auto deadline = std::chrono::system_clock::now() + at_most;
  impl_->shared.stopping = true;      // ends the calls that watch the health
  impl_->server->Shutdown(deadline);  // waits, then cancels what is left
  return std::chrono::system_clock::now() < deadline;
}

}  // namespace pando::grpc
