// A connection while it answers: whole answers, streams, the end.
// SPDX-License-Identifier: MIT
#include <ctime>

#include <boost/asio/error.hpp>
#include <fmt/core.h>

#include "pando/base/clock.h"
#include "pando/http/compress.h"
#include "pando/http/connection_impl.h"

namespace pando::http {
namespace {

// The header Date, made once per second.
std::string_view date_now() {
  thread_local std::time_t last = 0;
  thread_local char text[40];
  const std::time_t now = std::time(nullptr);
  if (now != last) {
    std::tm parts = {};
    gmtime_r(&now, &parts);
    std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    last = now;
  }
  return text;
}

// A header that contained a line break would begin another one.
void append_header(std::string& head, std::string_view name, std::string_view value) {
  const auto append_clean = [&](std::string_view text) {
    for (const char c : text) head += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  };
  append_clean(name);
  head += ": ";
  append_clean(value);
  head += "\r\n";
}

std::string as_chunk(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

}  // namespace

void Connection::send(Response response) {
  // Runs on the caller's thread, so that other connections of this I/O thread do not wait.
  if (takes_gzip_) compress(response);
  thread_->dispatch([self = shared_from_this(), this, response = std::move(response)]() mutable {
    answer_or_close(std::move(response));
  });
}

// Without memory for an answer the connection must not stay in use for ever.
void Connection::answer_or_close(Response response) {
  if (phase_ != Phase::handling) return;
  try {
    answer(std::move(response));
  } catch (const std::exception&) {
    close();
  }
}

// An answer that another thread has left.
class Connection::Answer : public IoThread::Task {
 public:
  Answer(std::shared_ptr<Connection> connection, Response response)
      : connection_(std::move(connection)), response_(std::move(response)) {}
  void run() override { connection_->answer_or_close(std::move(response_)); }

