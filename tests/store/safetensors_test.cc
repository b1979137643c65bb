#include "pando/store/safetensors.h"

#include <cstring>
#include <limits>

#include "pando/base/json.h"
#include "tests/data/foreign_software.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::store {
namespace {

using testing_support::error_of;

std::vector<uint8_t> file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::vector<uint8_t> bytes(8);
  std::memcpy(bytes.data(), &length, 8);
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::string error_for(const std::string& header, const std::string& data = "") {
  return error_of<IoError>([&] { parse_safetensors(file_of(header, data), "a.safetensors"); });
}

SafetensorsFile some() {
  Tensor half(DType::f16, {3});
  std::memcpy(half.data(), "abcdef", 6);
  return {.tensors = {{"conv/kernel", Tensor::of_f32({1, 2}, {1.5f, -2})},
                      {"half", half},
                      {"empty", Tensor(DType::f32, {0, 4})},
                      {"steps", Tensor::of_i32({}, {7})},
                      {"bytes", Tensor(DType::u8, {5})},
                      {"brain", Tensor(DType::bf16, {2})}},
          .metadata = {{"format", "pt"}, {"Grüße", "\"x\"\n"}}};
}

TEST(Safetensors, AreTheSameAfterwards) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("a.safetensors");
  write_safetensors(path, some());
  EXPECT_TRUE(looks_like_safetensors(path));
  const SafetensorsFile read = read_safetensors(path);
  EXPECT_EQ(read.metadata, some().metadata);
  ASSERT_EQ(read.tensors.size(), some().tensors.size());
  for (const NamedWeight& wanted : some().tensors) {
    const auto found = std::ranges::find(read.tensors, wanted.name, &NamedWeight::name);
    ASSERT_NE(found, read.tensors.end()) << wanted.name;
    EXPECT_EQ(found->value.dtype(), wanted.value.dtype());
    EXPECT_EQ(found->value.shape(), wanted.value.shape());
    if (wanted.value.bytes() == 0) continue;
    EXPECT_EQ(std::memcmp(found->value.data(), wanted.value.data(), wanted.value.bytes()), 0);
  }
}

TEST(Safetensors, OtherTypesAreConverted) {
  std::string data(8, '\0');
  const double real = 0.25;
  std::memcpy(data.data(), &real, 8);
  data += std::string("\xff", 1) + std::string("\xfe\xff", 2) + std::string("\x01\x02", 2) +
          std::string("\xfd\xff\xff\xff\xff\xff\xff\xff", 8) + std::string("\x01", 1);
  const SafetensorsFile file =
      parse_safetensors(file_of(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                                R"("b":{"dtype":"I8","shape":[1],"data_offsets":[8,9]},)"
                                R"("c":{"dtype":"I16","shape":[1],"data_offsets":[9,11]},)"
                                R"("d":{"dtype":"U16","shape":[1],"data_offsets":[11,13]},)"
                                R"("e":{"dtype":"I64","shape":[],"data_offsets":[13,21]},)"
                                R"("f":{"dtype":"BOOL","shape":[1],"data_offsets":[21,22]}}   )",
                                data),
                        "x");
  EXPECT_EQ(file.tensors[0].value.f32()[0], 0.25f);
  EXPECT_EQ(file.tensors[1].value.i32()[0], -1);
  EXPECT_EQ(file.tensors[2].value.i32()[0], -2);
  EXPECT_EQ(file.tensors[3].value.i32()[0], 0x201);
  EXPECT_EQ(file.tensors[4].value.i32()[0], -3);
  EXPECT_EQ(file.tensors[5].value.u8()[0], 1);
}

TEST(Safetensors, RefusesWhatTheFormatForbids) {
  const auto tensor = [](const std::string& shape, const std::string& offsets) {
    return R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  const std::string eight(8, 'x');
  EXPECT_SAYS(error_of<IoError>([] { parse_safetensors({}, "p"); }), "p", "at least 8");
  std::vector<uint8_t> huge(20, 0xff);
  EXPECT_SAYS(error_of<IoError>([&] { parse_safetensors(huge, "p"); }), "up to 100000000");
  std::vector<uint8_t> cut = file_of("{}", "");
  cut.pop_back();
  EXPECT_SAYS(error_of<IoError>([&] { parse_safetensors(cut, "p"); }), "cut short");
  EXPECT_SAYS(error_for(" {}"), "begin with '{'");
  EXPECT_SAYS(error_for("{"), "a.safetensors", "JSON");
  EXPECT_SAYS(
      error_for("{\"a\":" + tensor("[1]", "[0,4]") + ",\"a\":" + tensor("[1]", "[4,8]") + "}",
                eight),
      "'a' occurs twice");
  EXPECT_SAYS(error_for(R"({"a":{"dtype":"F32","dtype":"F32"}})"), "'dtype' occurs twice");
  EXPECT_SAYS(error_for(R"({"__metadata__":{"a":1}})"), "string");
  EXPECT_SAYS(error_for(R"({"a":{"dtype":"F8","shape":[],"data_offsets":[0,1]}})", "x"),
              "tensor 'a'", "unknown dtype 'F8'");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[1]", "[0]") + "}", eight), "2 numbers");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[1]", "[4,0]") + "}", eight), "data_offsets");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[3]", "[0,12]") + "}", eight), "within the 8 bytes");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[3]", "[0,8]") + "}", eight), "expected 12 bytes");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[-1]", "[0,8]") + "}", eight), "at least 0");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[4611686018427387904]", "[0,8]") + "}", eight),
              "too large");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[4294967296,4294967296]", "[0,0]") + "}"), "too large");
  std::string axes = "[1";
  for (int i = 0; i < 64; ++i) axes += ",1";
  EXPECT_SAYS(error_for("{\"a\":" + tensor(axes + "]", "[0,4]") + "}", eight), "up to 64 axes");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[1]", "[4,8]") + "}", eight), "begin at byte 0");
  EXPECT_SAYS(
      error_for("{\"a\":" + tensor("[1]", "[0,4]") + ",\"b\":" + tensor("[2]", "[0,8]") + "}",
                eight),
      "tensor 'b'", "begin at byte 4");
  EXPECT_SAYS(error_for("{\"a\":" + tensor("[1]", "[0,4]") + "}", eight), "end at byte 4",
              "expected 8");
  EXPECT_SAYS(
      error_for(R"({"a":{"dtype":"U32","shape":[1],"data_offsets":[0,4]}})", "\xff\xff\xff\xff"),
      "tensor 'a'", "beyond 32 bits");
  EXPECT_SAYS(error_for(R"({"a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})",
                        std::string(8, '\xff')),
              "beyond 32 bits");
}

TEST(Safetensors, ManyNamesTakeLittleTime) {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  EXPECT_EQ(parse_safetensors(file_of(header + "}", ""), "x").tensors.size(), 100'000u);
}

TEST(Safetensors, RefusesNamesThatCannotBeWritten) {
  const testing_support::TempFolder folder;
  const auto error = [&](const std::string& name) {
    const SafetensorsFile file{
        .tensors = {{"a", Tensor(DType::f32, {1})}, {name, Tensor(DType::f32, {1})}},
        .metadata = {}};
    return error_of([&] { write_safetensors(folder.path("x"), file); });
  };
  EXPECT_SAYS(error(""), "empty");
  EXPECT_SAYS(error("a"), "'a'", "twice");
  EXPECT_SAYS(error("__metadata__"), "reserved");
}

}  // namespace
}  // namespace pando::store
