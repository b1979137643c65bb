// What nghttp2 tells about the frames of a client, and the frames that it is asked for.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <new>

#include "pando/http/h2_connection_impl.h"

namespace pando::http {
namespace {

// Requests of one picture fit into the window of a stream, so that clients need not wait.
constexpr int32_t kStreamWindow = 1 << 20;
constexpr int32_t kConnectionWindow = 16 << 20;

std::string_view text_of(const uint8_t* text, size_t length) {
  return {reinterpret_cast<const char*>(text), length};
}

nghttp2_nv pair_of(std::string_view name, std::string_view value) {
  // nghttp2 copies both; its type is older than const.
  const auto bytes = [](std::string_view text) {
    return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

const nghttp2_option* session_options() {
  // Clients may cancel many calls at once; more than that is an attack.
  constexpr uint64_t kResetsAtOnce = 10'000;
  constexpr uint64_t kResetsPerSecond = 2'000;
  static const nghttp2_option* const options = [] {
    nghttp2_option* made = nullptr;
    if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
    nghttp2_option_set_no_closed_streams(made, 1);
    nghttp2_option_set_stream_reset_rate_limit(made, kResetsAtOnce, kResetsPerSecond);
    return made;
  }();
  return options;
}

}  // namespace

// The functions of C that nghttp2 calls. Nothing may be thrown through it.
struct H2Connection::Callbacks {
  static H2Connection& of(void* user) { return *static_cast<H2Connection*>(user); }

  // Calls `function` with the stream, if there is one.
  template <typename Function>
  static int with(void* user, int32_t id, const Function& function) {
    H2Connection& connection = of(user);
    if (connection.is_closed_) return NGHTTP2_ERR_CALLBACK_FAILURE;
    const auto found = connection.streams_.find(id);
    if (found == connection.streams_.end()) return 0;
    const std::shared_ptr<H2Stream> stream = found->second;
    try {
      function(connection, *stream);
    } catch (const std::exception&) {
      connection.reset(*stream, NGHTTP2_INTERNAL_ERROR);
    }
    return 0;
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    H2Connection& connection = of(user);
    if (connection.is_closed_) return NGHTTP2_ERR_CALLBACK_FAILURE;
    try {
      connection.begin_head(frame->hd.stream_id);
      return 0;
    } catch (const std::exception&) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
    }
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_length, const uint8_t* value, size_t value_length, uint8_t,
                    void* user) {
    bool is_kept = frame->headers.cat == NGHTTP2_HCAT_REQUEST;  // others are trailers
    const int failed =
        !is_kept ? 0 : with(user, frame->hd.stream_id, [&](H2Connection& own, H2Stream& stream) {
          is_kept = stream.add_header(text_of(name, name_length), text_of(value, value_length),
                                      own.shared_.options.limits);
        });
    const bool goes_on = is_kept || of(user).drop_header(name_length + value_length);
    return goes_on ? failed : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int received(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    H2Connection& connection = of(user);
    connection.is_in_head_ = false;
    const nghttp2_frame_hd& head = frame->hd;
    const bool ends = (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (head.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if (head.type == NGHTTP2_DATA && head.length == 0 && !ends) ++connection.idle_frames_;
        return with(user, head.stream_id, [&](H2Connection& own, H2Stream& stream) {
          const bool begins =
              head.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
          if (begins) own.begin_call(stream);
          if (ends) own.end_request(stream);
        });
      case NGHTTP2_PING:
        ++connection.idle_frames_;
        if ((head.flags & NGHTTP2_FLAG_ACK) != 0 && connection.is_draining_ &&
            std::ranges::equal(frame->ping.opaque_data, kDrainPing)) {
          connection.say_goodbye();
        }
        return 0;
      case NGHTTP2_WINDOW_UPDATE: connection.count_window_update(); return 0;
      case NGHTTP2_RST_STREAM: return 0;  // nghttp2 limits their rate
      default: ++connection.idle_frames_; return 0;
    }
  }

  static int data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t length,
                  void* user) {
    return with(user, id, [&](H2Connection& connection, H2Stream& stream) {
      connection.receive(stream, text_of(bytes, length));
    });
  }

  static int closed(nghttp2_session*, int32_t id, uint32_t, void* user) {
    return with(user, id,
                [](H2Connection& connection, H2Stream& stream) { connection.end_call(stream); });
  }

  // A client that still sends when it has its answer should stop.
  static int sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    return with(user, frame->hd.stream_id, [](H2Connection& connection, H2Stream& stream) {
      if (!stream.has_ended_) connection.reset(stream, NGHTTP2_NO_ERROR);
    });
  }

  static ssize_t take(nghttp2_session*, int32_t id, uint8_t* to, size_t bytes, uint32_t* flags,
                      nghttp2_data_source*, void* user) {
    ssize_t taken = NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const int failed = with(user, id, [&](H2Connection& connection, H2Stream& stream) {
      taken = connection.take(stream, to, bytes, *flags);
    });
    return failed != 0 ? failed : taken;
  }

  static nghttp2_session_callbacks* all() {
    static nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* made = nullptr;
      if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
      nghttp2_session_callbacks_set_on_begin_headers_callback(made, begin_headers);
      nghttp2_session_callbacks_set_on_header_callback(made, header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(made, received);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, data);
      nghttp2_session_callbacks_set_on_stream_close_callback(made, closed);
      nghttp2_session_callbacks_set_on_frame_send_callback(made, sent);
      return made;
    }();
    return callbacks;
  }
};

bool H2Connection::open_session() {
  const H2Limits& limits = shared_.options.limits;
  if (nghttp2_session_server_new2(&session_, Callbacks::all(), this, session_options()) != 0) {
    return false;
  }
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<uint32_t>(limits.streams)},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},  // trees of streams cost time and help nobody
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits.header_bytes)}};
  return nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0 &&
         nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) ==
             0;
}

