// SPDX-License-Identifier: MIT
#include <openssl/ssl.h>

#include "pando/base/error.h"
#include "pando/http/tls_impl.h"

namespace pando::http {
namespace {

void check_tls(const boost::system::error_code& error, const char* what, const std::string& path) {
  if (error) {
    throw IoError("TLS: cannot use the ", what, " '", path, "': ", error.message(),
                  "; expected a readable PEM file");
  }
}

int choose(SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
           unsigned int bytes, void*) {
  static constexpr unsigned char kH2[] = {2, 'h', '2'};
  // OpenSSL's type of the first argument is older than const.
  const int result = SSL_select_next_proto(const_cast<unsigned char**>(chosen), length, kH2,
                                           sizeof(kH2), offered, bytes);
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

void choose_h2(boost::asio::ssl::context& context) {
  SSL_CTX_set_alpn_select_cb(context.native_handle(), choose, nullptr);
}

std::unique_ptr<boost::asio::ssl::context> make_tls_context(const Tls& tls) {
  if (tls.certificate.empty() && tls.key.empty()) return nullptr;
  if (tls.certificate.empty() || tls.key.empty()) {
    throw InvalidArgument("TLS: expected both a certificate and a key, got only one of them");
  }
  using Context = boost::asio::ssl::context;
  auto context = std::make_unique<Context>(Context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  boost::system::error_code error;
  context->use_certificate_chain_file(tls.certificate, error);
  check_tls(error, "certificate", tls.certificate);
  context->use_private_key_file(tls.key, Context::pem, error);
  check_tls(error, "key", tls.key);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    throw IoError("TLS: the key '", tls.key, "' does not belong to the certificate '",
                  tls.certificate, "'");
  }
  if (!tls.client_ca.empty()) {
    context->load_verify_file(tls.client_ca, error);
    check_tls(error, "certificates of clients", tls.client_ca);
    context->set_verify_mode(boost::asio::ssl::verify_peer |
                             boost::asio::ssl::verify_fail_if_no_peer_cert);
  }
  return context;
}

}  // namespace pando::http
