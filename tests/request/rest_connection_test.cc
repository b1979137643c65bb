#include "pando/request/rest_connection.h"

#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando::request {
namespace {

TEST(RestConnection, WritesBothProtocols) {
  const float numbers[] = {1, 2.5F};
  const serve::InputTensor input{.name = "x",
                                 .type = serve::ElementType::f32,
                                 .shape = {1, 2},
                                 .data = std::as_bytes(std::span(numbers)),
                                 .elements = {}};
  RestTarget target{.host = "h", .port = 1, .model = "m", .token = "t"};
  const std::string json = rest_request(target, input);
  EXPECT_SAYS(json, "POST /v1/models/m:predict HTTP/1.1\r\n", "Bearer t",
              "\r\n\r\n{\"instances\":[[1,2.5]]}");
  target.open_inference = true;
  const std::string binary = rest_request(target, input);
  EXPECT_SAYS(binary, "/v2/models/m/infer", "\"shape\":[1,2]", "\"binary_data_size\":8");
  EXPECT_TRUE(binary.ends_with(std::string(reinterpret_cast<const char*>(numbers), 8)));
}

TEST(RestConnection, SaysThatNobodyListens) {
  EXPECT_SAYS(testing_support::error_of<IoError>([] {
                connect_rest({.host = "127.0.0.1", .port = 1, .model = "m", .token = ""}, "");
              }),
              "cannot connect to 127.0.0.1:1");
}

// Listens, and sends a byte now and then, but never a whole answer.
class SlowServer {
 public:
  explicit SlowServer(bool sends) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size);
    ::listen(listener_, 1);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::jthread([this, sends](const std::stop_token& stop) {
      const int client = ::accept(listener_, nullptr, nullptr);
      while (!stop.stop_requested()) {
        if (sends) ::send(client, "H", 1, MSG_NOSIGNAL);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      ::close(client);
    });
  }
  ~SlowServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_ = {};
    ::close(listener_);
  }
  SlowServer(const SlowServer&) = delete;
  SlowServer& operator=(const SlowServer&) = delete;
  int port = 0;

 private:
  int listener_;
  std::jthread thread_;
};

// The time is that of the whole answer, however its bytes arrive.
TEST(RestConnection, GivesUpInTime) {
  for (const bool sends : {false, true}) {
    const SlowServer server(sends);
    const auto connection = connect_rest(
        {.host = "127.0.0.1", .port = server.port, .model = "m", .token = ""}, "GET / HTTP/1.1");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(connection->send(Seconds(0.2)).code, serve::Code::deadline_exceeded);
    const double seconds = Seconds(std::chrono::steady_clock::now() - begin).count();
    EXPECT_GE(seconds, 0.19);
    EXPECT_LT(seconds, 5);
  }
}

}  // namespace
}  // namespace pando::request
