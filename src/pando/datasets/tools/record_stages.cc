// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/example.h"
#include "pando/datasets/tools/record_stages_impl.h"

namespace pando::datasets {

namespace {

Stage read_pieces_stage(const PiecesPtr& pieces) {
  return {"read", "bytes from files", [pieces]() -> StageWork {
            auto reader = std::make_shared<PieceReader>(pieces);
            return [reader](int64_t unit) {
              const auto bytes = static_cast<double>(reader->read(unit).size());
              return StageCount{reader->piece(unit).records, bytes, bytes};
            };
          }};
}

Stage check_pieces_stage(const PiecesPtr& pieces) {
  return {"check", "decompressed, crcs compared", [pieces]() -> StageWork {
            auto reader = std::make_shared<PieceReader>(pieces);
            return [reader](int64_t unit) {
              StageCount count{0, static_cast<double>(reader->piece(unit).bytes), 0};
              reader->each_payload(unit, [&](std::span<const uint8_t> payload) {
                ++count.samples;
                count.out += static_cast<double>(payload.size());
              });
              return count;
            };
          }};
}

Stage parse_pieces_stage(const PiecesPtr& pieces) {
  return {"parse", "tf.train.Example", [pieces]() -> StageWork {
            auto reader = std::make_shared<PieceReader>(pieces);
            return [reader](int64_t unit) {
              StageCount count;
              reader->each_payload(unit, [&](std::span<const uint8_t> payload) {
                const Example example(payload);
                ++count.samples;
                count.in += static_cast<double>(payload.size());
              });
              count.out = count.in;  // views of the same bytes
              return count;
            };
          }};
}

}  // namespace

Pipeline record_pipeline(const PiecesPtr& pieces) {
  return {
      .units = std::ssize(pieces->pieces),
      .samples = pieces->records(),
      .stages = {read_pieces_stage(pieces), check_pieces_stage(pieces), parse_pieces_stage(pieces)},
      .batches = std::nullopt};
}

}  // namespace pando::datasets
