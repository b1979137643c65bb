// SPDX-License-Identifier: MIT
#include "pando/app/flags/request_flags.h"

namespace pando::app {

const char* const kRequestHelpHead = R"(usage: pando request [PICTURE...] [flags]

Asks a model server and measures its answers. Without --host it exports the network of the flags
(those of 'pando train'), starts a server for it, sends, reports and stops. With pictures (JPEG or
PNG files, or folders) it prints the classes of each; otherwise it sends random samples.

examples:
  pando request --config resnet50_infer_bs16 --batch-size 8 --port 8502 --num-threads 32
  pando request --export-dir models/photos --num-threads 64 --num-images 500 --svg latency.svg
  pando request --host 127.0.0.1 --port 8500 --model-name photos --rate 200
  pando request --host 127.0.0.1 --model-name photos holiday.jpg pictures/

exit codes: 0 done, 1 failed or requests that failed, 2 wrong flag or configuration.

)";

void add_request_flags(OptionTable& table, RequestFlags& flags) {
  table.add_positionals("PICTURE", flags.pictures, "pictures or folders of pictures", false);
  table.begin_group("Server", Effect::none);
  table.add("host", flags.host, "ask a server that runs there; without it, one is started");
  table.add("port", flags.port, "the port for gRPC; -1: any free one").at_least(-1).at_most(65535);
  table.add("rest-api-port", flags.rest_api_port, "the port for HTTP; -1: any free one")
      .with_alias("rest_api_port")
      .at_least(-1)
      .at_most(65535);
  table.add("model-name", flags.model_name, "the model to ask; default: --config or --model")
      .with_alias("model_name");
  table
      .add("export-dir", flags.export_dir,
           "the folder of versions or the model file to serve; a new folder gets the export. "
           "Default: a temporary folder")
      .with_hint("PATH");
  table
      .add("checkpoint-input-path", flags.checkpoint,
           "the weights to export: a run, a checkpoint or a file; default: random ones")
      .with_hint("FILE");
  table.add("token-file", flags.token_file, "a file with the token of the server")
      .with_hint("FILE");
  table.begin_group("Requests", Effect::none);
  table.add_choice("protocol", flags.protocol,
                   {{"grpc", RequestProtocol::grpc},
                    {"rest", RequestProtocol::rest},
                    {"oip", RequestProtocol::oip},
                    {"oip-grpc", RequestProtocol::oip_grpc}},
                   "TensorFlow Serving's gRPC or REST (JSON), or the Open Inference Protocol over "
                   "HTTP (binary tensors) or gRPC");
  table.add("batch-size", flags.batch_size, "samples of a request").at_least(1).at_most(65536);
  table.add("num-threads", flags.num_threads, "connections, each with a thread")
      .at_least(1)
      .at_most(4096);
  table.add("num-images", flags.num_images, "samples that each connection sends").at_least(1);
  table
      .add(
          "rate", flags.rate,
          "send this many requests per second whether answers come or not, and count from the time "
          "when each should be sent; 0: each connection waits for its answer")
      .at_least(0);
  table.add("timeout", flags.timeout, "seconds until a request has failed").above(0);
  table.begin_group("Answers", Effect::none);
  table.add("top", flags.top, "how many classes to print for a picture").at_least(1);
  table.add("json", flags.json, "write the figures to this file").with_hint("FILE");
  table.add("svg", flags.svg, "draw the latencies into this file").with_hint("FILE");
  table.add("use-async", flags.use_async, "ignored: --rate sends without waiting for answers");
  table.add("pytest", flags.pytest, "accepted").hidden = true;
  table.add("serving-bin-path", flags.serving_bin_path, "accepted").may_be_empty().hidden = true;
}

}  // namespace pando::app
