// SPDX-License-Identifier: MIT
#include "pando/http/h2_client.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <netdb.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::http {
namespace {

constexpr int32_t kClientWindow = 1 << 24;
constexpr size_t kClientInput = 64 << 10;
constexpr size_t kClientOutput = 256 << 10;  // sent at once

// Milliseconds for poll(): at least 1 before `until`, so that nobody waits actively.
int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  constexpr int64_t kLongest = 1 << 30;
  return static_cast<int>(std::clamp<int64_t>(left, 0, kLongest));
}

struct Addresses {
  addrinfo* first = nullptr;
  ~Addresses() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

}  // namespace

const std::string* CallAnswer::header(std::string_view name) const {
  const auto found = std::find_if(headers.rbegin(), headers.rend(),
                                  [&](const Header& header) { return header.name == name; });
  return found == headers.rend() ? nullptr : &found->value;
}

// A socket with its session. Throws IoError when it breaks.
class CallClient::Connection {
 public:
  Connection(const std::string& host, int port, Clock::time_point until) {
    connect(host, port, until);
    nghttp2_session_callbacks* callbacks = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_closed);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    const int failed = nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    if (failed != 0) throw std::bad_alloc();
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kClientWindow};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &window, 1);
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kClientWindow);
  }
  ~Connection() {
    nghttp2_session_del(session_);
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool can_call() const { return nghttp2_session_check_request_allowed(session_) != 0; }

  CallAnswer call(const std::vector<nghttp2_nv>& head, std::string_view body,
                  Clock::time_point until) {
    answer_ = {};
    body_ = body;
    is_over_ = false;
    reset_code_ = 0;
    const nghttp2_data_provider provider = {.source = {}, .read_callback = take};
    stream_ = nghttp2_submit_request(session_, nullptr, head.data(), head.size(), &provider, this);
    if (stream_ < 0) throw IoError(nghttp2_strerror(stream_));
    answer_.kind = CallAnswer::Kind::complete;
    while (true) {
      flush();
      if (is_over_) break;
      if (!wait(until)) return cancelled();
      receive();
    }
    if (reset_code_ != NGHTTP2_NO_ERROR && answer_.header("grpc-status") == nullptr) {
      throw IoError("the server has reset the call: ", nghttp2_http2_strerror(reset_code_));
    }
    return std::move(answer_);
  }

 private:
  void connect(const std::string& host, int port, Clock::time_point until) {
    Addresses found;
    addrinfo wanted = {};
    wanted.ai_socktype = SOCK_STREAM;
    const int failed =
        ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found.first);
    if (failed != 0) throw IoError("cannot find '", host, "': ", ::gai_strerror(failed));
    std::string problem;
    for (const addrinfo* at = found.first; at != nullptr; at = at->ai_next) {
      if (try_connect(*at, until)) return;
      problem = std::strerror(errno);
    }
    throw IoError("cannot connect to ", host, ":", port, ": ", problem);
  }

  // False: errno says why.
  bool try_connect(const addrinfo& address, Clock::time_point until) {
    if (socket_ >= 0) ::close(socket_);
    socket_ = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return false;
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (::connect(socket_, address.ai_addr, address.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS) return false;
    pollfd ready = {.fd = socket_, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, milliseconds_until(until)) != 1) {
      errno = ETIMEDOUT;
      return false;
    }
    socklen_t size = sizeof(errno);
    int error = 0;
    ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0;
  }

  // Sends what the socket takes; the rest waits in output_.
  void flush() {
    while (true) {
      if (sent_ == output_.size()) fill();
      if (output_.empty()) return;
      const ssize_t count =
          ::send(socket_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (count < 0) throw IoError("the connection broke: ", std::strerror(errno));
      sent_ += static_cast<size_t>(count);
    }
  }

  void fill() {
    output_.clear();
    sent_ = 0;
    while (output_.size() < kClientOutput) {
      const uint8_t* bytes = nullptr;
      const ssize_t count = nghttp2_session_mem_send(session_, &bytes);
      if (count < 0) throw IoError(nghttp2_strerror(static_cast<int>(count)));
      if (count == 0) return;
      output_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
    }
  }

  // False: the time is over.
  bool wait(Clock::time_point until) const {
    const bool sends = sent_ < output_.size();
    pollfd ready = {.fd = socket_, .events = POLLIN, .revents = 0};
    if (sends) ready.events |= POLLOUT;
    const int count = ::poll(&ready, 1, milliseconds_until(until));
    return count > 0 || (count < 0 && errno == EINTR) || Clock::now() < until;
  }

  void receive() {
    const ssize_t count = ::recv(socket_, input_.get(), kClientInput, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count == 0) throw IoError("the server has closed the connection");
    if (count < 0) throw IoError("the connection broke: ", std::strerror(errno));
    const ssize_t used =
        nghttp2_session_mem_recv(session_, input_.get(), static_cast<size_t>(count));
    if (used < 0) throw IoError(nghttp2_strerror(static_cast<int>(used)));
  }

  CallAnswer cancelled() {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
    body_ = {};
    flush();
    answer_.kind = CallAnswer::Kind::late;
    return std::move(answer_);
  }

  // What nghttp2 calls; frames of calls that were cancelled are ignored.
  static Connection* of(void* user, int32_t stream) {
    auto* const connection = static_cast<Connection*>(user);
    return stream == connection->stream_ ? connection : nullptr;
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                       size_t name_length, const uint8_t* value, size_t value_length, uint8_t,
                       void* user) {
    Connection* const own = of(user, frame->hd.stream_id);
    if (own == nullptr) return 0;
    own->answer_.headers.push_back({{reinterpret_cast<const char*>(name), name_length},
                                    {reinterpret_cast<const char*>(value), value_length}});
    return 0;
  }
  static int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* bytes, size_t length,
                     void* user) {
    Connection* const own = of(user, stream);
    if (own != nullptr) own->answer_.body.append(reinterpret_cast<const char*>(bytes), length);
    return 0;
  }
  static int on_closed(nghttp2_session*, int32_t stream, uint32_t code, void* user) {
    Connection* const own = of(user, stream);
    if (own == nullptr) return 0;
    own->is_over_ = true;
    own->reset_code_ = code;
    return 0;
  }
  // Says how long the next frame is; send_data() copies its bytes, once.
  static ssize_t take(nghttp2_session*, int32_t stream, uint8_t*, size_t bytes, uint32_t* flags,
                      nghttp2_data_source*, void* user) {
    Connection* const own = of(user, stream);
    if (own == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t count = std::min(bytes, own->body_.size());
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (count == own->body_.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }
  static int send_data(nghttp2_session*, nghttp2_frame* frame, const uint8_t* head, size_t bytes,
                       nghttp2_data_source*, void* user) {
    constexpr size_t kFrameHead = 9;
    Connection* const own = of(user, frame->hd.stream_id);
    if (own == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (own->output_.size() >= kClientOutput) return NGHTTP2_ERR_WOULDBLOCK;
    own->output_.append(reinterpret_cast<const char*>(head), kFrameHead);
    own->output_ += own->body_.substr(0, bytes);
    own->body_.remove_prefix(bytes);
    return 0;
  }

  int socket_ = -1;
  nghttp2_session* session_ = nullptr;
  const std::unique_ptr<uint8_t[]> input_ = std::make_unique_for_overwrite<uint8_t[]>(kClientInput);
  std::string output_;
  size_t sent_ = 0;
  int32_t stream_ = 0;
  std::string_view body_;  // that has not been sent
  CallAnswer answer_;
  bool is_over_ = false;
  uint32_t reset_code_ = 0;
};

CallClient::CallClient(std::string host, int port) : host_(std::move(host)), port_(port) {}
CallClient::~CallClient() = default;

CallAnswer CallClient::call(std::string_view path, const std::vector<Header>& headers,
                            std::string_view body, Clock::time_point until) {
  const bool is_ipv6 = host_.find(':') != std::string::npos;
  const std::string authority =
      is_ipv6 ? concat("[", host_, "]:", port_) : concat(host_, ":", port_);
  std::vector<nghttp2_nv> head;
  const auto add = [&](std::string_view name, std::string_view value) {
    // nghttp2 copies both; its type is older than const.
    const auto bytes = [](std::string_view text) {
      return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
    };
    head.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  };
  add(":method", "POST");
  add(":scheme", "http");
  add(":path", path);
  add(":authority", authority);
  for (const Header& header : headers) add(header.name, header.value);
  try {
    if (connection_ == nullptr || !connection_->can_call()) {
      connection_.reset();
      connection_ = std::make_unique<Connection>(host_, port_, until);
    }
    return connection_->call(head, body, until);
  } catch (const std::exception& error) {
    connection_.reset();
    return {.problem = error.what()};
  }
}

}  // namespace pando::http
