// The server and curl, with TLS too.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdio>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/http/echo_server.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::http {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> part;
  for (size_t count; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    output.append(part.data(), count);
  }
  ::pclose(pipe);
  return output;
}

struct HttpCurl : testing::Test {
  void SetUp() override {
    if (!output_of("curl --version").starts_with("curl ")) GTEST_SKIP() << "needs curl";
  }
  // A key and a certificate for localhost, signed by itself.
  void make_certificate(const std::string& name) const {
    output_of(
        concat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2",
               " -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout ",
               folder.path(name + ".key"), " -out ", folder.path(name + ".pem")));
  }
  EchoRoutes routes;
  ServerOptions options;
  TempFolder folder;
};

TEST_F(HttpCurl, AllKindsOfBodies) {
  options.unix_socket = folder.path("socket");
  const Server server(options, routes);
  const std::string address = concat("http://127.0.0.1:", server.port(), "/echo");
  EXPECT_EQ(output_of("curl -s " + address + " -d abc"), "POST /echo   abc");
  EXPECT_EQ(
      output_of("printf abc | curl -s -H Transfer-Encoding:chunked --data-binary @- " + address),
      "POST /echo   abc");
  EXPECT_EQ(
      output_of("printf abc | gzip | curl -s -H Content-Encoding:gzip --data-binary @- " + address),
      "POST /echo   abc");
  EXPECT_EQ(output_of("curl -s --unix-socket " + options.unix_socket + " http://x/echo"),
            "GET /echo   ");
  // A body of more than 1 MiB, so that curl waits for the permission to go on.
  folder.write_text("large", std::string(3 << 20, 'l'));
  const std::string command = "curl -s --data-binary @" + folder.path("large") + " " + address;
  EXPECT_EQ(output_of(command), "POST /echo   " + std::string(3 << 20, 'l'));
}

TEST_F(HttpCurl, Tls) {
  make_certificate("server");
  options.tls = {.certificate = folder.path("server.pem"), .key = folder.path("server.key")};
  const Server server(options, routes);
  const std::string place = concat("127.0.0.1:", server.port(), "/echo");
  const std::string trust = " --cacert " + folder.path("server.pem") + " ";
  EXPECT_EQ(output_of("curl -s" + trust + "https://" + place + " https://" + place + " -d x"),
            "POST /echo   xPOST /echo   x");
  EXPECT_EQ(output_of("curl -s --tlsv1.2 --tls-max 1.2" + trust + "https://" + place),
            "GET /echo   ");
  EXPECT_NE(output_of("curl -sS --tlsv1.0 --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0" + trust +
                      "https://" + place)
                .find("curl: ("),
            std::string::npos);
  EXPECT_NE(output_of("curl -sS http://" + place).find("curl: ("), std::string::npos);
}

TEST_F(HttpCurl, TlsOfClients) {
  make_certificate("server");
  make_certificate("client");
  make_certificate("other");
  options.tls = {.certificate = folder.path("server.pem"),
                 .key = folder.path("server.key"),
                 .client_ca = folder.path("client.pem")};
  const Server server(options, routes);
  const auto answer = [&](const std::string& name) {
    return output_of(concat("curl -sS -k --cert ", folder.path(name + ".pem"), " --key ",
                            folder.path(name + ".key"), " https://127.0.0.1:", server.port(),
                            "/echo"));
  };
  EXPECT_EQ(answer("client"), "GET /echo   ");
  EXPECT_NE(answer("other").find("curl: ("), std::string::npos);
}

TEST_F(HttpCurl, BadCertificates) {
  make_certificate("server");
  make_certificate("other");
  const auto refuses = [&](Tls tls, const char* word) {
    options.tls = std::move(tls);
    EXPECT_SAYS(error_of<IoError>([&] { const Server server(options, routes); }), word);
  };
  refuses({.certificate = "/nowhere.pem", .key = folder.path("server.key")}, "/nowhere.pem");
  refuses({.certificate = folder.path("server.pem"), .key = "/nowhere.key"}, "/nowhere.key");
  refuses({.certificate = folder.path("server.pem"), .key = folder.path("other.key")}, "key");
  refuses({.certificate = folder.path("server.pem"),
           .key = folder.path("server.key"),
           .client_ca = "/nowhere.ca"},
          "/nowhere.ca");
}

}  // namespace
}  // namespace pando::http
