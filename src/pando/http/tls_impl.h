// TLS 1.2 and later by OpenSSL.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <boost/asio/ssl/context.hpp>

#include "pando/http/server_options.h"

namespace pando::http {

// Null without a certificate. Throws IoError that names the file that cannot be used.
std::unique_ptr<boost::asio::ssl::context> make_tls_context(const Tls& tls);

// Agrees on HTTP/2 with clients that ask which protocol is spoken, and refuses them if they do not
// speak it.
void choose_h2(boost::asio::ssl::context& context);

}  // namespace pando::http
