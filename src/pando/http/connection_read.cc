// A connection while it reads a request: bytes, head, body, time limits.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <new>

#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "pando/base/strings.h"
#include "pando/http/compress.h"
#include "pando/http/connection_impl.h"
#include "pando/http/inflate.h"

namespace pando::http {
namespace {

namespace beast_http = boost::beast::http;
using Problem = beast_http::error;

constexpr size_t kHeadRead = 8 << 10;
constexpr size_t kBodyRead = 64 << 10;
constexpr size_t kSmallChunk = 256;
constexpr size_t kLongestExtension = 256;
constexpr size_t kMostDiscarded = 8 << 20;
constexpr std::chrono::seconds kLingerTime{2};

template <typename View>
std::string_view std_view(const View& view) {
  return {view.data(), view.size()};
}

}  // namespace

Connection::Connection(std::shared_ptr<IoThread> thread, std::shared_ptr<Shared> shared,
                       std::string peer)
    : thread_(std::move(thread)),
      shared_owner_(std::move(shared)),
      shared_(*shared_owner_),
      peer_(std::move(peer)),
      buffer_(static_cast<size_t>(shared_.options.limits.header_bytes) + 2 * kBodyRead) {
  ++shared_.connections;
}

Connection::~Connection() { release_body(); }

void Connection::enter(Phase phase) {
  phase_ = phase;
  since_ = progress_ = Clock::now();
}

void Connection::begin_reading() {
  enter(Phase::idle);
  read_more();
}

void Connection::read_more() {
  const size_t bytes = phase_ == Phase::body ? kBodyRead : kHeadRead;
  const auto space = buffer_.prepare(bytes);
  read_some(static_cast<char*>(space.data()), space.size());
}

void Connection::read_body_part() {
  read_some(body_.get() + body_received_, body_length_ - body_received_);
}

void Connection::on_read(ErrorCode error, size_t bytes) {
  if (error == boost::asio::error::operation_aborted || phase_ == Phase::closed) return;
  if (phase_ == Phase::lingering) {
    discarded_ += bytes;
    if (error || discarded_ > kMostDiscarded) return close();
    return read_more();
  }
  // A read that had ended before check_time cancelled it: its request has been answered with 408.
  if (phase_ != Phase::idle && phase_ != Phase::head && phase_ != Phase::body) return;
  if (error) return close();
  progress_ = Clock::now();
  try {
    if (body_ != nullptr) {
      body_received_ += bytes;
      if (!reserve_body(static_cast<int64_t>(bytes))) return;
      return body_received_ == body_length_ ? complete() : read_body_part();
    }
    if (phase_ == Phase::body) body_received_ += bytes;
    buffer_.commit(bytes);
    parse();
  } catch (const std::bad_alloc&) {
    refuse_for_memory();
  }
}

// Frees the body first, so that there is memory for the answer.
void Connection::refuse_for_memory() {
  release_body();
  try {
    reject(503, "the server has not enough memory for this request; try again later");
  } catch (const std::bad_alloc&) {
    close();
  }
}

// Goes on with what the buffer holds: the rest of a request, or the next one.
void Connection::parse() {
  while (buffer_.size() > 0) {
    if (phase_ == Phase::idle) {
      enter(Phase::head);
      request_ = {};
      request_.began = since_;
      parser_.emplace();
      parser_->header_limit(static_cast<uint32_t>(shared_.options.limits.header_bytes));
      parser_->body_limit(static_cast<uint64_t>(shared_.options.limits.body_bytes));
    }
    ErrorCode error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error == Problem::need_more) break;
    if (error) return fail(error);
    if (phase_ == Phase::head && parser_->is_header_done()) {
      if (!check_head()) return;
      if (parser_->is_done()) return complete();
      enter(Phase::body);
      body_received_ = 0;
      if (!parser_->chunked()) {
        return begin_body(static_cast<size_t>(parser_->content_length().value_or(0)));
      }
      if (sends_continue_) return write_all();
    } else if (parser_->is_done()) {
      return complete();
    }
  }
  read_more();
}

// Reads a body of known length into its own memory, which exists only as far as bytes arrived. Only
// bytes that have arrived count: a client that announces much and sends nothing takes no memory
// from others.
void Connection::begin_body(size_t length) {
  body_ = std::make_unique_for_overwrite<char[]>(length);
  body_length_ = length;
  body_received_ = std::min(length, buffer_.size());
  std::memcpy(body_.get(), buffer_.data().data(), body_received_);
  buffer_.consume(body_received_);
  if (!reserve_body(static_cast<int64_t>(body_received_))) return;
  if (body_received_ == length) return complete();
  if (sends_continue_) return write_all();
  read_body_part();
}

