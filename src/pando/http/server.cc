// SPDX-License-Identifier: MIT
#include "pando/http/server.h"

#include <condition_variable>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/core.h>
#include <sys/stat.h>

#include "pando/base/error.h"
#include "pando/http/io_thread_impl.h"
#include "pando/http/tls_impl.h"

namespace pando::http {
namespace {

using boost::asio::ip::tcp;
using Local = boost::asio::local::stream_protocol;
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::milliseconds kDrainPoll{5};
constexpr size_t kLongestUnixPath = 107;

void check_options(const ServerOptions& options) {
  if (options.port < -1 || options.port > 65535) {
    throw InvalidArgument("HTTP: expected a port from 0 to 65535, got ", options.port);
  }
  if (options.port < 0 && options.unix_socket.empty()) {
    throw InvalidArgument("HTTP: expected a port or a Unix socket to listen on, got neither");
  }
  if (options.io_threads < 1 || options.io_threads > 64) {
    throw InvalidArgument("HTTP: expected 1 to 64 I/O threads, got ", options.io_threads);
  }
  if (options.unix_socket.size() > kLongestUnixPath) {
    throw InvalidArgument("HTTP: the path of a Unix socket has at most ", kLongestUnixPath,
                          " bytes, got '", options.unix_socket, "'");
  }
}

// A socket that nobody listens on is what a killed server left behind.
void remove_stale_socket(boost::asio::io_context& context, const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) {
    throw IoError("HTTP: cannot listen on '", path, "': a file that is no socket is there");
  }
  Local::socket probe(context);
  ErrorCode error;
  probe.connect(Local::endpoint(path), error);
  if (!error) throw IoError("HTTP: cannot listen on '", path, "': another server listens there");
  ::unlink(path.c_str());
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, Handler& handler) : shared_(std::make_shared<Shared>()) {
    check_options(options);
    shared_->options = std::move(options);
    shared_->handler = &handler;
    tls_ = make_tls_context(shared_->options.tls);
    const int threads = shared_->options.io_threads;
    for (int i = 0; i < threads; ++i) {
      threads_.push_back(
          std::make_shared<IoThread>(shared_, shared_->options.limits.connections / threads));
    }
    tcp_.emplace(threads_[0]->context());
    local_.emplace(threads_[0]->context());
    tcp_retry_.emplace(threads_[0]->context());
    local_retry_.emplace(threads_[0]->context());
    if (shared_->options.port >= 0) listen_tcp();
    if (!shared_->options.unix_socket.empty()) listen_local();
    if (tcp_->is_open()) accept_next(*tcp_, *tcp_retry_);
    if (local_->is_open()) accept_next(*local_, *local_retry_);
    for (const auto& thread : threads_) thread->start();
  }

  ~Impl() {
    stop_accepting();
    for (const auto& thread : threads_) thread->join();
  }

  int port() const { return port_; }
  int connections() const { return shared_->connections; }

  bool drain(std::chrono::milliseconds timeout) {
    const Clock::time_point end = Clock::now() + timeout;
    shared_->draining = true;
    stop_accepting();
    do {
      for (const auto& thread : threads_) thread->stop_idle();
      if (shared_->connections == 0) return true;
      std::this_thread::sleep_for(kDrainPoll);
    } while (Clock::now() < end);
    return false;
  }

 private:
  void listen_tcp() {
    const ServerOptions& options = shared_->options;
    ErrorCode error;
    const auto address = boost::asio::ip::make_address(
        options.address == "localhost" ? "127.0.0.1" : options.address, error);
    if (error) {
      throw InvalidArgument("HTTP: expected an IP address to listen on, got '", options.address,
                            "'; 127.0.0.1 is this machine only, 0.0.0.0 all networks");
    }
    const tcp::endpoint endpoint(address, static_cast<uint16_t>(options.port));
    tcp_->open(endpoint.protocol(), error);
    if (!error) tcp_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) tcp_->bind(endpoint, error);
    if (!error) tcp_->listen(boost::asio::socket_base::max_listen_connections, error);
    if (error) {
      throw IoError("HTTP: cannot listen on ", options.address, ":", options.port, ": ",
                    error.message(), "; choose another port, 0 for any free one");
    }
    port_ = tcp_->local_endpoint().port();
  }

  void listen_local() {
    const std::string& path = shared_->options.unix_socket;
    remove_stale_socket(threads_[0]->context(), path);
    ErrorCode error;
    local_->open(Local(), error);
    if (!error) local_->bind(Local::endpoint(path), error);
    if (!error) local_->listen(boost::asio::socket_base::max_listen_connections, error);
    if (error) throw IoError("HTTP: cannot listen on '", path, "': ", error.message());
  }

  template <typename Acceptor>
  void accept_next(Acceptor& acceptor, boost::asio::steady_timer& retry) {
    using Accepted = typename Acceptor::protocol_type::socket;
    IoThread& thread = *threads_[next_thread_++ % threads_.size()];
    const auto on_accepted = [this, &acceptor, &retry, &thread](ErrorCode error, Accepted socket) {
      if (!acceptor.is_open()) return;
      if (!error) {
        give(thread, std::move(socket));
        return accept_next(acceptor, retry);
      }
      // Out of files: wait until some are closed.
      retry.expires_after(kAcceptPause);
      retry.async_wait([this, &acceptor, &retry](ErrorCode stopped) {
        if (!stopped && acceptor.is_open()) accept_next(acceptor, retry);
      });
    };
    acceptor.async_accept(boost::asio::any_io_executor(thread.context().get_executor()),
                          on_accepted);
  }

  void give(IoThread& thread, tcp::socket socket) {
    ErrorCode error;
    socket.set_option(tcp::no_delay(true), error);
    const auto peer = socket.remote_endpoint(error);
    if (error) return;  // it is gone already
    thread.adopt(Socket(std::move(socket)),
                 fmt::format("{}:{}", peer.address().to_string(), peer.port()), tls_.get());
  }

  static void give(IoThread& thread, Local::socket socket) {
    thread.adopt(Socket(std::move(socket)), "unix", nullptr);
  }

  void stop_accepting() {
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
    threads_[0]->dispatch([&] {
      ErrorCode ignored;
      tcp_retry_->cancel();
      local_retry_->cancel();
      if (local_->is_open()) ::unlink(shared_->options.unix_socket.c_str());
      tcp_->close(ignored);
      local_->close(ignored);
      const std::lock_guard lock(mutex);
      is_done = true;
      done.notify_one();
    });
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return is_done; });
  }

  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
  std::vector<std::shared_ptr<IoThread>> threads_;
  std::optional<tcp::acceptor> tcp_;  // these four belong to the first thread
  std::optional<Local::acceptor> local_;
  std::optional<boost::asio::steady_timer> tcp_retry_;
  std::optional<boost::asio::steady_timer> local_retry_;
  size_t next_thread_ = 0;
  int port_ = -1;
};

Server::Server(ServerOptions options, Handler& handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}
Server::~Server() = default;
int Server::port() const { return impl_->port(); }
int Server::connections() const { return impl_->connections(); }
bool Server::drain(std::chrono::milliseconds timeout) { return impl_->drain(timeout); }

}  // namespace pando::http