 private:
  const std::shared_ptr<Connection> connection_;
  Response response_;
};

void Connection::send_later(Response response) {
  if (thread_->is_own_thread()) return send(std::move(response));
  if (takes_gzip_) compress(response);
  thread_->leave(std::make_unique<Answer>(shared_from_this(), std::move(response)));
}

// `length`: nothing for a stream.
std::string Connection::make_head(const Response& response, std::optional<size_t> length) const {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  head.reserve(256);
  append_header(head, "Content-Type", response.content_type);
  for (const Header& header : response.headers) append_header(head, header.name, header.value);
  head += "Date: ";
  head += date_now();
  if (length) head += fmt::format("\r\nContent-Length: {}", *length);
  if (!length && stream_chunked_) head += "\r\nTransfer-Encoding: chunked";
  const bool is_old = parser_ && parser_->get().version() == 10;
  if (!keep_alive_) head += "\r\nConnection: close";
  if (keep_alive_ && is_old) head += "\r\nConnection: keep-alive";
  if (response.status == 401) head += "\r\nWWW-Authenticate: Bearer";
  return head + "\r\n\r\n";
}

void Connection::answer(Response response) {
  if (phase_ == Phase::closed) return;
  enter(Phase::writing);
  if (shared_.draining) keep_alive_ = false;
  sends_continue_ = false;
  status_ = response.status;
  head_ = make_head(response, response.body.size());
  payload_ = std::move(response.body);
  if (request_.method == "HEAD") payload_.clear();
  begin_writing();
}

// Answers before the request was read to its end, so the connection cannot be used further.
void Connection::reject(int status, std::string_view message) {
  keep_alive_ = false;
  Response response = error_response(status, message);
  if (status == 503) response.headers.push_back({"Retry-After", "1"});
  answer(std::move(response));
}

void Connection::refuse() { reject(503, "the server has too many connections; try again later"); }

void Connection::begin_writing() {
  written_ = 0;
  progress_ = Clock::now();
  rate_.begin(progress_);
  write_all();
}

void Connection::note_progress(size_t written) {
  if (written == written_) return;
  rate_.add(written - written_);
  written_ = written;
  progress_ = Clock::now();
}

void Connection::on_written(ErrorCode error) {
  if (error == boost::asio::error::operation_aborted || phase_ == Phase::closed) return;
  if (error) return close();
  if (phase_ == Phase::body) {  // "100 Continue"
    sends_continue_ = false;
    return body_ != nullptr ? read_body_part() : read_more();
  }
  if (phase_ == Phase::streaming) {
    stream_busy_ = false;
    payload_.clear();
    return flush_stream();
  }
  log_access();
  next_request();
}

void Connection::log_access() {
  if (!shared_.options.access_log) return;
  AccessRecord record;
  record.peer = peer_;
  record.method = request_.method;
  record.target = request_.target;
  record.agent = request_.header("user-agent");
  record.status = status_;
  record.request_bytes = static_cast<int64_t>(request_.body.size());
  record.response_bytes = static_cast<int64_t>(payload_.size());
  record.seconds = seconds_since(request_.began);
  if (request_.began != Clock::time_point()) shared_.options.access_log(record);
}

void Connection::next_request() {
  release_body();
  payload_.clear();
  if (payload_.capacity() > (1 << 16)) payload_ = {};
  if (!keep_alive_ || shared_.draining) return linger();
  enter(Phase::idle);
  parse();
}

// Ends the sending side and still reads what the client sends: closing at once would reset the
// connection, and the client might lose the answer.
void Connection::linger() {
  ErrorCode error;
  socket().shutdown(Socket::shutdown_send, error);
  if (error) return close();
  buffer_.consume(buffer_.size());
  enter(Phase::lingering);
  discarded_ = 0;
  read_more();
}

void Connection::stop_if_idle() {
  // Also answers a request that has arrived but was not read yet.
  ErrorCode error;
  if (phase_ == Phase::idle && socket().available(error) > 0) return;
  if (phase_ == Phase::idle || phase_ == Phase::handshake || phase_ == Phase::streaming) close();
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  // A handler may still read the request; then the destructor releases it.
  const bool is_used = phase_ == Phase::handling || phase_ == Phase::streaming;
  phase_ = Phase::closed;
  {
    const std::lock_guard lock(stream_mutex_);
    stream_dead_ = true;
  }
  ErrorCode ignored;
  socket().close(ignored);
  if (!is_used) release_body();
  --shared_.connections;
  thread_->forget(this);
}

void Connection::begin_stream(Response head) {
  thread_->dispatch([self = shared_from_this(), this, head = std::move(head)]() mutable {
    if (phase_ != Phase::handling) return;
    if (!stream_chunked_) keep_alive_ = false;
    enter(Phase::streaming);
    status_ = head.status;
    head_ = make_head(head, std::nullopt);
    payload_.clear();
    stream_busy_ = true;
    begin_writing();
  });
}

bool Connection::write(std::string data) {
  if (data.empty()) return true;  // an empty chunk would end the stream
  bool is_dead = false;
  {
    const std::lock_guard lock(stream_mutex_);
    const size_t most = static_cast<size_t>(shared_.options.limits.stream_bytes);
    if (stream_waiting_.size() + data.size() > most) stream_dead_ = true;
    is_dead = stream_dead_;
    if (!is_dead) stream_waiting_ += data;
  }
  if (is_dead) {
    thread_->dispatch([self = shared_from_this()] { self->close(); });
  } else {
    post_flush();
  }
  return !is_dead;
}

void Connection::end_stream() {
  {
    const std::lock_guard lock(stream_mutex_);
    stream_ended_ = true;
  }
  post_flush();
}

void Connection::post_flush() {
  thread_->dispatch([self = shared_from_this(), this] { flush_stream(); });
}

void Connection::flush_stream() {
  if (phase_ != Phase::streaming || stream_busy_) return;
  const std::lock_guard lock(stream_mutex_);
  head_.clear();
  if (!stream_waiting_.empty()) {
    payload_ = stream_chunked_ ? as_chunk(stream_waiting_) : std::move(stream_waiting_);
    stream_waiting_.clear();
    stream_busy_ = true;
  } else if (stream_ended_) {
    payload_ = stream_chunked_ ? "0\r\n\r\n" : "";
    phase_ = Phase::writing;
  } else {
    return;
  }
  begin_writing();
}

}  // namespace pando::http