bool Connection::check_head() {
  const auto& head = parser_->get();
  headers_.clear();
  for (const auto& field : head) {
    headers_.push_back({std_view(field.name_string()), std_view(field.value())});
  }
  request_.method = std_view(head.method_string());
  request_.headers = headers_;
  request_.peer = peer_;
  keep_alive_ = parser_->keep_alive();
  if (static_cast<int64_t>(headers_.size()) > shared_.options.limits.headers) {
    reject(431, concat("expected at most ", shared_.options.limits.headers, " headers"));
    return false;
  }
  return set_target() && check_framing() && check_token();
}

bool Connection::set_target() {
  std::string_view target = std_view(parser_->get().target());
  request_.target = target;
  if (target.starts_with("http://") || target.starts_with("https://")) {  // as to a proxy
    const size_t path = target.find('/', target.find("//") + 2);
    target = path == target.npos ? "/" : target.substr(path);
  }
  if (!target.starts_with('/') && !(target == "*" && request_.method == "OPTIONS")) {
    reject(400, "expected an address that begins with '/'");
    return false;
  }
  const size_t question = target.find('?');
  request_.path = target.substr(0, question);
  request_.query = question == target.npos ? "" : target.substr(question + 1);
  return true;
}

// How the request says where its body ends; requests that say it twice are used to smuggle others.
bool Connection::check_framing() {
  const unsigned version = parser_->get().version();
  const std::string_view coding = request_.header("transfer-encoding");
  const std::string_view expectation = request_.header("expect");
  if (version != 10 && version != 11) {
    reject(505, "expected HTTP/1.1");
  } else if (version == 11 && request_.header("host").data() == nullptr) {
    reject(400, "expected a header Host");
  } else if (!coding.empty() && request_.header("content-length").data() != nullptr) {
    reject(400, "expected Content-Length or Transfer-Encoding, got both");
  } else if (!coding.empty() && (to_lower(coding) != "chunked" || version == 10)) {
    reject(501, "expected no Transfer-Encoding but chunked");
  } else if (!expectation.empty() && to_lower(expectation) != "100-continue") {
    reject(417, "expected no header Expect but 100-continue");
  } else {
    // Clients that wait for permission have sent nothing of the body yet.
    sends_continue_ = !expectation.empty() && version == 11 && buffer_.size() == 0;
    if (sends_continue_) head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    if (parser_->chunked()) {
      small_chunks_ = 0;
      chunk_status_ = 0;
      parser_->on_chunk_header(
          chunk_counter_ = [this](uint64_t size, auto extensions, ErrorCode& error) {
            count_chunk(size, std_view(extensions), error);
          });
    }
    return true;
  }
  return false;
}

bool Connection::check_token() {
  const ServerOptions& options = shared_.options;
  if (options.token.empty()) return true;
  if (std::ranges::find(options.public_paths, request_.path) != options.public_paths.end()) {
    return true;
  }
  if (is_bearer_of(options.token, request_.header("authorization"))) return true;
  reject(401, "expected a header 'Authorization: Bearer TOKEN' with the token of this server");
  return false;
}

bool Connection::reserve_body(int64_t bytes) {
  reserved_ += bytes;
  if ((shared_.body_bytes += bytes) <= shared_.options.limits.all_body_bytes) return true;
  reject(503, "the server holds too many large requests at once; try again later");
  return false;
}

// Many tiny chunks cost more than their bytes.
void Connection::count_chunk(uint64_t size, std::string_view extensions, ErrorCode& error) {
  const Limits& limits = shared_.options.limits;
  if (size < kSmallChunk) ++small_chunks_;
  if (small_chunks_ > limits.chunks || extensions.size() > kLongestExtension) {
    chunk_status_ = 413;
  } else if (reserved_ += static_cast<int64_t>(size);
             (shared_.body_bytes += static_cast<int64_t>(size)) > limits.all_body_bytes) {
    chunk_status_ = 503;
  }
  if (chunk_status_ != 0) error = Problem::body_limit;
}

void Connection::complete() {
  request_.arrived = Clock::now();
  request_.body = body_ != nullptr ? std::string_view(body_.get(), body_length_)
                                   : std::string_view(parser_->get().body());
  if (unpack()) handle();
}

