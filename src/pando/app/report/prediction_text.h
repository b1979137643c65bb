// The answers of a network for pictures, as lines, CSV or JSON.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace pando::app {

struct Score {
  int64_t index = 0;  // of the class or the number
  std::string label;  // its name, or the number as text
  double value = 0;
};

struct Prediction {
  std::string file;
  std::vector<Score> scores;  // in the order in which they are shown
  std::string mask;           // the file with a class for each pixel; empty: none
};

enum class PredictionForm { text, csv, json };

// Writes one prediction after the other:
//   text  FILE: cat 93.12 %, dog 5.21 %
//   csv   file,rank,index,label,value
//   json  a list of objects with file, scores and maybe mask
class PredictionWriter {
 public:
  // `are_shares`: values are probabilities or shares, shown in percent in texts.
  PredictionWriter(std::ostream& out, PredictionForm form, bool are_shares)
      : out_(out), form_(form), are_shares_(are_shares) {}

  void write(const Prediction& prediction);
  void finish();  // after the last one

 private:
  void write_text(const Prediction& prediction);
  void write_csv(const Prediction& prediction);
  void write_json(const Prediction& prediction);

  std::ostream& out_;
  PredictionForm form_;
  bool are_shares_;
  bool begun_ = false;
};

}  // namespace pando::app
