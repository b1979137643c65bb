// Sockets and lines over them: what comes through, what is cut, what ends a connection.
// SPDX-License-Identifier: MIT
#include "pando/comm/tcp_link.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "pando/comm/tcp_socket.h"

namespace pando::comm {
namespace {

constexpr std::chrono::milliseconds kPatience{10000};

struct Ends {
  Link near;
  Link far;
};

void wait_to_read(const Link& link) {
  pollfd waiting{link.descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(kPatience.count()));
}

Ends connected(const std::string& address = "127.0.0.1") {
  const Listener listener = listen_anywhere();
  Connection connection = connect_to(address, listener.port, kPatience);
  EXPECT_EQ(connection.trouble, "");
  pollfd waiting{listener.socket.descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(kPatience.count()));
  std::optional<Socket> caller = accept_one(listener);
  EXPECT_TRUE(caller.has_value());
  return {Link(std::move(connection.socket)), Link(std::move(caller.value()))};
}

// The next `count` lines, or those until the end.
std::vector<std::string> lines_of(Link& link, size_t count) {
  std::vector<std::string> lines;
  while (lines.size() < count && link.open()) {
    wait_to_read(link);
    for (std::string& line : link.receive()) lines.push_back(std::move(line));
  }
  return lines;
}

TEST(TcpLink, BringsLinesInOrderBothWays) {
  Ends ends = connected();
  ends.near.send("one");
  ends.near.send("two words");
  ends.far.send("");
  EXPECT_EQ(lines_of(ends.far, 2), (std::vector<std::string>{"one", "two words"}));
  EXPECT_EQ(lines_of(ends.near, 1), std::vector<std::string>{""});
  EXPECT_TRUE(ends.near.receive().empty());
  EXPECT_TRUE(ends.near.open());
}

TEST(TcpLink, WorksOverIpv6) {
  const Listener listener = listen_anywhere();
  const Connection connection = connect_to("::1", listener.port, kPatience);
  if (!connection.trouble.empty()) GTEST_SKIP() << "no IPv6 here: " << connection.trouble;
  Ends ends = connected("::1");
  ends.near.send("six");
  EXPECT_EQ(lines_of(ends.far, 1), std::vector<std::string>{"six"});
}

TEST(TcpLink, MakesOneLineOfEachText) {
  Ends ends = connected();
  ends.near.send("first\nsecond");
  ends.near.send(std::string(2 * Link::kMaxLine, 'x'));
  const std::vector<std::string> lines = lines_of(ends.far, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "first second");
  EXPECT_EQ(lines[1], std::string(Link::kMaxLine - 1, 'x'));
  EXPECT_TRUE(ends.far.open());
}

TEST(TcpLink, SeesTheEndAfterTheLastLine) {
  Ends ends = connected();
  ends.near.send("last");
  ends.near.close();
  EXPECT_EQ(lines_of(ends.far, 2), std::vector<std::string>{"last"});
  EXPECT_FALSE(ends.far.open());
  ends.far.send("nobody hears");
  EXPECT_FALSE(ends.far.has_unsent());
}

TEST(TcpLink, KeepsBoundedWhatTheOtherSideDoesNotTake) {
  Ends ends = connected();
  const std::string line(Link::kMaxLine - 1, 'y');
  for (int i = 0; i < 10000; ++i) ends.near.send(line);  // far beyond what the system buffers
  EXPECT_TRUE(ends.near.has_unsent());
  EXPECT_TRUE(ends.near.open());
  EXPECT_EQ(lines_of(ends.far, 1).front(), line);  // and lines arrive whole
}

TEST(TcpLink, EndsAConnectionWhoseLinesAreTooLong) {
  const Listener listener = listen_anywhere();
  Connection connection = connect_to("127.0.0.1", listener.port, kPatience);
  pollfd waiting{listener.socket.descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, static_cast<int>(kPatience.count()));
  Link far(std::move(accept_one(listener).value()));
  // Written directly, because Link would add line feeds.
  const std::string noise(3 * Link::kMaxLine, 'n');
  ASSERT_EQ(::write(connection.socket.descriptor(), noise.data(), noise.size()),
            static_cast<ssize_t>(noise.size()));
  EXPECT_TRUE(lines_of(far, 1).empty());
  EXPECT_FALSE(far.open());
}

TEST(TcpSocket, SaysWhyThereIsNoConnection) {
  int port = 0;
  {
    const Listener listener = listen_anywhere();
    port = listener.port;
    EXPECT_FALSE(accept_one(listener).has_value());  // nobody waits
  }
  EXPECT_EQ(connect_to("127.0.0.1", port, kPatience).trouble, "Connection refused");
  EXPECT_EQ(connect_to("nowhere", port, kPatience).trouble, "not an IP address");
}

TEST(TcpSocket, OwnAddressesAreForOthers) {
  const std::vector<std::string> addresses = own_addresses();
  EXPECT_EQ(std::count(addresses.begin(), addresses.end(), "127.0.0.1"), 0);
  EXPECT_EQ(std::count(addresses.begin(), addresses.end(), "::1"), 0);
  const Listener listener = listen_anywhere();
  for (const std::string& address : addresses) {
    EXPECT_EQ(connect_to(address, listener.port, kPatience).trouble, "") << address;
  }
  EXPECT_EQ(network_stack_name(), network_stack_name());
  EXPECT_FALSE(network_stack_name().empty());
}

TEST(WordsOf, SplitsAtSpacesAndLeavesTheRest) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of("a b c d", 3), (Words{"a", "b", "c d"}));
  EXPECT_EQ(words_of("a b", 3), (Words{"a", "b"}));
  EXPECT_EQ(words_of("", 3), (Words{""}));
}

}  // namespace
}  // namespace pando::comm
