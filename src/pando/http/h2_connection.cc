// A connection of HTTP/2: its thread, its bytes, its time limits.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <new>
#include <utility>

#include "pando/http/h2_connection_impl.h"

namespace pando::http {
namespace {

constexpr size_t kInputBytes = 64 << 10;
constexpr size_t kOutputBytes = 256 << 10;  // written at once
constexpr size_t kKeptOutput = 32 << 10;    // by a connection that has written more
constexpr std::chrono::seconds kFarewell{1};
constexpr std::chrono::seconds kH2LingerTime{2};
constexpr int kSweepsPerSecond = 5;

}  // namespace

std::string_view CallHead::header(std::string_view name) const {
  for (const HeaderView& header : headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

// A part that another thread has left.
class H2Stream::Answer : public IoThread::Task {
 public:
  Answer(std::shared_ptr<H2Stream> stream, CallPart part)
      : stream_(std::move(stream)), part_(std::move(part)) {}
  void run() override { stream_->connection_->answer(*stream_, std::move(part_)); }

 private:
  const std::shared_ptr<H2Stream> stream_;
  CallPart part_;
};

H2Stream::H2Stream(std::shared_ptr<H2Connection> connection, int32_t id, Clock::time_point now)
    : connection_(std::move(connection)), id_(id), began_(now), progress_(now), taken_(now) {}
H2Stream::~H2Stream() = default;

void H2Stream::send(CallPart part) {
  IoThread& thread = connection_->thread();
  if (thread.is_own_thread()) return connection_->answer(*this, std::move(part));
  try {
    thread.leave(std::make_unique<Answer>(shared_from_this(), std::move(part)));
  } catch (const std::bad_alloc&) {
    fail();
  }
}

std::shared_ptr<const std::function<void()>> H2Stream::waker() {
  return connection_->thread().waker();
}

bool H2Stream::add_header(std::string_view name, std::string_view value, const H2Limits& limits) {
  const size_t bytes = head_text_.size() + name.size() + value.size();
  if (static_cast<int64_t>(bytes) > limits.header_bytes ||
      static_cast<int64_t>(head_lengths_.size()) >= limits.headers) {
    is_head_too_large_ = true;
    return false;
  }
  if (head_text_.empty()) head_text_.reserve(kFirstHead);
  head_text_ += name;
  head_text_ += value;
  head_lengths_.emplace_back(name.size(), value.size());
  return true;
}

std::vector<HeaderView> H2Stream::headers() const {
  std::vector<HeaderView> headers;
  headers.reserve(head_lengths_.size());
  std::string_view text = head_text_;
  for (const auto& [name, value] : head_lengths_) {
    headers.push_back({text.substr(0, name), text.substr(name, value)});
    text.remove_prefix(name + value);
  }
  return headers;
}

// True if fewer bytes have arrived than a client must manage.
bool H2Stream::is_too_slow(Clock::time_point now, const H2Limits& limits) const {
  if (now - progress_ > limits.body_timeout) return true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double grace = std::chrono::duration<double>(limits.header_timeout).count();
  return seconds > grace &&
         static_cast<double>(received_) < seconds * static_cast<double>(limits.least_body_rate);
}

H2Connection::H2Connection(std::shared_ptr<IoThread> thread, std::shared_ptr<H2Shared> shared,
                           std::string peer)
    : thread_(std::move(thread)),
      shared_owner_(std::move(shared)),
      shared_(*shared_owner_),
      peer_(std::move(peer)) {
  ++shared_.connections;
}

H2Connection::~H2Connection() { nghttp2_session_del(session_); }

void H2Connection::start() {
  try {
    if (!open_session()) return close();
    input_ = std::make_unique_for_overwrite<char[]>(kInputBytes);
  } catch (const std::exception&) {
    return close();
  }
  flush();
  read_more();
}

void H2Connection::read_more() {
  // A client that does not take its answers may not ask for more.
  if (is_reading_ || is_writing_ || is_closed_) return;
  try {
    is_reading_ = true;
    read_some(input_.get(), kInputBytes);
  } catch (const std::exception&) {
    close();
  }
}

void H2Connection::on_read(ErrorCode error, size_t bytes) {
  is_reading_ = false;
  if (is_closed_) return;
  if (error) return close();
  if (is_lingering_) return read_more();
  heard_ = Clock::now();
  has_pinged_ = false;
  is_in_read_ = true;
  const ssize_t used =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(input_.get()), bytes);
  is_in_read_ = false;
  if (used < 0) return close();  // no HTTP/2, too many frames, or no memory
  flush();
  read_more();
}

// Asks nghttp2 for frames. False: the connection cannot go on.
bool H2Connection::fill_output() {
  output_.clear();
  written_ = 0;
  while (output_.size() < kOutputBytes) {
    const uint8_t* bytes = nullptr;
    const ssize_t count = nghttp2_session_mem_send(session_, &bytes);
    if (count < 0) return false;
    if (count == 0) break;
    output_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
  }
  return true;
}

void H2Connection::flush() {
  is_unflushed_ = false;
  if (is_broken_) return close();
  if (session_ == nullptr || is_lingering_) return;
  try {
    write_what_is_ready();
  } catch (const std::exception&) {
    close();
  }
}

void H2Connection::write_what_is_ready() {
  while (!is_closed_ && !is_writing_) {
    if (!fill_output()) return close();
    if (output_.empty()) break;
    written_ = write_now();
    rate_.add(written_);
    if (written_ == output_.size()) continue;
    is_writing_ = true;
    noted_ = 0;
    write_progress_ = Clock::now();
    write_rest();
  }
  if (is_closed_ || is_writing_) return;
  if (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0) {
    linger();
  }
}

void H2Connection::note_written(size_t bytes) {
  if (bytes == noted_) return;
  rate_.add(bytes - noted_);
  noted_ = bytes;
  write_progress_ = Clock::now();
}

void H2Connection::on_written(ErrorCode error) {
  is_writing_ = false;
  if (is_closed_) return;
  if (error) return close();
  heard_ = std::max(heard_, write_progress_);
  has_pinged_ = false;  // the client has taken bytes, so it is there
  flush();
  read_more();
}

// Ends the sending side and waits for the client to end its own: closing at once would reset the
// connection, and the client might lose an answer.
void H2Connection::linger() {
  ErrorCode error;
  socket().shutdown(Socket::shutdown_send, error);
  if (error) return close();
  is_lingering_ = true;
  since_ = Clock::now();
  read_more();
}

void H2Connection::close() {
  if (is_closed_) return;
  is_closed_ = true;
  ErrorCode ignored;
  socket().close(ignored);
  for (const auto& [id, stream] : std::exchange(streams_, {})) {
    end(*stream);
  }
  --shared_.connections;
  thread_->forget(this);
}

void H2Connection::count_waiting(H2Stream& stream, int64_t more) {
  stream.waiting_ += more;
  waiting_ += more;
  shared_.waiting_bytes.fetch_add(more, std::memory_order_relaxed);
}

void H2Connection::set_owed(H2Stream& stream, bool is_owed) {
  if (std::exchange(stream.is_owed_, is_owed) != is_owed) owed_ += is_owed ? 1 : -1;
}

void H2Connection::log_call(const H2Stream& stream) {
  AccessRecord record;
  record.peer = peer_;
  record.method = "POST";
  record.target = stream.logged_->path;
  record.agent = stream.logged_->agent;
  record.status = stream.logged_->status;
  record.request_bytes = static_cast<int64_t>(stream.received_);
  record.response_bytes = stream.logged_->sent_bytes;
  record.seconds = std::chrono::duration<double>(Clock::now() - stream.began_).count();
  for (const Header& trailer : stream.trailers_) {
    if (trailer.name == shared_.options.outcome) record.outcome = trailer.value;
  }
  shared_.options.access_log(record);
}

void H2Connection::end(H2Stream& stream) {
  stream.is_over_ = true;
  try {
    if (stream.logged_ != nullptr) log_call(stream);
  } catch (const std::bad_alloc&) {  // costs the line, never the counters below
  }
  stream.parts_.clear();
  if (stream.waiting_ > 0) count_waiting(stream, -stream.waiting_);
  set_owed(stream, false);
  if (std::exchange(stream.is_counted_, false)) --shared_.open_calls;
  if (stream.handler_ != nullptr) std::exchange(stream.handler_, nullptr)->on_over();
}

void H2Connection::add_part(H2Stream& stream, CallPart part, Clock::time_point now) {
  if (!part.data.empty()) {
    if (stream.waiting_ == 0) {
      stream.taken_ = now;
      stream.rate_.begin(now);
    }
    const auto bytes = static_cast<int64_t>(part.data.size());
    stream.parts_.push_back(std::move(part.data));
    count_waiting(stream, bytes);
  }
  if (part.is_last) {
    stream.is_answered_ = true;
    set_owed(stream, false);
    stream.trailers_ = std::move(part.trailers);
  }
  stream.progress_ = now;
  if (!stream.has_begun_) {
    submit_head(stream, part.status);
  } else if (stream.is_deferred_) {
    stream.is_deferred_ = false;
    if (nghttp2_session_resume_data(session_, stream.id_) != 0) throw std::bad_alloc();
  }
}

void H2Connection::answer(H2Stream& stream, CallPart part) noexcept {
  if (is_closed_ || stream.is_over_ || stream.is_answered_ || stream.is_reset_) return;
  try {
    take_part(stream, std::move(part));
    if (is_in_read_ || is_unflushed_) return;
    thread_->flush_later(shared_from_this());
    is_unflushed_ = true;
  } catch (const std::exception&) {
    is_broken_ = true;
  }
}

void H2Connection::take_part(H2Stream& stream, CallPart part) {
  const Clock::time_point now = Clock::now();
  const H2Limits& limits = shared_.options.limits;
  const auto more = static_cast<int64_t>(part.data.size());
  const bool is_too_much = !part.is_last && stream.waiting_ + more > limits.stream_bytes;
  if (is_too_much || (more > 0 && shared_.waiting_bytes + more > limits.waiting_bytes)) {
    reset(stream, NGHTTP2_ENHANCE_YOUR_CALM);
  } else {
    add_part(stream, std::move(part), now);
  }
}

bool H2Connection::waits_for_client() const { return owed_ == 0; }

// True if the client takes too little of what waits for all of it: it has opened its windows and
// does not read, or opens that of the connection slowly. Who lets much wait must take more.
bool H2Connection::is_read_too_slowly(Clock::time_point now) {
  constexpr int64_t kWaitingPerRate = 1 << 20;
  const bool is_blocked =
      is_writing_ || (waiting_ > 0 && nghttp2_session_get_remote_window_size(session_) <= 0);
  if (!is_blocked) {
    rate_.begin(now);
    return false;
  }
  const H2Limits& limits = shared_.options.limits;
  const auto least = static_cast<double>(limits.least_answer_rate *
                                         std::max<int64_t>(1, waiting_ / kWaitingPerRate));
  return rate_.is_too_slow(now, limits.write_timeout, least);
}

// The same for one answer, whose own window is what holds it up.
bool H2Connection::is_read_too_slowly(H2Stream& stream, Clock::time_point now) {
  const H2Limits& limits = shared_.options.limits;
  if (stream.waiting_ == 0) return false;
  if (now - stream.taken_ > limits.write_timeout) return true;
  return stream.rate_.is_too_slow(now, limits.write_timeout,
                                  static_cast<double>(limits.least_answer_rate)) &&
         nghttp2_session_get_stream_remote_window_size(session_, stream.id_) <= 0;
}

// Tells the client to send no more calls. Calls that were on their way are answered: the client
// has seen the first message when it answers the ping.
void H2Connection::stop_if_idle() {
  const Clock::time_point now = Clock::now();
  if (session_ == nullptr) return close();
  if (!is_draining_) {
    is_draining_ = true;
    drain_began_ = now;
    nghttp2_submit_shutdown_notice(session_);
    flush();  // pings overtake other frames
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kDrainPing);
    return flush();
  }
  if (has_said_goodbye_ || now - drain_began_ < kFarewell) return;
  say_goodbye();
  flush();
}

void H2Connection::say_goodbye() {
  if (std::exchange(has_said_goodbye_, true)) return;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

bool H2Connection::is_late(Clock::time_point now) {
  const H2Limits& limits = shared_.options.limits;
  return (is_in_head_ && now - head_began_ > limits.header_timeout) ||
         (is_writing_ && now - write_progress_ > limits.write_timeout) ||
         (is_lingering_ && now - since_ > kH2LingerTime) ||
         // A ping may stand behind a large answer.
         (has_pinged_ && !is_writing_ && now - pinged_ > limits.ping_timeout) ||
         std::exchange(idle_frames_, 0) > limits.idle_frames / kSweepsPerSecond;
}

void H2Connection::check_time(Clock::time_point now) {
  if (is_broken_ || is_late(now)) return close();
  if (session_ == nullptr || is_lingering_) return;
  if (!has_pinged_ && !is_writing_ && now - heard_ > shared_.options.limits.ping_after) {
    has_pinged_ = true;
    pinged_ = now;
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  }
  check_streams(now);
  if (is_read_too_slowly(now)) return close();
  if (!is_writing_ && output_.capacity() > kKeptOutput) output_ = {};
  flush();
}

void H2Connection::check_streams(Clock::time_point now) {
  const H2Limits& limits = shared_.options.limits;
  for (const auto& [id, stream] : streams_) {
    if (stream->is_reset_) continue;
    if (stream->has_failed_) {
      reset(*stream, NGHTTP2_INTERNAL_ERROR);
    } else if (is_read_too_slowly(*stream, now)) {
      reset(*stream, NGHTTP2_CANCEL);
    } else if (stream->is_answered_) {
      if (now - stream->progress_ > limits.write_timeout) reset(*stream, NGHTTP2_CANCEL);
    } else if (stream->handler_ != nullptr) {
      const bool waits = !stream->has_ended_ && !stream->handler_->may_idle();
      if (waits && stream->is_too_slow(now, limits)) reset(*stream, NGHTTP2_CANCEL);
      try {
        stream->handler_->on_late(now);
      } catch (const std::exception&) {
        reset(*stream, NGHTTP2_INTERNAL_ERROR);
      }
    }
  }
}

}  // namespace pando::http
