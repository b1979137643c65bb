// The gRPC side of the model server: TensorFlow Serving's services, the Open Inference Protocol,
// health and reflection.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "pando/http/server_options.h"
#include "pando/serve/model_server.h"

namespace pando::grpc {

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 8500;                       // 0: any free one
  std::string unix_socket;               // listens there too, if not empty
  int64_t max_message_bytes = 64 << 20;  // of a request
  int64_t max_connections = 4096;        // more: the client that waits longest is closed
  // That requests hold which are not answered, as they were sent and as tensors; more is refused.
  int64_t max_held_bytes = int64_t{1} << 30;
  int io_threads = 0;   // 0: as many as the models advise
  std::string version;  // of the program, for clients that ask
  // PEM files. With a client_ca, clients need a certificate of it.
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  std::chrono::milliseconds header_timeout{5'000};  // of handshakes and of the headers of a call
  std::chrono::milliseconds body_timeout{30'000};   // without a byte of a request
  std::chrono::milliseconds ping_after{60'000};     // of silence; closed if there is no answer
  std::function<void(const http::AccessRecord&)> access_log;  // called by the threads
  std::string token;  // clients must send "authorization: Bearer TOKEN"; empty: none needed
  // What HandleReloadConfigRequest starts from: clients replace its models. Empty: they must not.
  std::optional<serve::ServerConfig> reload_base;
};

// Answers from the constructor on, by threads of its own. `models` must outlive it.
class Server {
 public:
  // Throws IoError if it cannot listen, or read a file of TLS; InvalidArgument for an address that
  // cannot be.
  Server(ServerOptions options, serve::ModelServer& models);
  ~Server();  // ends calls that are not answered
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  int connections() const;
  int64_t open_calls() const;
  // Tells clients to send no more calls, and waits until all others are answered and their clients
  // have gone. Returns false if the time was too short; the destructor cancels the remaining calls.
  // Health says NOT_SERVING as soon as the models drain.
  bool drain(std::chrono::milliseconds at_most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando::grpc
