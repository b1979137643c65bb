// SPDX-License-Identifier: MIT
#include "pando/app/flags/serve_flags.h"

#include <limits>

#include "pando/options/usage_error.h"

namespace pando::app {

const char* const kServeHelpHead = R"(usage: pando serve [MODEL...] [flags]

Answers requests for predictions over HTTP and gRPC: TensorFlow Serving's protocols (REST at /v1) and
the Open Inference Protocol's (/v2), with a page at / that shows what runs and takes pictures. A MODEL is a model file,
or a folder whose subfolders are versions (1, 2, ...), as 'pando export --export-dir' writes it.
Commands for tensorflow_model_server work if 'pando serve' takes its place.

examples:
  pando serve mnist.onnx
  pando serve --model_name=mnist --model_base_path=/models/mnist --rest_api_port=8501
  pando serve --model_config_file=models.config --enable_batching
  pando serve photos=/models/photos --address 0.0.0.0 --token-file secret.txt

SIGTERM and SIGINT end the server after it has answered what it accepted; a second one ends it at
once. SIGHUP reads --model_config_file again and opens the access log anew.
exit codes: 0 ended by a signal, 1 failed, 2 wrong flag or configuration.

)";

namespace {

// Every flag of tensorflow_model_server is also known with its underscores.
Option& with_tf_name(Option& option) {
  std::string name = option.name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name == option.name ? option : option.with_alias(name);
}

void add_model_flags(OptionTable& table, ServeFlags& flags) {
  table.begin_group("Models", Effect::none);
  with_tf_name(
      table.add("model-name", flags.model_name, "the name of the model at --model-base-path"));
  with_tf_name(table.add("model-base-path", flags.model_base_path,
                         "a folder with versions, or a model file"))
      .with_hint("PATH");
  with_tf_name(
      table.add("model-config-file", flags.model_config_file,
                "several models: TensorFlow Serving's text format, or YAML (*.yml, *.yaml)"))
      .with_hint("FILE");
  with_tf_name(table.add("model-config-file-poll-wait-seconds",
                         flags.model_config_file_poll_wait_seconds,
                         "how often that file is read again; 0: only after SIGHUP"))
      .with_hint("SEC")
      .at_least(0);
  with_tf_name(table.add("file-system-poll-wait-seconds", flags.file_system_poll_wait_seconds,
                         "how often folders are searched for versions; 0: only at the start"))
      .with_hint("SEC")
      .at_least(0);
  with_tf_name(table.add("max-num-load-retries", flags.max_num_load_retries,
                         "attempts to load a version after the first one failed"))
      .at_least(0);
  with_tf_name(table.add("load-retry-interval-micros", flags.load_retry_interval_micros,
                         "microseconds between these attempts"))
      .at_least(0);
}

void add_network_flags(OptionTable& table, ServeFlags& flags) {
  table.begin_group("Network", Effect::none);
  table
      .add("address", flags.address,
           "the address to listen on; 0.0.0.0: all networks, which others may reach")
      .with_hint("IP");
  with_tf_name(table.add("rest-api-port", flags.rest_api_port,
                         "the port for HTTP; 0: none, -1: any free one"))
      .at_least(-1)
      .at_most(65535);
  table.add("port", flags.port, "the port for gRPC; 0: none, -1: any free one")
      .at_least(-1)
      .at_most(65535);
  with_tf_name(table.add("grpc-socket-path", flags.grpc_socket_path,
                         "also listen for gRPC on this Unix socket"))
      .with_hint("PATH");
  table.add("unix-socket", flags.unix_socket, "also listen for HTTP on this Unix socket")
      .with_hint("PATH");
  with_tf_name(table.add("rest-api-num-threads", flags.rest_api_num_threads,
                         "threads that read and write; 0: one for each worker, at most 8"))
      .at_least(0)
      .at_most(64);
  with_tf_name(table.add("rest-api-timeout-in-ms", flags.rest_api_timeout_in_ms,
                         "requests that take longer are refused; 0: none are"))
      .with_hint("MS")
      .at_least(0);
  with_tf_name(table.add("rest-api-enable-cors-support", flags.rest_api_enable_cors_support,
                         "let pages of other addresses ask"));
  table.add("page", flags.page, "answer / with a page that shows the models");
}

void add_security_flags(OptionTable& table, ServeFlags& flags) {
  table.begin_group("Security", Effect::none);
  table
      .add("token-file", flags.token_file,
           "a file with a token that requests must carry: 'Authorization: Bearer TOKEN'")
      .with_hint("FILE");
  table
      .add("tls-certificate", flags.tls_certificate,
           "a PEM file: serve by TLS, but on Unix sockets")
      .with_hint("FILE");
  table.add("tls-key", flags.tls_key, "the key of the certificate, a PEM file").with_hint("FILE");
  table
      .add("tls-client-ca", flags.tls_client_ca,
           "clients must have a certificate signed by one of this PEM file")
      .with_hint("FILE");
  table.add("max-body-bytes", flags.max_body_bytes, "the largest request over HTTP").at_least(1024);
  table.add("grpc-max-message-bytes", flags.grpc_max_message_bytes, "the largest request over gRPC")
      .at_least(1024)
      .at_most(std::numeric_limits<int>::max());
  table.add("allow-reload", flags.allow_reload,
            "let clients replace the models by gRPC's HandleReloadConfigRequest");
  table
      .add("max-connections", flags.max_connections, "more clients at once: the slowest is dropped")
      .at_least(1)
      .at_most(1'000'000);
  table.add("header-timeout", flags.header_timeout, "seconds for the head of a request").above(0);
  table.add("body-timeout", flags.body_timeout, "seconds that a body may pause").above(0);
  table
      .add("idle-timeout", flags.idle_timeout,
           "seconds that a connection may wait; over gRPC it then has to answer a ping")
      .above(0);
}

void add_batching_flags(OptionTable& table, ServeFlags& flags) {
  table.begin_group("Batching", Effect::none);
  with_tf_name(table.add(
      "enable-batching", flags.enable_batching,
      "batch as --batching-parameters-file says; otherwise a free core takes what waits"));
  with_tf_name(table.add("batching-parameters-file", flags.batching_parameters_file,
                         "TensorFlow Serving's text format"))
      .with_hint("FILE");
  table.add("workers", flags.workers, "threads that compute; 0: one per core").at_least(0);
  table.add("max-batch", flags.max_batch, "samples that are computed together").at_least(1);
  table
      .add("max-queue-samples", flags.max_queue_samples,
           "samples that wait for one model; more are refused")
      .at_least(1);
  table
      .add("max-queue-seconds", flags.max_queue_seconds,
           "requests that would wait longer are refused; 0: none are")
      .at_least(0);
  table.add("max-request-samples", flags.max_request_samples, "samples of one request").at_least(1);
}

void add_process_flags(OptionTable& table, ServeFlags& flags) {
  table.begin_group("Process", Effect::none);
  table
      .add("access-log", flags.access_log, "write a line of JSON per request; - is standard output")
      .with_hint("FILE");
  table
      .add("trace", flags.trace,
           "at the end, write what the workers did as a trace for Perfetto or chrome://tracing")
      .with_hint("FILE");
  table.add("drain-timeout", flags.drain_timeout, "seconds to answer the rest after SIGTERM")
      .at_least(0);
  table
      .add("drain-delay", flags.drain_delay,
           "seconds of being not ready before new connections are refused")
      .at_least(0);
  table.add("quiet", flags.quiet, "print errors only");
  table.add("version", flags.version, "print the version").command_line_only();
}

void add_ignored_serve_flags(OptionTable& table, ServeFlags& flags) {
  table.begin_group("Flags of tensorflow_model_server without effect here", Effect::none);
  for (const char* name : {"model-platform", "saved-model-tags", "platform-config-file",
                           "grpc-channel-arguments", "tensorflow-session-config-file"}) {
    with_tf_name(table.add(name, flags.ignored_text, "ignored")).may_be_empty().hidden = true;
  }
  for (const char* name :
       {"tensorflow-session-parallelism", "tensorflow-intra-op-parallelism",
        "tensorflow-inter-op-parallelism", "num-load-threads", "num-unload-threads",
        "grpc-max-threads", "num-request-iterations-for-warmup"}) {
    with_tf_name(table.add(name, flags.ignored_number, "ignored")).hidden = true;
  }
  for (const char* name :
       {"flush-filesystem-caches", "enable-model-warmup", "use-tflite-model",
        "enable-signature-method-name-check", "enable-profiler", "xla-cpu-compilation-enabled",
        "allow-version-labels-for-unavailable-models", "prefer-tflite-model"}) {
    with_tf_name(table.add(name, flags.ignored_switch, "ignored")).hidden = true;
  }
}

}  // namespace

