// SPDX-License-Identifier: MIT
#include "pando/request/request.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <ostream>

#include <fmt/core.h>

#include "pando/app/flags/request_flags.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/run/export_version.h"
#include "pando/app/run/trained_model.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/random.h"
#include "pando/cli/trained_flags.h"
#include "pando/grpc/client.h"
#include "pando/request/classifier.h"
#include "pando/request/load.h"
#include "pando/request/report.h"
#include "pando/request/rest_connection.h"
#include "pando/request/scratch_folder.h"
#include "pando/request/server_process.h"

namespace pando::request {
namespace {

namespace fs = std::filesystem;
using app::RequestFlags;
using Protocol = app::RequestProtocol;

std::string file_text(const std::string& path, const char* flag) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file || is_folder(path)) throw UsageError(flag, ": cannot read '", path, "'");
  return text;
}

void write_text(const std::string& path, const std::string& text, const char* flag) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) throw IoError(flag, ": cannot write '", path, "'");
}

std::vector<std::string> picture_files(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& one : given) {
    if (!is_folder(one)) {
      files.push_back(one);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(one)) {
      if (entry.is_regular_file()) found.push_back(entry.path().string());
    }
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

class GrpcConnection : public Connection {
 public:
  GrpcConnection(const grpc::ClientOptions& options, const serve::InputTensor& input)
      : client_(options) {
    client_.prepare(input);
  }
  serve::Status send(Seconds at_most) override { return client_.infer(at_most); }

 private:
  grpc::Client client_;
};

class RequestRun {
 public:
  RequestRun(RequestFlags& flags, cli::TrainFlagTable& train, std::ostream& out)
      : flags_(flags), train_(train), out_(out) {}

  int run() {
    const bool has_server = train_.table.find_exact("host")->origin.kind != Origin::Kind::built_in;
    if (flags_.model_name.empty()) {
      flags_.model_name =
          train_.common.config.empty() ? train_.options.model : train_.common.config;
    }
    if (!has_server) {
      flags_.host = "127.0.0.1";
      start_server(uses_http());
    } else if (uses_http() && flags_.rest_api_port < 1) {
      flags_.rest_api_port = 8501;
    }
    if (!flags_.token_file.empty()) {
      token_ = std::string(trim(file_text(flags_.token_file, "--token-file")));
    }
    return flags_.pictures.empty() ? measure() : classify();
  }

 private:
  // The folder or file to serve, exported if it does not exist.
  std::string served_path() {
    if (!flags_.export_dir.empty() && fs::exists(flags_.export_dir) &&
        !fs::is_empty(flags_.export_dir)) {
      return flags_.export_dir;
    }
    if (flags_.export_dir.empty()) scratch_ = std::make_unique<ScratchFolder>();
    const std::string base = scratch_ != nullptr ? scratch_->path() + "/model" : flags_.export_dir;
    app::TrainedModel trained = app::open_trained_model(
        flags_.checkpoint, {.table = &train_.table, .flags = &train_.options});
    ModelFacts facts = trained.model.facts();
    facts.serving = ServingFacts{};
    trained.model.set_facts(facts);
    app::export_version(trained.model, {.base = base});
    return base;
  }

  void start_server(bool needs_http) {
    const int64_t batch = std::max<int64_t>(train_.options.micro_batch_size, 1);
    const int http_port = needs_http ? flags_.rest_api_port : 0;
    server_ = std::make_unique<ServerProcess>(std::vector<std::string>{
        "--model-name=" + flags_.model_name, "--model-base-path=" + served_path(),
        concat("--port=", flags_.port), concat("--rest-api-port=", http_port),
        // The batch that the export was made for: the server combines smaller requests.
        concat("--max-batch=", batch), "--max-queue-seconds=0"});
    flags_.port = server_->port("grpc");
    if (needs_http) flags_.rest_api_port = server_->port("http");
  }

  grpc::ClientOptions client_options() const {
    return {.host = flags_.host,
            .port = flags_.port,
            .model = flags_.model_name,
            .open_inference = flags_.protocol == Protocol::oip_grpc,
            .token = token_};
  }

  RestTarget rest_target() const {
    return {.host = flags_.host,
            .port = flags_.rest_api_port,
            .model = flags_.model_name,
            .open_inference = flags_.protocol == Protocol::oip,
            .token = token_};
  }

  bool uses_http() const {
    return flags_.protocol == Protocol::rest || flags_.protocol == Protocol::oip;
  }

  // Random numbers for the only input.
  serve::InputTensor sample() {
    const auto signature = grpc::Client(client_options()).signature(Seconds(flags_.timeout));
    if (!signature) {
      throw IoError("no answer from ", flags_.host, ":", flags_.port, ": ",
                    to_string(signature.status().code), ": ", signature.status().message);
    }
    if (signature->inputs.size() != 1 || signature->inputs[0].shape.empty()) {
      throw IoError("the model has ", signature->inputs.size(), " inputs; expected one");
    }
    const serve::TensorInfo& info = signature->inputs[0];
    if (info.type != serve::ElementType::f32 && info.type != serve::ElementType::u8) {
      throw UsageError("the model takes elements of type ", to_string(info.type),
                       info.type == serve::ElementType::bytes ? "; name pictures to send" : "");
    }
    serve::InputTensor input{.name = info.name, .type = info.type, .shape = info.shape};
    input.shape[0] = flags_.batch_size;
    int64_t elements = 1;
    for (const int64_t size : input.shape) elements *= size;
    RandomStream random(1);
    bytes_.resize(static_cast<size_t>(elements) * serve::size_of(info.type));
    for (int64_t i = 0; i < elements; ++i) {
      const float number = random.next_uniform();
      const auto place = static_cast<size_t>(i);
      if (info.type == serve::ElementType::u8) {
        bytes_[place] = static_cast<std::byte>(number * 255);
      } else {
        std::memcpy(bytes_.data() + place * sizeof(number), &number, sizeof(number));
      }
    }
    input.data = bytes_;
    return input;
  }

  std::function<std::unique_ptr<Connection>(int)> connector(const serve::InputTensor& input) const {
    if (uses_http()) {
      const RestTarget target = rest_target();
      return
          [target, text = rest_request(target, input)](int) { return connect_rest(target, text); };
    }
    return [options = client_options(), &input](int) {
      return std::make_unique<GrpcConnection>(options, input);
    };
  }

  int measure() {
    const serve::InputTensor input = sample();
    const int64_t each = (flags_.num_images + flags_.batch_size - 1) / flags_.batch_size;
    LoadPlan plan{.connections = flags_.num_threads,
                  .requests = flags_.rate > 0 ? each * flags_.num_threads : each,
                  .rate = flags_.rate,
                  .timeout = flags_.timeout};
    plan.ready = [&] { out_ << "Sending requests" << std::endl; };
    std::vector<double> first;  // latencies of the first connection
    if (train_.options.verbose) {
      plan.answered = [&](int connection, double seconds) {
        if (connection != 0) return;
        first.push_back(seconds);
        out_ << fmt::format("-- Latency for batch: {:.3f} ms.", seconds * 1e3) << std::endl;
      };
    }
    out_ << "Spawn workers\nWait for workers" << std::endl;
    const LoadResult result = run_load(plan, connector(input));
    if (train_.options.verbose) out_ << first_latency_text(first);
    report(result, each);
    return result.failed() == 0 ? app::kDone : app::kFailed;
  }

  void report(const LoadResult& result, int64_t each) {
    const int64_t images = each * flags_.batch_size;
    const double samples =
        static_cast<double>(result.latencies.size()) * static_cast<double>(flags_.batch_size);
    out_ << "All done\n"
         << fmt::format("Full time in ms: {:.1f}\n", result.seconds * 1e3)
         << fmt::format("Processed num_images * num_threads: {} * {} = {}\n", images,
                        flags_.num_threads, images * flags_.num_threads)
         << fmt::format("Average throughput: {:.1f} samples/sec\n",
                        result.seconds > 0 ? samples / result.seconds : 0.0)
         << percentile_text(result) << histogram_text(result) << error_text(result) << std::flush;
    if (!flags_.json.empty()) {
      write_text(flags_.json, result_json(result, flags_.batch_size), "--json");
    }
    if (!flags_.svg.empty()) write_text(flags_.svg, histogram_svg(result), "--svg");
  }

  // A line for each picture. One that fails does not stop the others. The name of a picture's
  // folder is its label if the model has a class of this name.
  int classify() {
    const std::unique_ptr<Classifier> classifier =
        uses_http() ? rest_classifier(rest_target()) : grpc_classifier(client_options());
    bool is_complete = true;
    int64_t labelled = 0;
    int64_t right = 0;
    out_ << fmt::format("{:<40} {:<16} {:>11}  classes\n", "picture", "label", "time");
    for (const std::string& file : picture_files(flags_.pictures)) {
      const std::string picture = file_text(file, "PICTURE");
      const auto begin = std::chrono::steady_clock::now();
      const auto classes = classifier->classify(picture, Seconds(flags_.timeout));
      const double ms = Seconds(std::chrono::steady_clock::now() - begin).count() * 1e3;
      if (!classes) {
        is_complete = false;
        out_ << fmt::format("{:<40} failed: {}: {}\n", file, to_string(classes.status().code),
                            classes.status().message);
        continue;
      }
      const std::string folder =
          fs::absolute(file).lexically_normal().parent_path().filename().string();
      const bool has_label =
          std::ranges::any_of(*classes, [&](const auto& one) { return one.first == folder; });
      labelled += has_label ? 1 : 0;
      right += has_label && classes->front().first == folder ? 1 : 0;
      std::string text;
      for (size_t i = 0; i < std::min(classes->size(), static_cast<size_t>(flags_.top)); ++i) {
        text += fmt::format("  {} {:.3f}", (*classes)[i].first, (*classes)[i].second);
      }
      out_ << fmt::format("{:<40} {:<16} {:8.2f} ms{}", file, has_label ? folder : "-", ms, text)
           << std::endl;
    }
    if (labelled > 0) {
      out_ << fmt::format("Right: {} of {} pictures with a label\n", right, labelled);
    }
    return is_complete ? app::kDone : app::kFailed;
  }

  RequestFlags& flags_;
  cli::TrainFlagTable& train_;
  std::ostream& out_;
  std::string token_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<ScratchFolder> scratch_;
  std::unique_ptr<ServerProcess> server_;
};

}  // namespace

int run_request(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  try {
    RequestFlags flags;
    cli::TrainFlagTable train;
    app::add_request_flags(train.table, flags);
    train.add();
    if (!train.parse(args, out, app::kRequestHelpHead)) return app::kDone;
    if (flags.use_async) {
      out << "warning: --use-async is ignored: --rate sends without waiting for answers\n";
    }
    return RequestRun(flags, train, out).run();
  } catch (const std::exception& error) {
    err << "pando request: error: " << app::describe(error, false) << std::endl;
    return app::exit_code_of(error);
  }
}

}  // namespace pando::request
