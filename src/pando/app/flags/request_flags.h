// The flags of `pando request`.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando::app {

enum class RequestProtocol { grpc, rest, oip, oip_grpc };

struct RequestFlags {
  std::vector<std::string> pictures;
  std::string host = "0.0.0.0";  // as the original's default: a server of our own
  int port = 8500;
  int rest_api_port = -1;
  std::string model_name;
  std::string export_dir;
  std::string checkpoint;
  RequestProtocol protocol = RequestProtocol::grpc;
  int64_t batch_size = 1;
  int num_threads = 2;
  int64_t num_images = 1000;
  double rate = 0;
  double timeout = 60;
  int64_t top = 3;
  std::string json;
  std::string svg;
  std::string token_file;
  bool use_async = false;
  bool pytest = false;
  std::string serving_bin_path;
};

void add_request_flags(OptionTable& table, RequestFlags& flags);

extern const char* const kRequestHelpHead;

}  // namespace pando::app
