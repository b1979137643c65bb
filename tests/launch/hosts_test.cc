#include "pando/launch/hosts.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::launch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;
using Hosts = std::vector<std::string>;

TEST(Hosts, ListsAndRanges) {
  EXPECT_EQ(expand_hosts("a", "x"), Hosts{"a"});
  EXPECT_EQ(expand_hosts("a, b.c ,10.0.0.1", "x"), (Hosts{"a", "b.c", "10.0.0.1"}));
  EXPECT_EQ(expand_hosts("host[0-2,4]", "x"), (Hosts{"host0", "host1", "host2", "host4"}));
  EXPECT_EQ(expand_hosts("a,n[3]x,b", "x"), (Hosts{"a", "n3x", "b"}));
  EXPECT_EQ(expand_hosts("r[1-2]n[0-1]", "x"), (Hosts{"r1n0", "r1n1", "r2n0", "r2n1"}));
}

TEST(Hosts, ZerosInFrontStay) {
  EXPECT_EQ(expand_hosts("n[08-11]", "x"), (Hosts{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expand_hosts("n[8-11]", "x"), (Hosts{"n8", "n9", "n10", "n11"}));
  EXPECT_EQ(expand_hosts("n[00-12]", "x").size(), 13u);
  EXPECT_EQ(expand_hosts("n[098-101,7]", "x"), (Hosts{"n098", "n099", "n100", "n101", "n7"}));
}

TEST(Hosts, RefuseWhatIsNoList) {
  const auto refused = [](const std::string& text) {
    return error_of<UsageError>([&] { expand_hosts(text, "--host"); });
  };
  EXPECT_SAYS(refused("n[2-1]"), "--host: ");
  EXPECT_SAYS(refused("n[2-1]"), "'2-1' in 'n[2-1]'");
  EXPECT_SAYS(refused("a,,b"), "'' in 'a,,b'");
  for (const char* text : {"n[1", "n1]", "n]1["}) EXPECT_SAYS(refused(text), "brackets in pairs");
  for (const char* text : {"n[]", "n[a]", "n[1-]", "n[-1]", "n[1,]", "n[99999999999999999999]"}) {
    EXPECT_SAYS(refused(text), text == std::string("n[]") ? "''" : "numbers in brackets");
  }
  for (const char* text : {"-x", "a b", "a slots=2", "a'", "a:2", "::1"}) {
    EXPECT_SAYS(refused(text), "name or the address");
  }
  for (const char* text : {"a slots=2", "a:2"}) {
    EXPECT_SAYS(refused(text), "--num-instances");
  }
  EXPECT_SAYS(refused("a,b,a"), "'a' twice in 'a,b,a'");
  EXPECT_SAYS(refused("n[0-65536]"), "in 'n[0-65536]'");
  EXPECT_SAYS(refused("n[0-65536]"), "at most 65536");
  EXPECT_SAYS(refused("n[0-999]m[0-999]"), "at most 65536");
}

TEST(Hosts, FromAFile) {
  const TempFolder folder;
  const std::string path = folder.write_text("hosts", "# two racks\na\n\n  b # spare\nn[0-1]\n");
  EXPECT_EQ(read_host_file(path), (Hosts{"a", "b", "n0", "n1"}));
}

TEST(Hosts, RefuseAFileThatHasNone) {
  const TempFolder folder;
  const auto refused = [](const std::string& path) {
    return error_of<UsageError>([&] { read_host_file(path); });
  };
  EXPECT_SAYS(refused(folder.path("none")), "--hostfile: cannot read '");
  EXPECT_SAYS(refused(folder.write_text("empty", "# nothing\n")), "empty'");
  const std::string bad = refused(folder.write_text("bad", "a\nb slots=2\n"));
  EXPECT_SAYS(bad, "bad:2: ");
  EXPECT_SAYS(bad, "'b slots=2'");
  const std::string twice = refused(folder.write_text("twice", "a\nb\na\n"));
  EXPECT_SAYS(twice, "twice:3: ");
  EXPECT_SAYS(twice, "'a' twice");
}

}  // namespace
}  // namespace pando::launch
