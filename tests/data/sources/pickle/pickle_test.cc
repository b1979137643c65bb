#include "pando/data/sources/pickle/pickle.h"

#include <string>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/data/sources/pickle/writer.h"
#include "tests/data/record_files.h"
#include "tests/support/expect_error.h"

namespace pando::data {
namespace {

using namespace std::string_literals;

const std::string kStart = "\x80\x02"s;

// The error that reading the opcodes between start and STOP ends with.
std::string opcode_error(const std::string& opcodes, const std::string& end = ".") {
  const Bytes content = bytes_of(kStart + opcodes + end);
  return testing_support::error_of<IoError>([&] { parse_pickle(content, "file"); });
}

std::string array_error(const std::string& opcodes) {
  const Bytes content = bytes_of(kStart + opcodes + ".");
  const PickleValue value = parse_pickle(content, "file");
  return testing_support::error_of<IoError>([&] { static_cast<void>(value.array()); });
}

const std::string kReconstruct =
    "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85U\1btR"s;

std::string dtype(const std::string& name, const std::string& order = "|") {
  return "cnumpy\ndtype\n(U" + std::string(1, static_cast<char>(name.size())) + name +
         "K\0K\1tR(K\3U"s + static_cast<char>(order.size()) + order + "tb";
}

std::string array_of(const std::string& shape, const std::string& type, const std::string& bytes) {
  return kReconstruct + "(K\1"s + shape + type + "\x89U"s + static_cast<char>(bytes.size()) +
         bytes + "tb";
}

TEST(Pickle, ReadsEveryKind) {
  const Bytes content =
      bytes_of(kStart +
               "}(U\1nNU\1tU\4textU\1i(K\7M\0\1J\xff\xff\xff\xff\x8a\0\x8a\2\0\xff\x88\x89tU\1l]("
               "K\1K\2eK\3aU\1"
               "e)u."s);
  const PickleValue value = parse_pickle(content, "file");
  ASSERT_EQ(value.kind(), PickleKind::dict);
  EXPECT_EQ(value.size(), 5u);
  EXPECT_EQ(value.keys(), (std::vector<std::string>{"n", "t", "i", "l", "e"}));
  EXPECT_EQ(value.find("n")->kind(), PickleKind::none);
  EXPECT_EQ(value.find("t")->text(), "text");
  EXPECT_EQ(value.find("i")->at(1).integer(), 256);
  EXPECT_EQ(value.find("i")->at(2).integer(), -1);
  EXPECT_EQ(value.find("i")->at(3).integer(), 0);
  EXPECT_EQ(value.find("i")->at(4).integer(), -256);
  EXPECT_EQ(value.find("i")->at(5).describe(), "True");
  EXPECT_EQ(value.find("i")->at(6).describe(), "False");
  EXPECT_EQ(value.find("l")->size(), 3u);
  EXPECT_EQ(value.find("l")->describe(), "a list of 3 items");
  EXPECT_EQ(value.find("e")->size(), 0u);
  EXPECT_FALSE(value.find("absent").has_value());
}

TEST(Pickle, TheLastEntryOfAKeyCounts) {
  const Bytes content = bytes_of(kStart + "}U\1aK\1sU\1aK\2s."s);
  EXPECT_EQ(parse_pickle(content, "file").find("a")->integer(), 2);
}

TEST(Pickle, ValuesMayContainThemselves) {
  const Bytes content = bytes_of(kStart + "]q\0h\0a."s);
  const PickleValue value = parse_pickle(content, "file");
  EXPECT_EQ(value.at(0).at(0).at(0).describe(), "a list of 1 items");
}

TEST(Pickle, ReadsArraysInBothByteOrders) {
  for (const bool big : {false, true}) {
    const std::string values = big ? "\xff\xfe\0\3"s : "\xfe\xff\3\0"s;
    const Bytes content =
        bytes_of(kStart + array_of("K\2\x85"s, dtype("i2", big ? ">" : "<"), values) + ".");
    const PickleArray array = parse_pickle(content, "file").array();
    EXPECT_EQ(array.shape, (std::vector<int64_t>{2}));
    EXPECT_EQ(array.integer_at(0), -2);
    EXPECT_EQ(array.integer_at(1), 3);
  }
}

TEST(Pickle, WhatOurWriterWritesComesBack) {
  const Bytes pixels = counting_bytes(600);
  PickleWriter writer;
  writer.begin_dict();
  writer.text(std::string(300, 'k'));
  writer.begin_list();
  for (const int32_t value : {0, 255, 256, -1}) writer.integer(value);
  writer.end_list();
  writer.text("m");
  writer.matrix(pixels, 300, 2);
  writer.end_dict();
  const Bytes content = std::move(writer).finish();
  const PickleValue value = parse_pickle(content, "file");
  EXPECT_EQ(value.find(std::string(300, 'k'))->at(2).integer(), 256);
  EXPECT_EQ(value.find(std::string(300, 'k'))->at(3).integer(), -1);
  const PickleArray array = value.find("m")->array();
  EXPECT_EQ(array.shape, (std::vector<int64_t>{300, 2}));
  EXPECT_EQ(Bytes(array.bytes.begin(), array.bytes.end()), pixels);
}

TEST(Pickle, RefusesWhatIsNoPickle) {
  const auto error = [](const Bytes& content) {
    return testing_support::error_of<IoError>([&] { parse_pickle(content, "file"); });
  };
  EXPECT_SAYS(error({}), "pickle", "offset 0", "byte 128", "2 to 5");
  EXPECT_SAYS(error({0x1f, 0x8b}), "31", "139");
  EXPECT_SAYS(error({0x80, 1, '.'}), "128");
  EXPECT_SAYS(error({0x80, 6, '.'}), "128");
}

TEST(Pickle, RefusesOpcodesByNameAndOffset) {
  EXPECT_SAYS(opcode_error("NG"), "pickle", "offset 3", "opcode", "BINFLOAT", "byte 71", "text",
              "numpy");
  EXPECT_SAYS(opcode_error("i"), "opcode INST");
  EXPECT_SAYS(opcode_error("\x81"), "opcode NEWOBJ");
  EXPECT_SAYS(opcode_error("\x82"), "opcode EXT1");
  EXPECT_SAYS(opcode_error("\xff"), "unknown opcode 255");
}

TEST(Pickle, RefusesNamesThatCouldRunCode) {
  EXPECT_SAYS(opcode_error("cos\nsystem\n(U\2lstR"s), "pickle", "offset 2", "'os.system'", "numpy");
  EXPECT_SAYS(opcode_error("\x8c\5posix\x8c\6system\x93"s), "asks for 'posix.system'");
  EXPECT_SAYS(opcode_error("c__builtin__\neval\n"), "asks for '__builtin__.eval'");
  EXPECT_SAYS(opcode_error("cnumpy\nload\n"), "asks for 'numpy.load'");
  EXPECT_SAYS(opcode_error("K\1K\2\x93"s), "integer 2", "text");
}

TEST(Pickle, RefusesProgramsThatMakeNoSense) {
  EXPECT_SAYS(opcode_error(""), "a value");
  EXPECT_SAYS(opcode_error("(\x85"), "offset 3", "opcode", "stack");
  EXPECT_SAYS(opcode_error("K\1t"s), "mark");
  EXPECT_SAYS(opcode_error("h\3"s), "value 3");
  EXPECT_SAYS(opcode_error("Nr\xff\xff\xff\xff"), "number 4294967295");
  EXPECT_SAYS(opcode_error("NK\1a"s), "None", "list");
  EXPECT_SAYS(opcode_error("]K\1K\2s"s), "list", "0 items", "dict");
  EXPECT_SAYS(opcode_error("}(K\1u"s), "1 keys");
  EXPECT_SAYS(opcode_error("NNR"), "None", "name");
  EXPECT_SAYS(opcode_error("cnumpy\nndarray\nNR"), "None", "tuple");
  EXPECT_SAYS(opcode_error("NNb"), "None", "tuple");
  EXPECT_SAYS(opcode_error("N)b"), "None", "dtype");
  EXPECT_SAYS(opcode_error("N", ".N"), "pickle", "1 bytes");
  EXPECT_SAYS(opcode_error("\x8a\x09"), "integer", "9 bytes", "at most 8");
  EXPECT_SAYS(opcode_error("\x95\xff\0\0\0\0\0\0\0N"s), "truncated", "frame", "255 bytes");
}

TEST(Pickle, RefusesCallsThatMakeNoArray) {
  const std::string encode = "c_codecs\nencode\n";
  EXPECT_SAYS(opcode_error("cnumpy\nndarray\n)R"), "calls numpy.ndarray");
  EXPECT_SAYS(opcode_error("cnumpy\ndtype\n)R"), "dtype", "0 arguments");
  EXPECT_SAYS(opcode_error("cnumpy\ndtype\n(NNNNNtR"), "5 arguments", "at most 4");
  EXPECT_SAYS(opcode_error("cnumpy.core.multiarray\n_reconstruct\n)R"), "array", "0 arguments");
  EXPECT_SAYS(opcode_error(encode + ")R"), "text", "0 arguments");
  EXPECT_SAYS(opcode_error(encode + "(U\1aU\5utf-8tR"s), "latin1");
  EXPECT_SAYS(
      opcode_error("cnumpy.core.numeric\n_frombuffer\n(C\1a" + dtype("u1") + "K\1\x85U\1AtR"s),
      "array", "'A'");
  EXPECT_SAYS(opcode_error(dtype("i2", "?")), "dtype", "'?'");
  EXPECT_SAYS(opcode_error("cnumpy\ndtype\n(U\2u1K\0K\1tR)b"s), "dtype", "0 parts");
  EXPECT_SAYS(opcode_error(kReconstruct + ")b"), "array", "0 parts");
  EXPECT_SAYS(opcode_error(kReconstruct + "(K\2)NNNtb"s), "array", "version 2");
  EXPECT_SAYS(opcode_error(kReconstruct + "(K\1)NNNtb"s), "None", "integer");
  EXPECT_SAYS(opcode_error(kReconstruct + "(K\1)N\x89Ntb"s), "None", "dtype");
  EXPECT_SAYS(opcode_error(kReconstruct + "(K\1)" + dtype("u1") + "\x89Ntb"), "None");
}

TEST(Pickle, RefusesArraysThatAreNotWhatTheySay) {
  EXPECT_SAYS(array_error(array_of("K\3\x85"s, dtype("u1"), "ab")), "array", "2 bytes", "shape");
  EXPECT_SAYS(array_error(array_of("J\xff\xff\xff\xff\x85"s, dtype("u1"), "ab")), "extent");
  EXPECT_SAYS(array_error(array_of("(" + std::string(33, ')') + "t", dtype("u1"), "a")), "33 axes");
  EXPECT_SAYS(array_error(array_of("K\1\x85"s, dtype("O8"), "a")), "dtype", "'O8'", "b1", "u1");
  EXPECT_SAYS(array_error(array_of("K\1\x85"s, dtype("u"), "a")), "dtype 'u'");
  const std::string most = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s;
  EXPECT_SAYS(array_error(array_of(most + most + most + "\x87"s, dtype("u1"), "a")),
              "more elements than any file holds");
  EXPECT_SAYS(array_error(kReconstruct), "array", "contents");
  EXPECT_SAYS(array_error("N"), "None", "array");
  const std::string not_latin1 = kReconstruct + "(K\1K\1\x85"s + dtype("u1") +
                                 "\x89"
                                 "c_codecs\nencode\n(X\2\0\0\0\xc4\x80U\6latin1tRtb"s;
  EXPECT_SAYS(array_error(not_latin1), "byte 196", "byte 0", "UTF-8");
}

TEST(Pickle, EveryTruncationIsAnError) {
  const std::string whole =
      kStart + "}(U\1a" + array_of("K\2\x85"s, dtype("u1"), "ab") + "X\1\0\0\0bK\1u."s;
  EXPECT_NO_THROW(parse_pickle(bytes_of(whole), "file"));
  for (size_t kept = 0; kept < whole.size(); ++kept) {
    const Bytes part = bytes_of(whole.substr(0, kept));
    EXPECT_THROW(parse_pickle(part, "file"), IoError) << kept << " bytes kept";
  }
  EXPECT_SAYS(opcode_error("T\xff\xff\xff\xffz"s), "truncated", "4294967295");
  EXPECT_SAYS(opcode_error("cnumpy"), "truncated", "name");
}

TEST(Pickle, MillionsOfValuesAreRefused) {
  EXPECT_SAYS(opcode_error("(" + std::string((size_t{1} << 22) + 1, 'N') + "t"), "4194304 values");
}

// Flips, cuts and insertions at random places lead to an error or a value, never to a crash.
TEST(Pickle, TwentyThousandMutationsAreHarmless) {
  const Bytes whole = bytes_of(kStart + "}q\0(U\1a"s + array_of("K\2K\1\x86"s, dtype("u1"), "ab") +
                               "X\1\0\0\0bq\1]q\2(K\1h\1eu."s);
  RandomStream random(1);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random.next_below(bound)); };
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes content = whole;
    for (size_t changes = 1 + below(3); changes > 0 && !content.empty(); --changes) {
      const size_t at = below(content.size());
      const auto place = content.begin() + static_cast<std::ptrdiff_t>(at);
      switch (below(4)) {
        case 0: content[at] = static_cast<uint8_t>(random.next_word()); break;
        case 1: content[at] ^= static_cast<uint8_t>(1u << below(8)); break;
        case 2: content.erase(place); break;
        default: content.insert(place, whole[below(whole.size())]);
      }
    }
    try {
      const PickleValue value = parse_pickle(content, "mutated");
      ++accepted;
      const auto array = value.find("a");
      if (array) static_cast<void>(array->array());
    } catch (const IoError&) {
    }
  }
  EXPECT_NO_THROW(parse_pickle(whole, "whole"));
  EXPECT_GT(accepted, 0);  // a changed letter is not an error
  EXPECT_LT(accepted, 10000);
}

}  // namespace
}  // namespace pando::data
