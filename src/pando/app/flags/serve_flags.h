// The flags of `pando serve`. Flags that tensorflow_model_server has too have the same meaning.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando::app {

struct ServeFlags {
  std::vector<std::string> models;  // files or folders

  std::string model_name = "default";
  std::string model_base_path;
  std::string model_config_file;
  double model_config_file_poll_wait_seconds = 0;
  double file_system_poll_wait_seconds = 1;
  int max_num_load_retries = 5;
  int64_t load_retry_interval_micros = 60'000'000;

  std::string address = "127.0.0.1";
  int rest_api_port = 8501;  // 0: off, -1: any free one
  int port = 8500;           // of gRPC; 0: off, -1: any free one
  std::string grpc_socket_path;
  std::string unix_socket;
  int rest_api_num_threads = 0;
  int64_t rest_api_timeout_in_ms = 30'000;
  bool rest_api_enable_cors_support = false;
  bool page = true;

  std::string token_file;
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;

  bool enable_batching = false;
  std::string batching_parameters_file;
  int workers = 0;
  int64_t max_batch = 32;
  int64_t max_queue_samples = 4096;
  double max_queue_seconds = 10;
  int64_t max_request_samples = 1024;

  int64_t max_body_bytes = 32 << 20;
  int64_t grpc_max_message_bytes = 64 << 20;
  bool allow_reload = false;
  int64_t max_connections = 4096;
  double header_timeout = 5;
  double body_timeout = 30;
  double idle_timeout = 60;

  std::string access_log;
  std::string trace;
  double drain_timeout = 30;
  double drain_delay = 0;
  bool quiet = false;
  bool version = false;

  // Flags of tensorflow_model_server that have no effect here write to these.
  std::string ignored_text;
  int64_t ignored_number = 0;
  bool ignored_switch = false;
};

void add_serve_flags(OptionTable& table, ServeFlags& flags);
// What no single flag can check. Throws UsageError.
void validate(const ServeFlags& flags);

extern const char* const kServeHelpHead;

}  // namespace pando::app
