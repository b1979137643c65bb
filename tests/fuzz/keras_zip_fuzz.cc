// Reads any bytes as a .keras archive and imports its network. Expects a network or one of the
// errors that the headers name.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/keras/files.h"
#include "pando/keras/import.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::keras_zip(Input input) {
  try {
    const keras::ModelFile file = keras::parse_keras_archive({input.begin(), input.end()}, "fuzz");
    keras::import_network(file.config, file.major, *file.weights);
  } catch (const IoError&) {
  } catch (const InvalidArgument&) {
  } catch (const Unsupported&) {
  } catch (const ResourceError&) {
  }
}
