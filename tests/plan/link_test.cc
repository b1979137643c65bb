// Units of networks.
// SPDX-License-Identifier: MIT
#include "pando/plan/link.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"

namespace pando::plan {
namespace {

using testing_support::error_of;

double bandwidth(const char* text) {
  const auto parsed = parse_bandwidth(text);
  return parsed ? parsed->bytes_per_second : -1;
}

double latency(const char* text) {
  const auto parsed = parse_latency(text);
  return parsed ? parsed->seconds : -1;
}

TEST(Link, ReadsBandwidths) {
  EXPECT_DOUBLE_EQ(bandwidth("10Gbit"), 1.25e9);
  EXPECT_DOUBLE_EQ(bandwidth("25 Gbit/s"), 3.125e9);
  EXPECT_DOUBLE_EQ(bandwidth("100Gbps"), 12.5e9);
  EXPECT_DOUBLE_EQ(bandwidth("1.25GB/s"), 1.25e9);
  EXPECT_DOUBLE_EQ(bandwidth("800 MiB/s"), 800.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(bandwidth("64kbit/s"), 8000);
  EXPECT_DOUBLE_EQ(bandwidth("1e3B"), 1000);
}

TEST(Link, RefusesWhatIsNoBandwidth) {
  for (const char* text : {"", "10", "Gbit", "10Xbit", "10Gibbit", "-1Gbit", "0Gbit", "10 G bit",
                           "10Gfoo", "nanGbit", "1e999GB/s"}) {
    EXPECT_EQ(bandwidth(text), -1) << text;
  }
}

TEST(Link, ReadsLatencies) {
  EXPECT_DOUBLE_EQ(latency("50us"), 50e-6);
  EXPECT_DOUBLE_EQ(latency("2 ms"), 2e-3);
  EXPECT_DOUBLE_EQ(latency("0.5s"), 0.5);
  EXPECT_DOUBLE_EQ(latency("500ns"), 500e-9);
  EXPECT_DOUBLE_EQ(latency("0us"), 0);
}

TEST(Link, RefusesWhatIsNoLatency) {
  for (const char* text : {"", "50", "us", "-1us", "5m", "5 hours"}) {
    EXPECT_EQ(latency(text), -1) << text;
  }
}

TEST(Link, WritesWhatItReads) {
  for (const char* text : {"1.25GB/s", "12.5MB/s", "8kB/s"}) {
    EXPECT_EQ(to_string(*parse_bandwidth(text)), text);
  }
  for (const char* text : {"2s", "2ms", "50us", "0.5us"}) {
    EXPECT_EQ(to_string(*parse_latency(text)), text);
  }
}

TEST(Link, HasNames) {
  EXPECT_DOUBLE_EQ(find_link("10gbe").bandwidth.bytes_per_second, 1.25e9);
  EXPECT_EQ(find_link("infiniband").copies, 0);
  const std::string message = error_of<UsageError>([] { find_link("10gb"); });
  EXPECT_SAYS(message, "--network");
  EXPECT_SAYS(message, "'10gbe'");
}

}  // namespace
}  // namespace pando::plan
