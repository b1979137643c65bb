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

// What one output of a network says about a picture.
struct Prediction {
  std::string file;
  std::string output = {};    // its name; empty: the network has no other
  std::vector<Score> scores;  // in the order in which they are shown
  std::string mask;           // the file with a class for each pixel; empty: none
  bool are_shares = true;     // values are probabilities or shares, shown in percent in texts
};

enum class PredictionForm { text, csv, json };

// Writes one prediction after the other:
//   text  FILE: cat 93.12 %, dog 5.21 %
//   csv   file,rank,index,label,value
//   json  a list of objects with file, scores and maybe mask
// With several outputs, texts begin with "FILE, OUTPUT: ", and the others have `output` after file.
class PredictionWriter {
 public:
  PredictionWriter(std::ostream& out, PredictionForm form, bool several_outputs = false)
      : out_(out), form_(form), several_outputs_(several_outputs) {}

  void write(const Prediction& prediction);
  void finish();  // after the last one

 private:
  std::string csv_header() const;
  void write_text(const Prediction& prediction);
  void write_csv(const Prediction& prediction);
  void write_json(const Prediction& prediction);

  std::ostream& out_;
  PredictionForm form_;
  bool several_outputs_;
  bool begun_ = false;
};

}  // namespace pando::app
