// SPDX-License-Identifier: MIT
#include "pando/http/h2_server.h"

#include <optional>
#include <thread>

#include "pando/http/h2_connection_impl.h"
#include "pando/http/listener_impl.h"
#include "pando/http/tls_impl.h"

namespace pando::http {
namespace {

constexpr std::chrono::milliseconds kH2DrainPoll{5};

}  // namespace

class H2Server::Impl {
 public:
  Impl(H2ServerOptions options, CallService& service) : shared_(std::make_shared<H2Shared>()) {
    check_thread_count(options.protocol, options.io_threads);
    shared_->options = std::move(options);
    shared_->service = &service;
    const H2ServerOptions& own = shared_->options;
    tls_ = make_tls_context(own.tls);
    if (tls_ != nullptr) choose_h2(*tls_);
    for (int i = 0; i < own.io_threads; ++i) {
      threads_.push_back(std::make_shared<IoThread>(
          share_of(own.limits.connections, own.io_threads), own.after_reads));
    }
    listener_.emplace(
        ListenOptions{.protocol = own.protocol,
                      .address = own.address,
                      .port = own.port,
                      .unix_socket = own.unix_socket},
        threads_,
        [this](const std::shared_ptr<IoThread>& thread, Socket socket, std::string peer,
               bool is_local) { give(thread, std::move(socket), std::move(peer), is_local); });
    for (const auto& thread : threads_) thread->start();
  }

  ~Impl() {
    listener_->stop();
    for (const auto& thread : threads_) thread->join();
  }

  int port() const { return listener_->port(); }
  int connections() const { return shared_->connections; }
  int64_t open_calls() const { return shared_->open_calls; }

  bool drain(std::chrono::milliseconds timeout) {
    const Clock::time_point end = Clock::now() + timeout;
    shared_->draining = true;
    listener_->stop();
    do {
      for (const auto& thread : threads_) thread->stop_idle();
      if (shared_->connections == 0) return true;
      std::this_thread::sleep_for(kH2DrainPoll);
    } while (Clock::now() < end);
    return false;
  }

 private:
  void give(const std::shared_ptr<IoThread>& thread, Socket socket, std::string peer,
            bool is_local) {
    boost::asio::ssl::context* const tls = is_local ? nullptr : tls_.get();
    thread->adopt([thread, shared = shared_, socket = std::move(socket), peer = std::move(peer),
                   tls]() mutable -> std::shared_ptr<Session> {
      if (tls == nullptr) {
        return make_plain_h2(thread, std::move(shared), std::move(peer), std::move(socket));
      }
      return make_tls_h2(thread, std::move(shared), std::move(peer), std::move(socket), *tls);
    });
  }

  const std::shared_ptr<H2Shared> shared_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
  Threads threads_;
  std::optional<Listener> listener_;
};

H2Server::H2Server(H2ServerOptions options, CallService& service)
    : impl_(std::make_unique<Impl>(std::move(options), service)) {}
H2Server::~H2Server() = default;
int H2Server::port() const { return impl_->port(); }
int H2Server::connections() const { return impl_->connections(); }
int64_t H2Server::open_calls() const { return impl_->open_calls(); }
bool H2Server::drain(std::chrono::milliseconds timeout) { return impl_->drain(timeout); }

}  // namespace pando::http
