// The two kinds of connections: plain (TCP or Unix socket) and by TLS.
// SPDX-License-Identifier: MIT
#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include "pando/http/connection_impl.h"

namespace pando::http {
namespace {

constexpr size_t kWritePart = 1 << 20;

template <typename Stream>
class ConnectionOf : public Connection {
 public:
  template <typename... Arguments>
  ConnectionOf(std::shared_ptr<IoThread> thread, std::shared_ptr<Shared> shared, std::string peer,
               Arguments&&... arguments)
      : Connection(std::move(thread), std::move(shared), std::move(peer)),
        stream_(std::forward<Arguments>(arguments)...) {}

  void start() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      enter(Phase::handshake);
      auto self = shared_from_this();
      stream_.async_handshake(boost::asio::ssl::stream_base::server, [this, self](ErrorCode error) {
        if (error) return close();
        if (phase() == Phase::handshake) begin_reading();
      });
    } else {
      begin_reading();
    }
  }

  void refuse() override {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      close();  // before the handshake no answer can be sent
    } else {
      Connection::refuse();
    }
  }

 protected:
  void read_some(char* data, size_t bytes) override {
    auto self = shared_from_this();
    stream_.async_read_some(boost::asio::buffer(data, bytes),
                            [this, self](ErrorCode error, size_t count) { on_read(error, count); });
  }

  void write_all() override {
    auto self = shared_from_this();
    const std::array parts = {boost::asio::const_buffer(head_.data(), head_.size()),
                              boost::asio::const_buffer(payload_.data(), payload_.size())};
    const auto next_part = [this](ErrorCode error, size_t written) -> size_t {
      note_progress(written);
      return error ? 0 : kWritePart;
    };
    boost::asio::async_write(stream_, parts, next_part,
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

std::shared_ptr<Connection> make_plain_connection(std::shared_ptr<IoThread> thread,
                                                  std::shared_ptr<Shared> shared, std::string peer,
                                                  Socket socket) {
  return std::make_shared<ConnectionOf<Socket>>(std::move(thread), std::move(shared),
                                                std::move(peer), std::move(socket));
}

std::shared_ptr<Connection> make_tls_connection(std::shared_ptr<IoThread> thread,
                                                std::shared_ptr<Shared> shared, std::string peer,
                                                Socket socket, boost::asio::ssl::context& context) {
  return std::make_shared<ConnectionOf<TlsStream>>(std::move(thread), std::move(shared),
                                                   std::move(peer), std::move(socket), context);
}

}  // namespace pando::http
