#include "pando/fetch/digest.h"

#include <gtest/gtest.h>

#include "tests/fetch/server.h"
#include "tests/support/expect_error.h"

namespace pando::fetch {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

// The vectors of FIPS 180-2 and RFC 1321.
TEST(Digest, AgreesWithTheStandards) {
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc", DigestKind::md5), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(Digest, DoesNotCareForPieces) {
  const std::string text = some_text(700'000);
  Digest digest(DigestKind::sha256);
  digest.update(std::as_bytes(std::span(text).first(1)));
  digest.update(std::as_bytes(std::span(text).subspan(1)));
  EXPECT_EQ(digest.finish(), digest_of(text));
}

TEST(Digest, OfAFile) {
  const TempFolder folder;
  const std::string text = some_text(700'000);
  const std::string path = folder.write_text("x", text);
  EXPECT_EQ(digest_of_file(path, DigestKind::sha256), digest_of(text));
  EXPECT_EQ(digest_of_file(path, DigestKind::md5), digest_of(text, DigestKind::md5));
}

TEST(Digest, NamesAFileThatCannotBeRead) {
  const TempFolder folder;
  const std::string missing =
      error_of<IoError>([&] { digest_of_file(folder.path("none"), DigestKind::md5); });
  EXPECT_SAYS(missing, folder.path("none"));
  EXPECT_SAYS(missing, "No such file");
  const std::string directory =
      error_of<IoError>([&] { digest_of_file(folder.path(), DigestKind::md5); });
  EXPECT_SAYS(directory, "Is a directory");
}

}  // namespace
}  // namespace pando::fetch
