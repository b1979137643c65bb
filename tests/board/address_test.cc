// SPDX-License-Identifier: MIT
#include "pando/board/address.h"

#include <gtest/gtest.h>

#include "pando/board/board.h"
#include "pando/http/message.h"
#include "tests/support/expect_error.h"

namespace pando::board {
namespace {

using testing_support::error_of;

TEST(BoardAddress, Query) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parse_query(""), Pairs{});
  EXPECT_EQ(parse_query("run=a&run=b%20c%2Fd&x"),
            (Pairs{{"run", "a"}, {"run", "b c/d"}, {"x", ""}}));
  EXPECT_SAYS(error_of([] { parse_query("run=%4"); }), "query", "%4");
  EXPECT_SAYS(error_of([] { parse_query("run=%00"); }), "query");
}

TEST(BoardAddress, IdsAreWholePathsAgain) {
  for (const std::string path :
       {"a", "sweep/b c", "<script>", "100%", "\xff\xfe", "ä", "a&b=c#d?"}) {
    const std::string id = id_of(path);
    EXPECT_EQ(id.find_first_of("/&=#?<> \xff"), std::string::npos) << id;
    std::string decoded;
    ASSERT_TRUE(http::percent_decode(id, decoded));
    EXPECT_EQ(decoded, path);
  }
}

TEST(BoardAddress, HostsThatAreThisMachine) {
  for (const char* host : {"localhost", "localhost:8088", "LOCALHOST:1", "127.0.0.1",
                           "127.0.0.1:80", "192.168.1.7:8088", "[::1]", "[::1]:8088"}) {
    EXPECT_TRUE(is_own_host(host, {})) << host;
  }
  EXPECT_TRUE(is_own_host("Box.example:8088", {"box.example"}));
}

TEST(BoardAddress, OtherHosts) {
  for (const char* host :
       {"", "evil.example", "evil.example:8088", "localhost.evil.example", "127.0.0.1.evil.example",
        "localhost:8088@evil.example", "127.0.0.1:80:80", "[::1", "[::1]x", "[localhost]",
        "localhost:", "::1", "127.1", "box.example"}) {
    EXPECT_FALSE(is_own_host(host, {"other.example"})) << host;
  }
}

}  // namespace
}  // namespace pando::board
