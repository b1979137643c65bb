// SPDX-License-Identifier: MIT
#include "pando/request/rest_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"

namespace pando::request {
namespace {

using serve::Code;
using serve::ElementType;
using serve::failure;
using serve::Status;

using Clock = std::chrono::steady_clock;
constexpr timeval kConnectTime = {.tv_sec = 10, .tv_usec = 0};

std::string number_text(const serve::InputTensor& input, size_t index) {
  if (input.type == ElementType::u8) return std::to_string(static_cast<int>(input.data[index]));
  float number = 0;
  std::memcpy(&number, input.data.data() + index * sizeof(number), sizeof(number));
  return fmt::format("{}", number);
}

// Nested lists, from `index` on.
void append_list(std::string& out, const serve::InputTensor& input, size_t axis, size_t& index) {
  if (axis == input.shape.size()) {
    out += number_text(input, index++);
    return;
  }
  out += "[";
  for (int64_t i = 0; i < input.shape[axis]; ++i) {
    if (i > 0) out += ",";
    append_list(out, input, axis + 1, index);
  }
  out += "]";
}

std::string shape_list(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : ",") + std::to_string(size);
  return "[" + text + "]";
}

// What HTTP says, as the code of the other protocols.
Code code_of(int status) {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422: return Code::invalid_argument;
    case 401: return Code::unauthenticated;
    case 404: return Code::not_found;
    case 429: return Code::resource_exhausted;
    case 503: return Code::unavailable;
    case 504: return Code::deadline_exceeded;
    default: return Code::internal;
  }
}

// The sentence in an answer that says what is wrong, in one line.
std::string reason_in(const std::string& body) {
  constexpr size_t kMost = 300;
  const auto json = Json::try_parse(body);
  const Json* const error = json && json->is_object() ? json->find("error") : nullptr;
  std::string text = error != nullptr && error->is_string() ? error->get<std::string>() : body;
  text = text.substr(0, kMost);
  std::ranges::replace(text, '\n', ' ');
  return std::string(trim(text));
}

std::string whole_request(const RestTarget& target, const std::string& path, std::string headers,
                          const std::string& body) {
  if (!target.token.empty()) headers += "Authorization: Bearer " + target.token + "\r\n";
  return fmt::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Length: {}\r\n{}\r\n",
                     body.empty() ? "GET" : "POST", path, target.host, target.port, body.size(),
                     headers) +
         body;
}

}  // namespace

class RestClient::Link {
 public:
  explicit Link(const RestTarget& target) : target_(target) { connect(); }
  ~Link() { close(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  Status ask(std::string_view request, Seconds at_most, std::string& body) {
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(at_most);
    if (socket_ < 0) {
      try {
        connect();
      } catch (const IoError& error) {
        return failure(Code::unavailable, error.what());
      }
    }
    Status status = write_all(request);
    if (status.ok()) status = read_answer(body);
    if (status.code == Code::unavailable || status.code == Code::deadline_exceeded) close();
    return status;
  }

 private:
  void connect() {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(target_.port);
    if (::getaddrinfo(target_.host.c_str(), port.c_str(), &hints, &found) != 0) {
      throw IoError("--host: cannot find '", target_.host, "'");
    }
    for (addrinfo* one = found; one != nullptr && socket_ < 0; one = one->ai_next) {
      socket_ = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
      ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &kConnectTime, sizeof(kConnectTime));
      if (socket_ >= 0 && ::connect(socket_, one->ai_addr, one->ai_addrlen) != 0) close();
    }
    ::freeaddrinfo(found);
    if (socket_ < 0) {
      throw IoError("cannot connect to ", target_.host, ":", target_.port, ": ",
                    std::strerror(errno));
    }
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
    buffer_.clear();
  }

  // Returns false if the time of the whole request ends before the socket can be read (or written).
  bool wait_for(short events) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    pollfd waiting = {.fd = socket_, .events = events, .revents = 0};
    const auto most = static_cast<int64_t>(std::numeric_limits<int>::max());
    const int time = static_cast<int>(std::clamp<int64_t>(left.count(), 0, most));
    const int ready = ::poll(&waiting, 1, time);
    if (ready == 0) errno = EAGAIN;
    return ready > 0;
  }

