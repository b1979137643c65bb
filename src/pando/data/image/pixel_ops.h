// Changes of colour and contrast, in place, with the definitions of PIL's ImageEnhance and
// ImageOps. Images have one channel (grey) or three (red, green, blue).
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/data/image/image.h"

namespace pando {

// Each of these four blends the image with a poorer one: 0 gives the poorer image, 1 the image
// itself, more exaggerates. Values outside of 0 to 255 are cut off, fractions are truncated.
void adjust_brightness(Image& image, float factor);  // black
void adjust_contrast(Image& image, float factor);    // its mean grey
void adjust_saturation(Image& image, float factor);  // its grey image; grey images stay
// Smoothed by a 3x3 filter whose middle counts five times; the pixels at the edge stay. `spare` is
// working memory.
void adjust_sharpness(Image& image, float factor, Image& spare);

// Turns the hue by this part of a full circle, -0.5 to 0.5; grey images stay.
void shift_hue(Image& image, float turn);

// Stretches the values of each channel to 0 to 255; a channel of one value stays.
void auto_contrast(Image& image);
// Gives each channel about as many pixels of every value.
void equalize(Image& image);
// Keeps the highest `bits` (0 to 8) of every value.
void posterize(Image& image, int bits);
// Inverts all values from `threshold` (0 to 256) on.
void solarize(Image& image, int threshold);

}  // namespace pando
