// One connection of HTTP/2: nghttp2 reads and writes its frames; calls are answered in any order.
//
// Its thread runs everything but what other threads call (CallSink), which they leave there as
// tasks. All answers that are ready are written at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "pando/http/h2_call.h"
#include "pando/http/h2_server.h"
#include "pando/http/io_thread_impl.h"
#include "pando/http/read_rate_impl.h"

namespace pando::http {

// What a ping carries that tells clients of the end of the server; others carry zeros.
inline constexpr uint8_t kDrainPing[8] = {'p', 'a', 'n', 'd', 'o', 'e', 'n', 'd'};

// What all connections of a server share.
struct H2Shared {
  H2ServerOptions options;
  CallService* service = nullptr;
  std::atomic<bool> draining = false;
  std::atomic<int> connections = 0;
  std::atomic<int64_t> open_calls = 0;
  std::atomic<int64_t> waiting_bytes = 0;  // of answers that clients have not taken
};

class H2Connection;

// A call: a stream of the connection.
class H2Stream : public CallSink, public std::enable_shared_from_this<H2Stream> {
 public:
  H2Stream(std::shared_ptr<H2Connection> connection, int32_t id, Clock::time_point now);
  ~H2Stream() override;
  H2Stream(const H2Stream&) = delete;
  H2Stream& operator=(const H2Stream&) = delete;

  void send(CallPart part) override;
  void fail() noexcept override { has_failed_ = true; }
  std::shared_ptr<const std::function<void()>> waker() override;

 private:
  friend class H2Connection;
  class Answer;
  struct LoggedCall {
    std::string path;
    std::string agent;
    int status = 0;  // of HTTP
    int64_t sent_bytes = 0;
  };
  static constexpr size_t kFirstHead = 512;

  // False: there are too many, and it is not kept.
  bool add_header(std::string_view name, std::string_view value, const H2Limits& limits);
  std::vector<HeaderView> headers() const;
  bool is_too_slow(Clock::time_point now, const H2Limits& limits) const;
  const std::shared_ptr<H2Connection> connection_;
  const int32_t id_;
  std::atomic<bool> has_failed_ = false;  // the connection resets it
  const Clock::time_point began_;
  Clock::time_point progress_;  // bytes moved
  Clock::time_point taken_;     // the client took bytes of the answer, or the first one came
  ReadRate rate_;               // of the answer
  std::shared_ptr<CallHandler> handler_;

  std::unique_ptr<LoggedCall> logged_;  // null unless there is an access log

  // Names and values one after the other, and how long each is.
  std::string head_text_;
  std::vector<std::pair<size_t, size_t>> head_lengths_;
  bool is_head_too_large_ = false;
  size_t received_ = 0;
  bool has_ended_ = false;  // the client has sent everything
  bool is_over_ = false;
  bool is_reset_ = false;    // what is left of the answer is not sent
  bool is_counted_ = false;  // in H2Shared::open_calls
  bool is_owed_ = false;     // in H2Connection::owed_

  std::deque<std::string> parts_;  // to send
  int64_t waiting_ = 0;            // bytes of the parts
  size_t sent_ = 0;                // bytes of the first part
  std::vector<Header> trailers_;
  bool is_answered_ = false;  // the last part is here
  bool has_begun_ = false;    // headers have been submitted
  bool is_deferred_ = false;  // nghttp2 waits until there is something to send
};

class H2Connection : public Session, public std::enable_shared_from_this<H2Connection> {
 public:
  H2Connection(std::shared_ptr<IoThread> thread, std::shared_ptr<H2Shared> shared,
               std::string peer);
  ~H2Connection() override;
  H2Connection(const H2Connection&) = delete;
  H2Connection& operator=(const H2Connection&) = delete;

  void start() override;
  void refuse() override { close(); }
  void close() override;
  void stop_if_idle() override;
  void check_time(Clock::time_point now) override;
  void flush() override;
  bool waits_for_client() const override;
  Clock::time_point since() const override { return since_; }

  IoThread& thread() { return *thread_; }
  void answer(H2Stream& stream, CallPart part) noexcept;

