// Tells clients the services and messages of this server, for example for grpcurl. Both versions of
// the protocol have the same messages.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <health.pb.h>
#include <open_inference.pb.h>
#include <reflection_v1.pb.h>
#include <reflection_v1alpha.pb.h>
#include <tensorflow_serving.pb.h>

#include "pando/grpc/services_impl.h"

namespace pando::grpc {
namespace {

namespace reflection = ::grpc::reflection::v1;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using serve::Code;

// The files that have services.
std::vector<const FileDescriptor*> service_files() {
  return {tensorflow::serving::PredictRequest::descriptor()->file(),
          inference::ModelInferRequest::descriptor()->file(),
          ::grpc::health::v1::HealthCheckRequest::descriptor()->file(),
          reflection::ServerReflectionRequest::descriptor()->file(),
          ::grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()->file()};
}

void list_services(reflection::ListServiceResponse& list) {
  for (const FileDescriptor* const file : service_files()) {
    for (int i = 0; i < file->service_count(); ++i) {
      list.add_service()->set_name(file->service(i)->full_name());
    }
  }
}

// A file, and before it all files that it needs.
void write_file(const FileDescriptor& file, std::set<const FileDescriptor*>& written,
                reflection::FileDescriptorResponse& answer) {
  if (!written.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) {
    write_file(*file.dependency(i), written, answer);
  }
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  proto.SerializeToString(answer.add_file_descriptor_proto());
}

void write_error(reflection::ServerReflectionResponse& answer, Code code, const char* message) {
  answer.mutable_error_response()->set_error_code(static_cast<int>(code));
  answer.mutable_error_response()->set_error_message(message);
}

void write_file_or_error(const FileDescriptor* file, const char* missing,
                         reflection::ServerReflectionResponse& answer) {
  if (file == nullptr) return write_error(answer, Code::not_found, missing);
  // Clients expect the file that they asked for at the beginning.
  std::set<const FileDescriptor*> written;
  auto& files = *answer.mutable_file_descriptor_response();
  write_file(*file, written, files);
  auto& list = *files.mutable_file_descriptor_proto();
  std::reverse(list.begin(), list.end());
}

// The file if a service of this server uses it; null for files of other parts of the process.
const FileDescriptor* known(const FileDescriptor* file) {
  if (file == nullptr) return nullptr;
  std::vector<const FileDescriptor*> open = service_files();
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i] == file) return file;
    for (int k = 0; k < open[i]->dependency_count(); ++k) open.push_back(open[i]->dependency(k));
  }
  return nullptr;
}

reflection::ServerReflectionResponse answer_of(const reflection::ServerReflectionRequest& request) {
  using Request = reflection::ServerReflectionRequest;
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  reflection::ServerReflectionResponse answer;
  answer.set_valid_host(request.host());
  *answer.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kListServices: list_services(*answer.mutable_list_services_response()); break;
    case Request::kFileByFilename:
      write_file_or_error(known(pool.FindFileByName(request.file_by_filename())), "File not found.",
                          answer);
      break;
    case Request::kFileContainingSymbol:
      write_file_or_error(known(pool.FindFileContainingSymbol(request.file_containing_symbol())),
                          "Symbol not found.", answer);
      break;
    case Request::kFileContainingExtension:
      write_error(answer, Code::not_found, "Extension not found.");
      break;
    case Request::kAllExtensionNumbersOfType:
      if (pool.FindMessageTypeByName(request.all_extension_numbers_of_type()) == nullptr) {
        write_error(answer, Code::not_found, "Type not found.");
        break;
      }
      answer.mutable_all_extension_numbers_response()->set_base_type_name(
          request.all_extension_numbers_of_type());
      break;
    case Request::MESSAGE_REQUEST_NOT_SET:
      write_error(answer, Code::invalid_argument, "expected a question in message_request");
  }
  return answer;
}

// Answers each message with one.
class ReflectionCall : public Call {
 public:
  using Call::Call;
  bool may_idle() const override { return true; }

 private:
  void on_message(std::string_view message) override {
    reflection::ServerReflectionRequest request;
    if (parse(message, request)) send(answer_of(request));
  }
  void on_complete() override { end({}); }
};

}  // namespace

std::vector<Method> reflection_methods() {
  std::vector<Method> methods;
  for (const char* const version : {"v1", "v1alpha"}) {
    methods.push_back(
        {.path = concat("/grpc.reflection.", version, ".ServerReflection/ServerReflectionInfo"),
         .needs_token = false,
         .make = [](CallStart start) {
           return std::make_shared<ReflectionCall>(std::move(start));
         }});
  }
  return methods;
}

}  // namespace pando::grpc