bool Connection::unpack() {
  const std::string coding = to_lower(request_.header("content-encoding"));
  if (coding.empty() || coding == "identity") return true;
  if (coding != "gzip" && coding != "x-gzip" && coding != "deflate") {
    reject(415, "expected Content-Encoding gzip, deflate or none");
    return false;
  }
  const Limits& limits = shared_.options.limits;
  const auto result =
      inflate_body(request_.body, {limits.body_bytes, limits.gzip_ratio}, unpacked_);
  if (result == InflateResult::broken) {
    reject(400, "expected a complete gzip or deflate stream, got a truncated or damaged one");
    return false;
  }
  if (result == InflateResult::too_large) {
    reject(413, concat("the unpacked body has more than ", limits.body_bytes, " bytes or ",
                       limits.gzip_ratio, " times its packed size"));
    return false;
  }
  request_.body = unpacked_;
  return reserve_body(static_cast<int64_t>(unpacked_.size()));
}

void Connection::handle() {
  enter(Phase::handling);
  {
    const std::lock_guard lock(stream_mutex_);
    stream_ended_ = stream_dead_ = false;
    stream_waiting_.clear();
  }
  stream_chunked_ = parser_->get().version() == 11;
  takes_gzip_ = accepts_gzip(request_.header("accept-encoding"));
  try {
    shared_.handler->handle(request_, Reply(shared_from_this()));
  } catch (const std::exception&) {
    // Unwinding has destroyed the reply, which answered 500.
  }
  if (phase_ == Phase::handling) thread_->handled_request();
}

void Connection::release_body() {
  shared_.body_bytes -= std::exchange(reserved_, 0);
  body_.reset();
  if (unpacked_.capacity() > kBodyRead) unpacked_ = {};
  if (parser_ && parser_->get().body().capacity() > kBodyRead) parser_.reset();
}

void Connection::fail(ErrorCode error) {
  const Limits& limits = shared_.options.limits;
  if (chunk_status_ == 503) {
    reject(503, "the server holds too many large requests at once; try again later");
  } else if (chunk_status_ == 413) {
    reject(413, concat("expected at most ", limits.chunks, " chunks below ", kSmallChunk,
                       " bytes, with short extensions"));
  } else if (error == Problem::body_limit) {
    reject(413, concat("expected a body of at most ", limits.body_bytes, " bytes"));
  } else if (error == Problem::header_limit || error == Problem::buffer_overflow) {
    reject(431, concat("expected at most ", limits.header_bytes, " bytes before the body"));
  } else if (error == Problem::bad_version) {
    reject(505, "expected HTTP/1.1");
  } else {
    reject(400, concat("malformed request: ", error.message()));
  }
}

// True if fewer bytes have moved than a client must manage.
bool Connection::is_too_slow(Clock::time_point now, size_t bytes) const {
  const Limits& limits = shared_.options.limits;
  const double seconds = std::chrono::duration<double>(now - since_).count();
  const double grace = std::chrono::duration<double>(limits.header_timeout).count();
  return seconds > grace &&
         static_cast<double>(bytes) < seconds * static_cast<double>(limits.least_body_rate);
}

// The same for the answer.
bool Connection::is_read_too_slowly(Clock::time_point now) {
  const Limits& limits = shared_.options.limits;
  return now - progress_ > limits.write_timeout ||
         rate_.is_too_slow(now, limits.write_timeout,
                           static_cast<double>(limits.least_answer_rate));
}

bool Connection::waits_for_client() const {
  switch (phase_) {
    case Phase::handshake:
    case Phase::idle:
    case Phase::head:
    case Phase::body:
    case Phase::lingering: return true;
    default: return false;
  }
}

void Connection::check_time(Clock::time_point now) {
  const Limits& limits = shared_.options.limits;
  const auto late = [&](Clock::time_point from, auto limit) { return now - from > limit; };
  const auto time_out = [&](std::string_view message) {
    ErrorCode ignored;
    socket().cancel(ignored);
    reject(408, message);
  };
  switch (phase_) {
    case Phase::handshake:
      if (late(since_, limits.header_timeout)) close();
      break;
    case Phase::idle:
      if (late(since_, limits.idle_timeout)) close();
      break;
    case Phase::head:
      if (late(since_, limits.header_timeout)) time_out("the request began, but its head is late");
      break;
    case Phase::body:
      if (late(progress_, limits.body_timeout) || is_too_slow(now, body_received_)) {
        time_out("the body of the request is late");
      }
      break;
    case Phase::writing:
      if (is_read_too_slowly(now)) close();
      break;
    case Phase::streaming:
      if (stream_busy_ && is_read_too_slowly(now)) close();
      break;
    case Phase::lingering:
      if (late(since_, kLingerTime)) close();
      break;
    case Phase::handling:
    case Phase::closed: break;
  }
}

}  // namespace pando::http