 protected:
  virtual void read_some(char* data, size_t bytes) = 0;  // then on_read
  // Writes as much of output_ as it can without waiting; returns how much.
  virtual size_t write_now() = 0;
  virtual void write_rest() = 0;  // of output_, from written_ on; then on_written
  virtual Socket& socket() = 0;
  void on_read(ErrorCode error, size_t bytes);
  void on_written(ErrorCode error);
  void note_written(size_t bytes);  // by this write_rest()
  bool is_closed() const { return is_closed_; }

  std::string output_;  // being written
  size_t written_ = 0;  // of it

 private:
  struct Callbacks;
  friend struct Callbacks;

  bool open_session();
  void read_more();
  bool fill_output();
  void write_what_is_ready();
  void linger();
  void say_goodbye();
  void reset(H2Stream& stream, uint32_t code);

  // What nghttp2 reports.
  void begin_head(int32_t id);
  bool drop_header(size_t bytes);
  void expect_window_updates(int count);
  void count_window_update();
  void begin_call(H2Stream& stream);
  void receive(H2Stream& stream, std::string_view bytes);
  void end_request(H2Stream& stream);
  void end_call(H2Stream& stream);
  ssize_t take(H2Stream& stream, uint8_t* to, size_t bytes, uint32_t& flags);

  void take_part(H2Stream& stream, CallPart part);
  void count_waiting(H2Stream& stream, int64_t more);
  void set_owed(H2Stream& stream, bool is_owed);
  void end(H2Stream& stream);
  void log_call(const H2Stream& stream);
  void add_part(H2Stream& stream, CallPart part, Clock::time_point now);
  void submit_head(H2Stream& stream, int status);
  void check_streams(Clock::time_point now);
  bool is_read_too_slowly(Clock::time_point now);
  bool is_read_too_slowly(H2Stream& stream, Clock::time_point now);
  bool is_late(Clock::time_point now);

  const std::shared_ptr<IoThread> thread_;
  const std::shared_ptr<H2Shared> shared_owner_;
  H2Shared& shared_;
  const std::string peer_;
  nghttp2_session* session_ = nullptr;
  std::unique_ptr<char[]> input_;
  std::unordered_map<int32_t, std::shared_ptr<H2Stream>> streams_;
  Clock::time_point since_ = Clock::now();     // the last call began or ended
  Clock::time_point heard_ = since_;           // something arrived
  Clock::time_point write_progress_ = since_;  // bytes were written
  Clock::time_point head_began_ = since_;      // of a head that is not complete
  Clock::time_point drain_began_ = since_;
  Clock::time_point pinged_ = since_;
  int32_t head_id_ = 0;        // the stream of the last head
  int64_t idle_frames_ = 0;    // since the last look at the clock
  int expected_updates_ = 0;   // frames WINDOW_UPDATE that carry something
  int64_t dropped_bytes_ = 0;  // of this head
  int owed_ = 0;               // calls with complete requests, for which there is no answer yet
  int64_t waiting_ = 0;        // bytes of answers that the client has not taken
  ReadRate rate_;              // of everything that is written
  size_t noted_ = 0;           // of the bytes of one write, in rate_
  bool is_reading_ = false;    // a read is under way
  bool is_in_read_ = false;    // nghttp2 works on what arrived
  bool is_writing_ = false;
  bool is_unflushed_ = false;
  bool is_in_head_ = true;  // at the beginning: of the connection
  bool has_pinged_ = false;
  bool is_draining_ = false;
  bool has_said_goodbye_ = false;
  bool is_lingering_ = false;
  bool is_broken_ = false;  // for want of memory; is closed where no handler is running
  bool is_closed_ = false;
};

std::shared_ptr<H2Connection> make_plain_h2(std::shared_ptr<IoThread> thread,
                                            std::shared_ptr<H2Shared> shared, std::string peer,
                                            Socket socket);
std::shared_ptr<H2Connection> make_tls_h2(std::shared_ptr<IoThread> thread,
                                          std::shared_ptr<H2Shared> shared, std::string peer,
                                          Socket socket, boost::asio::ssl::context& context);

}  // namespace pando::http
