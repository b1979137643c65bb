// The pipelines of data sets in record files.
// SPDX-License-Identifier: MIT
#include <memory>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/data/stream_order.h"
#include "pando/data/tfrecord/example.h"
#include "pando/data/tools/image_stages_impl.h"
#include "pando/data/tools/pipeline_impl.h"
#include "pando/data/tools/places_impl.h"
#include "pando/data/tools/record_pieces_impl.h"

namespace pando::data {

namespace {

using PiecesPtr = std::shared_ptr<const RecordPieces>;

Stage read_stage(const PiecesPtr& pieces) {
  return {"read", "bytes from files", [pieces]() -> StageWork {
            auto reader = std::make_shared<PieceReader>(pieces);
            return [reader](int64_t unit) {
              const auto bytes = static_cast<double>(reader->read(unit).size());
              return StageCount{reader->piece(unit).records, bytes, bytes};
            };
          }};
}

Stage check_stage(const PiecesPtr& pieces) {
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

Stage parse_stage(const PiecesPtr& pieces) {
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

Pipeline record_pipeline(const PiecesPtr& pieces) {
  return {.units = std::ssize(pieces->pieces),
          .samples = pieces->records(),
          .stages = {read_stage(pieces), check_stage(pieces), parse_stage(pieces)},
          .batches = std::nullopt};
}

// Samples of a data set one by one.
Stage sample_stage(std::string name, std::string what, const Dataset& dataset, double in) {
  return {std::move(name), std::move(what), [dataset, in]() -> StageWork {
            return [dataset, in](int64_t unit) {
              const Sample sample = dataset.get(unit % dataset.size());
              StageCount count{1, in, 0};
              for (const Tensor& field : sample.fields) {
                count.out += static_cast<double>(field.bytes());
              }
              return count;
            };
          }};
}

}  // namespace

Pipeline tfrecord_pipeline(const std::string& path, const DataBenchmarkOptions&) {
  return record_pipeline(find_pieces(record_files(path)));
}

Pipeline imagenet_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const PiecesPtr pieces = find_pieces(imagenet_shards(path, ImagenetPart::train));
  const MakeEachImage images = [pieces]() -> EachImage {
    auto reader = std::make_shared<PieceReader>(pieces);
    return [reader](int64_t unit, const ImageUse& use) {
      reader->each_payload(unit, [&](std::span<const uint8_t> payload) {
        const Example example(payload);
        const ImagenetExample record = read_imagenet_example(example);
        use({record.encoded, record.objects});
      });
    };
  };
  const RecordDataset train =
      open_imagenet(path, ImagenetPart::train, {.seed = options.seed, .workers = options.workers});
  Pipeline pipeline = record_pipeline(pieces);
  pipeline.samples = train.data.size();
  pipeline.stages.push_back(decode_stage(images, options.seed));
  pipeline.stages.push_back(view_stage(images, options.seed));
  pipeline.batches = stream_records(train, {.seed = options.seed});
  return pipeline;
}

Pipeline cosmoflow_pipeline(const std::string& path, const DataBenchmarkOptions& options) {
  const std::string folder = choose_part(path, false).path;
  const std::vector<std::string> paths = files_in(folder, is_cosmoflow_file);
  const Shape shape = cosmoflow_shape(paths);
  const Dataset volumes = open_cosmoflow(folder, {.shape = shape}).data;
  Pipeline pipeline = record_pipeline(find_pieces(paths));
  pipeline.samples = volumes.size();
  pipeline.stages.push_back(sample_stage("augment", "counts to log(1 + count)", volumes,
                                         2.0 * static_cast<double>(shape.elements())));
  pipeline.batches = volumes.shuffle({.seed = options.seed});
  return pipeline;
}

}  // namespace pando::data
