// The only user of OpenSSL.
// SPDX-License-Identifier: MIT
#include "pando/fetch/digest.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::fetch {

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

const char* to_string(DigestKind kind) { return kind == DigestKind::sha256 ? "sha256" : "md5"; }

Digest::Digest(DigestKind kind) : state_(std::make_unique<State>()) {
  const EVP_MD* type = kind == DigestKind::sha256 ? EVP_sha256() : EVP_md5();
  PANDO_CHECK(state_->context != nullptr);
  // Machines in FIPS mode have no MD5, unless it is used for other purposes than security.
  EVP_MD_CTX_set_flags(state_->context, EVP_MD_CTX_FLAG_NON_FIPS_ALLOW);
  PANDO_CHECK(EVP_DigestInit_ex(state_->context, type, nullptr) == 1, to_string(kind));
}

Digest::~Digest() = default;

void Digest::update(std::span<const std::byte> bytes) {
  PANDO_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> value = {};
  unsigned size = 0;
  PANDO_CHECK(EVP_DigestFinal_ex(state_->context, value.data(), &size) == 1);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += kDigits[value[i] >> 4];
    text += kDigits[value[i] & 15];
  }
  return text;
}

std::string digest_of_file(const std::string& path, DigestKind kind) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int error = descriptor < 0 ? errno : 0;
  Digest digest(kind);
  std::vector<std::byte> piece(size_t{1} << 18);
  while (error == 0) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = errno;
    if (count <= 0) break;
    digest.update(std::span(piece).first(static_cast<size_t>(count)));
  }
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) {
    throw IoError("cannot read '", path, "': ", std::generic_category().message(error));
  }
  return digest.finish();
}

}  // namespace pando::fetch
