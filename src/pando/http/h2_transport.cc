// The two kinds of connections of HTTP/2: plain (TCP or Unix socket) and by TLS.
// SPDX-License-Identifier: MIT
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "pando/http/h2_connection_impl.h"

namespace pando::http {
namespace {

template <typename Stream>
class H2ConnectionOf : public H2Connection {
 public:
  template <typename... Arguments>
  H2ConnectionOf(std::shared_ptr<IoThread> thread, std::shared_ptr<H2Shared> shared,
                 std::string peer, Arguments&&... arguments)
      : H2Connection(std::move(thread), std::move(shared), std::move(peer)),
        stream_(std::forward<Arguments>(arguments)...) {}

  void start() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      auto self = shared_from_this();
      stream_.async_handshake(boost::asio::ssl::stream_base::server, [this, self](ErrorCode error) {
        if (is_closed()) return;
        if (error) return close();
        H2Connection::start();
      });
    } else {
      ErrorCode ignored;
      stream_.non_blocking(true, ignored);
      H2Connection::start();
    }
  }

 protected:
  void read_some(char* data, size_t bytes) override {
    auto self = shared_from_this();
    stream_.async_read_some(boost::asio::buffer(data, bytes),
                            [this, self](ErrorCode error, size_t count) { on_read(error, count); });
  }

  // A socket that is not full takes everything at once, without a round through the event loop.
  size_t write_now() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      return 0;
    } else {
      ErrorCode ignored;  // the next write reports it
      return stream_.write_some(boost::asio::buffer(output_), ignored);
    }
  }

  void write_rest() override {
    auto self = shared_from_this();
    const auto next_part = [this](ErrorCode error, size_t written) -> size_t {
      note_written(written);
      constexpr size_t kWritePart = 1 << 20;
      return error ? 0 : kWritePart;
    };
    boost::asio::async_write(stream_, boost::asio::buffer(output_) + written_, next_part,
                             [this, self](ErrorCode error, size_t) { on_written(error); });
  }

  Socket& socket() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

 private:
  Stream stream_;
};

}  // namespace

std::shared_ptr<H2Connection> make_plain_h2(std::shared_ptr<IoThread> thread,
                                            std::shared_ptr<H2Shared> shared, std::string peer,
                                            Socket socket) {
  return std::make_shared<H2ConnectionOf<Socket>>(std::move(thread), std::move(shared),
                                                  std::move(peer), std::move(socket));
}

std::shared_ptr<H2Connection> make_tls_h2(std::shared_ptr<IoThread> thread,
                                          std::shared_ptr<H2Shared> shared, std::string peer,
                                          Socket socket, boost::asio::ssl::context& context) {
  return std::make_shared<H2ConnectionOf<TlsStream>>(std::move(thread), std::move(shared),
                                                     std::move(peer), std::move(socket), context);
}

}  // namespace pando::http
