// Whether files are the official ones.
// SPDX-License-Identifier: MIT
#include "pando/fetch/origin.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/fetch/digest.h"
#include "tests/support/temp_folder.h"

namespace pando::fetch {
namespace {

using testing_support::TempFolder;

TEST(OriginOf, ComparesWithTheEntry) {
  const TempFolder folder;
  const std::string path = folder.write("a.gz", {1, 2, 3});
  RemoteFile file;
  file.name = "a.gz";
  file.sha256 = digest_of_file(path, DigestKind::sha256);
  RemoteDataset entry;
  entry.files.push_back(file);
  EXPECT_EQ(origin_of(entry, path), FileOrigin::official);
  folder.write("a.gz", {1, 2, 4});
  EXPECT_EQ(origin_of(entry, path), FileOrigin::other);
  EXPECT_EQ(origin_of(entry, folder.write("b.gz", {1, 2, 3})), FileOrigin::unknown);
  EXPECT_THROW(origin_of(entry, folder.path("none/a.gz")), IoError);
}

}  // namespace
}  // namespace pando::fetch
