// SPDX-License-Identifier: MIT
#include <algorithm>
#include <condition_variable>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/http/listener_impl.h"

namespace pando::http {
namespace {

using boost::asio::ip::tcp;
using Local = boost::asio::local::stream_protocol;
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr size_t kLongestUnixPath = 107;

void check_listening(const ListenOptions& options) {
  const std::string& name = options.protocol;
  if (options.port < -1 || options.port > 65535) {
    throw InvalidArgument(name, ": expected a port from 0 to 65535, got ", options.port);
  }
  if (options.port < 0 && options.unix_socket.empty()) {
    throw InvalidArgument(name, ": expected a port or a Unix socket to listen on, got neither");
  }
  if (options.unix_socket.size() > kLongestUnixPath) {
    throw InvalidArgument(name, ": the path of a Unix socket has at most ", kLongestUnixPath,
                          " bytes, got '", options.unix_socket, "'");
  }
}

// Counts itself while it exists: a handler that holds it may vanish without being called.
class Counted {
 public:
  explicit Counted(int& count) : count_(&count) { ++count; }
  Counted(Counted&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (count_ != nullptr) --*count_;
  }

 private:
  int* count_;
};

// A socket that nobody listens on is what a killed server left behind.
void remove_stale_socket(boost::asio::io_context& context, const ListenOptions& options) {
  const std::string& path = options.unix_socket;
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) {
    throw IoError(options.protocol, ": cannot listen on '", path,
                  "': a file that is not a socket is there");
  }
  Local::socket probe(context);
  ErrorCode error;
  probe.connect(Local::endpoint(path), error);
  if (!error) {
    throw IoError(options.protocol, ": cannot listen on '", path,
                  "': another server listens there");
  }
  ::unlink(path.c_str());
}

}  // namespace

void check_thread_count(const std::string& protocol, int threads) {
  if (threads < 1 || threads > 64) {
    throw InvalidArgument(protocol, ": expected 1 to 64 I/O threads, got ", threads);
  }
}

int64_t share_of(int64_t connections, int threads) {
  return std::max<int64_t>(1, (connections + threads - 1) / threads);
}

Listener::Listener(ListenOptions options, const Threads& threads, Give give)
    : options_(std::move(options)),
      threads_(threads),
      give_(std::move(give)),
      tcp_(threads[0]->context()),
      local_(threads[0]->context()),
      tcp_retry_(threads[0]->context()),
      local_retry_(threads[0]->context()) {
  check_listening(options_);
  if (options_.port >= 0) listen_tcp();
  if (!options_.unix_socket.empty()) listen_local();
  threads[0]->set_after_exception([this] { accept(); });
  accept();
}

void Listener::accept() {
  if (tcp_.is_open() && tcp_accepts_ == 0) accept_next(tcp_, tcp_retry_, tcp_accepts_);
  if (local_.is_open() && local_accepts_ == 0) accept_next(local_, local_retry_, local_accepts_);
}

void Listener::listen_tcp() {
  ErrorCode error;
  const auto address = boost::asio::ip::make_address(
      options_.address == "localhost" ? "127.0.0.1" : options_.address, error);
  if (error) {
    throw InvalidArgument(options_.protocol, ": expected an IP address to listen on, got '",
                          options_.address,
                          "'; 127.0.0.1 is this machine only, 0.0.0.0 all networks");
  }
  const tcp::endpoint endpoint(address, static_cast<uint16_t>(options_.port));
  tcp_.open(endpoint.protocol(), error);
  if (!error) tcp_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) tcp_.bind(endpoint, error);
  if (!error) tcp_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) {
    throw IoError(options_.protocol, ": cannot listen on ", options_.address, ":", options_.port,
                  ": ", error.message(), "; choose another port, 0 for any free one");
  }
  port_ = tcp_.local_endpoint().port();
}

void Listener::listen_local() {
  const std::string& path = options_.unix_socket;
  remove_stale_socket(threads_[0]->context(), options_);
  ErrorCode error;
  local_.open(Local(), error);
  if (!error) local_.bind(Local::endpoint(path), error);
  if (!error) local_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) {
    throw IoError(options_.protocol, ": cannot listen on '", path, "': ", error.message());
  }
}

template <typename Acceptor>
void Listener::accept_next(Acceptor& acceptor, boost::asio::steady_timer& retry, int& accepts) {
  using Accepted = typename Acceptor::protocol_type::socket;
  const std::shared_ptr<IoThread>& thread = threads_[next_thread_++ % threads_.size()];
  auto on_accepted = [this, &acceptor, &retry, &accepts, &thread, counted = Counted(accepts)](
                         ErrorCode error, Accepted socket) {
    if (!acceptor.is_open()) return;
    if (!error) {
      accept_next(acceptor, retry, accepts);  // first: give() may throw, for want of memory
      return give(thread, std::move(socket));
    }
    // Out of files: wait until some are closed.
    retry.expires_after(kAcceptPause);
    retry.async_wait(
        [this, &acceptor, &retry, &accepts, waits = Counted(accepts)](ErrorCode stopped) {
          if (!stopped && acceptor.is_open()) accept_next(acceptor, retry, accepts);
        });
  };
  acceptor.async_accept(boost::asio::any_io_executor(thread->context().get_executor()),
                        std::move(on_accepted));
}

void Listener::give(const std::shared_ptr<IoThread>& thread, tcp::socket socket) {
  ErrorCode error;
  socket.set_option(tcp::no_delay(true), error);
  const auto peer = socket.remote_endpoint(error);
  if (error) return;  // it is gone already
  give_(thread, Socket(std::move(socket)),
        fmt::format("{}:{}", peer.address().to_string(), peer.port()), false);
}

void Listener::give(const std::shared_ptr<IoThread>& thread, Local::socket socket) {
  give_(thread, Socket(std::move(socket)), "unix", true);
}

void Listener::stop() {
  std::mutex mutex;
  std::condition_variable done;
  bool is_done = false;
  threads_[0]->dispatch([&] {
    ErrorCode ignored;
    tcp_retry_.cancel();
    local_retry_.cancel();
    if (local_.is_open()) ::unlink(options_.unix_socket.c_str());
    tcp_.close(ignored);
    local_.close(ignored);
    const std::lock_guard lock(mutex);
    is_done = true;
    done.notify_one();
  });
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return is_done; });
}

}  // namespace pando::http
