#include "pando/request/rest_connection.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pando::request