void add_serve_flags(OptionTable& table, ServeFlags& flags) {
  table.add_positionals("MODEL", flags.models, "a model file or folder, or NAME=PATH", false);
  add_model_flags(table, flags);
  add_network_flags(table, flags);
  add_security_flags(table, flags);
  add_batching_flags(table, flags);
  add_process_flags(table, flags);
  add_ignored_serve_flags(table, flags);
}

void validate(const ServeFlags& flags) {
  const int ways = (flags.models.empty() ? 0 : 1) + (flags.model_base_path.empty() ? 0 : 1) +
                   (flags.model_config_file.empty() ? 0 : 1);
  if (ways == 0) {
    throw UsageError(
        "expected a model to serve: a file, a folder of versions, --model-base-path or "
        "--model-config-file");
  }
  if (ways > 1) {
    throw UsageError(
        "expected MODEL, --model-base-path or --model-config-file, got several of them");
  }
  if (!flags.batching_parameters_file.empty() && !flags.enable_batching) {
    throw UsageError("--batching-parameters-file: without effect; add --enable-batching");
  }
  if (flags.tls_certificate.empty() != flags.tls_key.empty()) {
    throw UsageError("--tls-certificate and --tls-key: expected both or none");
  }
  if (!flags.tls_client_ca.empty() && flags.tls_certificate.empty()) {
    throw UsageError("--tls-client-ca: needs --tls-certificate");
  }
  if (flags.rest_api_port == 0 && flags.unix_socket.empty() && flags.port == 0) {
    throw UsageError(
        "--rest-api-port: 0 leaves nothing to listen on; give a port or --unix-socket");
  }
  if (!flags.grpc_socket_path.empty() && flags.port == 0) {
    throw UsageError("--grpc-socket-path: needs --port; -1 is any free one");
  }
}

}  // namespace pando::app
