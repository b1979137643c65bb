// SPDX-License-Identifier: MIT
#include "pando/data/image/decode.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/image/exif.h"
#include "pando/data/image/jpeg.h"
#include "pando/data/image/pixel_reader_impl.h"
#include "pando/data/image/png.h"
#include "pando/data/tfrecord/compression.h"

namespace pando {

namespace {

bool starts_with(std::span<const uint8_t> bytes, std::string_view start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// Describes bytes that are neither JPEG nor PNG: the name of their format, or the first bytes as
// numbers.
std::string describe_start(std::span<const uint8_t> bytes) {
  struct Known {
    std::string_view start;
    const char* name;
  };
  constexpr std::array<Known, 6> kKnown = {{{"GIF8", "a GIF image"},
                                            {"BM", "a BMP image"},
                                            {"RIFF", "a WebP image or another RIFF file"},
                                            {"II*", "a TIFF image"},
                                            {"MM", "a TIFF image"},
                                            {"<", "HTML, SVG or XML text"}}};
  if (bytes.empty()) return "no bytes at all";
  for (const Known& known : kKnown) {
    if (starts_with(bytes, known.start)) return known.name;
  }
  if (data::sniff_compression(bytes) == Compression::gzip) return "gzip-compressed data";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "bytes";
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 8); ++i) {
    text += {' ', kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  }
  return text;
}

ImageFormat sniff(std::span<const uint8_t> bytes, const std::string& place) {
  if (data::looks_like_jpeg(bytes)) return ImageFormat::jpeg;
  if (data::looks_like_png(bytes)) return ImageFormat::png;
  throw IoError(place, ": expected a JPEG (ff d8 ff ...) or PNG (89 50 4e 47 ...) image, got ",
                describe_start(bytes));
}

// Turns what another reader reads.
class TurnedReader : public data::PixelReader {
 public:
  TurnedReader(std::unique_ptr<data::PixelReader> stored, const data::Turn& turn)
      : stored_(std::move(stored)), turn_(turn) {}

  ImageSize size() const override { return turned(stored_->size(), turn_); }
  bool cmyk() const override { return stored_->cmyk(); }
  void read(Image& into) override {
    stored_->read(pixels_);
    turn_pixels(pixels_, turn_, into);
  }
  RealBox read_region(const RegionRequest& request, Image& into) override {
    const RealBox box =
        stored_->read_region({.box = turned_back(request.box, turn_, stored_->size()),
                              .target = turned(request.target, turn_),
                              .may_shrink = request.may_shrink},
                             pixels_);
    turn_pixels(pixels_, turn_, into);
    return turned(box, turn_, pixels_.size);
  }

 private:
  std::unique_ptr<data::PixelReader> stored_;
  data::Turn turn_;
  Image pixels_;
};

}  // namespace

ImageReader::ImageReader(std::span<const uint8_t> bytes, std::string place,
                         const DecodeLimits& limits, Orientation orientation)
    : format_(sniff(bytes, place)),
      place_(std::move(place)),
      reader_(format_ == ImageFormat::jpeg ? data::open_jpeg(bytes, place_, limits)
                                           : data::open_png(bytes, place_, limits)) {
  const bool turns = orientation == Orientation::upright;
  const data::Turn turn = turns ? data::turn_of_image(bytes) : data::Turn();
  if (turn != data::Turn()) reader_ = std::make_unique<TurnedReader>(std::move(reader_), turn);
}
ImageReader::~ImageReader() = default;
ImageReader::ImageReader(ImageReader&&) noexcept = default;
ImageReader& ImageReader::operator=(ImageReader&&) noexcept = default;

bool ImageReader::cmyk() const { return reader_->cmyk(); }

ImageSize ImageReader::size() const { return reader_->size(); }

void ImageReader::read(Image& into) { reader_->read(into); }

RealBox ImageReader::read_region(const RegionRequest& request, Image& into) {
  if (!request.box.inside(size())) {
    throw InvalidArgument(place_, ": box ", request.box, " is not inside the image of ", size());
  }
  return reader_->read_region(request, into);
}

Image decode_image(std::span<const uint8_t> bytes, const std::string& place,
                   const DecodeLimits& limits, Orientation orientation) {
  ImageReader reader(bytes, place, limits, orientation);
  Image image;
  reader.read(image);
  return image;
}

}  // namespace pando