  static Status lost() {
    if (errno == EAGAIN) return failure(Code::deadline_exceeded, "no answer in time");
    return failure(Code::unavailable, "the connection was lost");
  }

  Status write_all(std::string_view request) const {
    while (!request.empty()) {
      const ssize_t count =
          ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN && wait_for(POLLOUT)) continue;
      if (count <= 0) return lost();
      request.remove_prefix(static_cast<size_t>(count));
    }
    return {};
  }

  bool read_more() {
    char part[65536];
    if (!wait_for(POLLIN)) return false;
    const ssize_t count = ::recv(socket_, part, sizeof(part), 0);
    if (count == 0) errno = ECONNRESET;
    if (count <= 0) return false;
    buffer_.append(part, static_cast<size_t>(count));
    return true;
  }

  Status read_answer(std::string& body) {
    size_t head = 0;
    while ((head = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return lost();
    }
    const std::string lower = to_lower(buffer_.substr(0, head));
    const int status = buffer_.size() > 12 ? std::atoi(buffer_.c_str() + 9) : 0;
    const size_t place = lower.find("\r\ncontent-length:");
    if (place == std::string::npos) return failure(Code::unavailable, "an answer without a length");
    const size_t size = std::strtoull(lower.c_str() + place + 17, nullptr, 10);
    while (buffer_.size() < head + 4 + size) {
      if (!read_more()) return lost();
    }
    body = buffer_.substr(head + 4, size);
    buffer_.erase(0, head + 4 + size);
    if (lower.find("connection: close") != std::string::npos) close();
    if (status == 200) return {};
    return failure(code_of(status), "HTTP ", status, ": ", reason_in(body));
  }

  const RestTarget& target_;
  int socket_ = -1;
  Clock::time_point deadline_;  // of the request under way
  std::string buffer_;
};

RestClient::RestClient(RestTarget target)
    : target_(std::move(target)), link_(std::make_unique<Link>(target_)) {}
RestClient::~RestClient() = default;

serve::Result<std::string> RestClient::ask(const std::string& request, Seconds at_most) {
  std::string body;
  Status status = link_->ask(request, at_most, body);
  if (!status.ok()) return status;
  return body;
}

serve::Result<std::string> RestClient::ask(const std::string& path, const std::string& headers,
                                           const std::string& body, Seconds at_most) {
  return ask(whole_request(target_, path, headers, body), at_most);
}

namespace {

class RestConnection : public Connection {
 public:
  RestConnection(const RestTarget& target, std::string request)
      : client_(target), request_(std::move(request)) {}
  Status send(Seconds at_most) override {
    const auto answer = client_.ask(request_, at_most);
    return answer ? Status() : answer.status();
  }

 private:
  RestClient client_;
  const std::string request_;
};

}  // namespace

std::string rest_request(const RestTarget& target, const serve::InputTensor& input) {
  std::string path;
  std::string extra;
  std::string body;
  if (target.open_inference) {
    const bool is_u8 = input.type == ElementType::u8;
    path = "/v2/models/" + target.model + "/infer";
    body = fmt::format(
        R"({{"inputs":[{{"name":"{}","datatype":"{}","shape":{},"parameters":{{"binary_data_size":{}}}}}],)"
        R"("parameters":{{"binary_data_output":true}}}})",
        input.name, is_u8 ? "UINT8" : "FP32", shape_list(input.shape), input.data.size());
    extra = fmt::format("Inference-Header-Content-Length: {}\r\n", body.size());
    body.append(reinterpret_cast<const char*>(input.data.data()), input.data.size());
  } else {
    path = "/v1/models/" + target.model + ":predict";
    body = "{\"instances\":";
    size_t index = 0;
    append_list(body, input, 0, index);
    body += "}";
  }
  return whole_request(target, path, extra, body);
}

std::unique_ptr<Connection> connect_rest(const RestTarget& target, std::string request) {
  return std::make_unique<RestConnection>(target, std::move(request));
}

}  // namespace pando::request
