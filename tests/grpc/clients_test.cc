// Clients that others wrote: Python's gRPC and gRPC for Node.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdio>

#include <gtest/gtest.h>

#include "tests/grpc/grpc_fixture.h"
#include "tests/support/external.h"

namespace pando::grpc {
namespace {

const std::string kHere = PANDO_SOURCE_DIR "/tests/grpc/";
const std::string kProtos = PANDO_SOURCE_DIR "/src/pando/grpc/protos";

std::string said(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> part;
  for (size_t count; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    output.append(part.data(), count);
  }
  const int status = ::pclose(pipe);
  return status == 0 ? output : output + "\nstatus " + std::to_string(status);
}

// Shows health while the models drain: a client that watches sees NOT_SERVING.
TEST(GrpcClients, PythonAsksEverything) {
  if (said("/usr/bin/python3 -c 'import grpc' && which grpc_python_plugin").find("status") !=
      std::string::npos) {
    SKIP_WITHOUT("python3-grpcio or protobuf-compiler-grpc");
  }
  SmallServer small;
  const testing_support::TempFolder generated;
  ASSERT_EQ(said("protoc -I " + kProtos + " --python_out=" + generated.path() +
                 " --grpc_out=" + generated.path() +
                 " --plugin=protoc-gen-grpc=$(which grpc_python_plugin) " + kProtos + "/*.proto"),
            "");
  EXPECT_EQ(said("PYTHONPATH=" + generated.path() + " /usr/bin/python3 " + kHere + "client.py " +
                 small.place()),
            "all answered\n");
  small.models->begin_drain();
  EXPECT_EQ(said("PYTHONPATH=" + generated.path() + " /usr/bin/python3 " + kHere + "client.py " +
                 small.place() + " draining"),
            "all answered\n");
}

TEST(GrpcClients, NodeAsksEverything) {
  const testing_support::TempFolder modules;
  const std::string installed =
      said("cd " + modules.path() +
           " && npm install --silent --no-audit --no-fund --fetch-retries=0 "
           "@grpc/grpc-js@1.14 @grpc/proto-loader@0.8");
  if (installed.find("status") != std::string::npos) {
    SKIP_WITHOUT("npm, or the registry with @grpc/grpc-js");
  }
  SmallServer small;
  EXPECT_EQ(said("cd " + modules.path() + " && cp " + kHere + "client.mjs . && node client.mjs " +
                 small.place() + " " + kProtos),
            "all answered\n");
}

}  // namespace
}  // namespace pando::grpc