// A client that takes answers says so by a few of these frames; others carry nothing.
void H2Connection::expect_window_updates(int count) {
  constexpr int kMostExpected = 100'000;
  expected_updates_ = std::min(expected_updates_ + count, kMostExpected);
}

void H2Connection::count_window_update() {
  if (expected_updates_ > 0) {
    --expected_updates_;
  } else {
    ++idle_frames_;
  }
}

void H2Connection::begin_head(int32_t id) {
  is_in_head_ = true;
  dropped_bytes_ = 0;
  head_id_ = id;
  head_began_ = heard_;
  if (streams_.contains(id)) return;  // trailers
  streams_.emplace(id, std::make_shared<H2Stream>(shared_from_this(), id, heard_));
}

// A few bytes may stand for many long headers, each of which takes time. False: there are too many.
bool H2Connection::drop_header(size_t bytes) {
  constexpr int64_t kPerHeader = 32;  // as HPACK counts it
  dropped_bytes_ += static_cast<int64_t>(bytes) + kPerHeader;
  return dropped_bytes_ <= shared_.options.limits.dropped_header_bytes;
}

void H2Connection::begin_call(H2Stream& stream) {
  stream.is_counted_ = true;
  since_ = heard_;
  expect_window_updates(2);
  if (++shared_.open_calls > shared_.options.limits.calls) {
    return reset(stream, NGHTTP2_REFUSED_STREAM);  // the client may try again
  }
  if (stream.is_head_too_large_) return answer(stream, {.is_last = true, .status = 431});
  const std::vector<HeaderView> headers = stream.headers();
  CallHead head{.peer = peer_, .headers = headers};
  head.method = head.header(":method");
  head.path = head.header(":path");
  if (shared_.options.access_log) {
    stream.logged_ = std::make_unique<H2Stream::LoggedCall>();
    stream.logged_->path = head.path;
    stream.logged_->agent = head.header("user-agent");
  }
  stream.handler_ = shared_.service->begin(head, stream.shared_from_this());
  stream.head_text_ = {};
  stream.head_lengths_ = {};
}

