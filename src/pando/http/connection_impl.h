// One connection: reads requests one after the other, hands each to the handler, writes the answer.
//
//   idle -> head -> body -> handling -> writing -> idle or lingering -> closed
//                              \-> streaming ->----------/
//
// Its thread runs everything but what the handler's threads call (ReplySink), which is posted
// there. Time limits are fields that the thread looks at a few times a second (check_time), so a
// request costs no timer.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "pando/http/io_thread_impl.h"
#include "pando/http/read_rate_impl.h"
#include "pando/http/reply.h"
#include "pando/http/server_options.h"

namespace pando::http {

// What all connections of a server share.
struct Shared {
  ServerOptions options;
  Handler* handler = nullptr;
  std::atomic<bool> draining = false;
  std::atomic<int> connections = 0;
  std::atomic<int64_t> body_bytes = 0;  // that all connections hold
};

enum class Phase { handshake, idle, head, body, handling, writing, streaming, lingering, closed };

class Connection : public ReplySink,
                   public Session,
                   public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<IoThread> thread, std::shared_ptr<Shared> shared, std::string peer);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(Response response) override;
  void send_later(Response response) override;
  std::shared_ptr<const std::function<void()>> waker() override { return thread_->waker(); }
  bool is_followed() const override { return static_cast<bool>(shared_.options.after_reads); }
  void begin_stream(Response head) override;
  bool write(std::string data) override;
  void end_stream() override;

  void start() override { begin_reading(); }
  void refuse() override;  // answers 503 and closes
  void close() override;
  void stop_if_idle() override;
  void check_time(Clock::time_point now) override;
  bool waits_for_client() const override;
  Clock::time_point since() const override { return since_; }  // the phase began

 protected:
  Phase phase() const { return phase_; }
  virtual void read_some(char* data, size_t bytes) = 0;  // then on_read
  virtual void write_all() = 0;                          // head_ and payload_, then on_written
  virtual Socket& socket() = 0;
  void begin_reading();
  void enter(Phase phase);
  void on_read(ErrorCode error, size_t bytes);
  void on_written(ErrorCode error);
  void note_progress(size_t written);

  std::string head_;     // being written
  std::string payload_;  // being written after it

 private:
  class Answer;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void read_more();
  void read_body_part();
  void parse();
  bool check_head();
  bool check_framing();
  bool check_token();
  bool set_target();
  bool reserve_body(int64_t bytes);
  void begin_body(size_t length);
  void count_chunk(uint64_t size, std::string_view extensions, ErrorCode& error);
  void complete();
  bool unpack();
  void handle();
  void release_body();
  void refuse_for_memory();
  bool is_too_slow(Clock::time_point now, size_t bytes) const;

  void fail(ErrorCode error);
  void reject(int status, std::string_view message);
  void answer(Response response);
  void answer_or_close(Response response);
  std::string make_head(const Response& response, std::optional<size_t> length) const;
  void log_access();
  void next_request();
  void linger();
  void begin_writing();
  bool is_read_too_slowly(Clock::time_point now);
  void flush_stream();
  void post_flush();

  const std::shared_ptr<IoThread> thread_;
  const std::shared_ptr<Shared> shared_owner_;
  Shared& shared_;
  const std::string peer_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Phase phase_ = Phase::idle;
  Clock::time_point since_ = Clock::now();
  Clock::time_point progress_ = since_;  // bytes moved

  Request request_;
  std::vector<HeaderView> headers_;
  std::unique_ptr<char[]> body_;  // of a body whose length is known; others are in the parser
  size_t body_length_ = 0;
  size_t body_received_ = 0;
  std::string unpacked_;
  int64_t reserved_ = 0;  // this connection's share of Shared::body_bytes
  int64_t small_chunks_ = 0;
  int chunk_status_ = 0;  // why a chunk was refused
  // The parser keeps a reference to it.
  std::function<void(uint64_t size, boost::beast::string_view extensions, ErrorCode& error)>
      chunk_counter_;
  bool keep_alive_ = false;
  bool takes_gzip_ = false;  // written before the handler runs, read where it answers
  bool sends_continue_ = false;
  int status_ = 0;
  size_t written_ = 0;  // bytes of the answer
  ReadRate rate_;       // of these bytes
  size_t discarded_ = 0;

  bool stream_chunked_ = false;
  bool stream_busy_ = false;  // a write of the stream is under way
  std::mutex stream_mutex_;   // protects what follows
  std::string stream_waiting_;
  bool stream_ended_ = false;
  bool stream_dead_ = false;
};

std::shared_ptr<Connection> make_plain_connection(std::shared_ptr<IoThread> thread,
                                                  std::shared_ptr<Shared> shared, std::string peer,
                                                  Socket socket);
std::shared_ptr<Connection> make_tls_connection(std::shared_ptr<IoThread> thread,
                                                std::shared_ptr<Shared> shared, std::string peer,
                                                Socket socket, boost::asio::ssl::context& context);

}  // namespace pando::http