void H2Connection::receive(H2Stream& stream, std::string_view bytes) {
  stream.progress_ = heard_;
  stream.received_ += bytes.size();
  if (stream.handler_ != nullptr && !stream.is_answered_) stream.handler_->on_data(bytes);
}

void H2Connection::end_request(H2Stream& stream) {
  if (stream.has_ended_) return;
  stream.has_ended_ = true;
  if (stream.handler_ == nullptr || stream.is_answered_) return;
  set_owed(stream, !stream.handler_->may_idle());
  stream.handler_->on_end();
  if (!stream.is_answered_) thread_->handled_request();
}

void H2Connection::end_call(H2Stream& stream) {
  streams_.erase(stream.id_);                       // the caller keeps it
  if (head_id_ == stream.id_) is_in_head_ = false;  // nghttp2 has refused the head
  since_ = heard_;
  end(stream);
}

// An answer that is not complete is freed at once, although the frame may have to wait.
void H2Connection::reset(H2Stream& stream, uint32_t code) {
  if (code != NGHTTP2_NO_ERROR) {
    stream.is_reset_ = true;
    stream.parts_.clear();
    count_waiting(stream, -stream.waiting_);
  }
  if (nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id_, code) != 0) {
    is_broken_ = true;
  }
}

// The headers of the answer; with the trailers, if there is nothing between them.
void H2Connection::submit_head(H2Stream& stream, int status) {
  stream.has_begun_ = true;
  if (stream.logged_ != nullptr) stream.logged_->status = status;
  const std::string number = std::to_string(status);
  std::vector<nghttp2_nv> pairs = {pair_of(":status", number)};
  for (const Header& header : shared_.options.answer_headers) {
    pairs.push_back(pair_of(header.name, header.value));
  }
  const bool is_whole = stream.is_answered_ && stream.parts_.empty();
  if (is_whole) {
    for (const Header& header : stream.trailers_) {
      pairs.push_back(pair_of(header.name, header.value));
    }
  }
  const nghttp2_data_provider provider = {.source = {}, .read_callback = Callbacks::take};
  if (nghttp2_submit_response(session_, stream.id_, pairs.data(), pairs.size(),
                              is_whole ? nullptr : &provider) != 0) {
    throw std::bad_alloc();
  }
}

// Moves bytes of the answer into a frame.
ssize_t H2Connection::take(H2Stream& stream, uint8_t* to, size_t bytes, uint32_t& flags) {
  if (stream.is_reset_) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  size_t taken = 0;
  while (taken < bytes && !stream.parts_.empty()) {
    const std::string& part = stream.parts_.front();
    const size_t count = std::min(bytes - taken, part.size() - stream.sent_);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no text
    std::memcpy(to + taken, part.data() + stream.sent_, count);
    taken += count;
    stream.sent_ += count;
    if (stream.sent_ < part.size()) break;
    stream.parts_.pop_front();
    stream.sent_ = 0;
  }
  if (taken > 0) {
    count_waiting(stream, -static_cast<int64_t>(taken));
    stream.rate_.add(taken);
    if (stream.logged_ != nullptr) stream.logged_->sent_bytes += static_cast<int64_t>(taken);
    expect_window_updates(2);  // of the call and of the connection
    stream.progress_ = stream.taken_ = Clock::now();
  }
  if (!stream.parts_.empty()) return static_cast<ssize_t>(taken);
  if (stream.is_answered_) {
    flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream.trailers_.empty()) return static_cast<ssize_t>(taken);
    flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    std::vector<nghttp2_nv> pairs;
    for (const Header& header : stream.trailers_) {
      pairs.push_back(pair_of(header.name, header.value));
    }
    if (nghttp2_submit_trailer(session_, stream.id_, pairs.data(), pairs.size()) != 0) {
      throw std::bad_alloc();
    }
  } else if (taken == 0) {
    stream.is_deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(taken);
}

}  // namespace pando::http
