// Fuzzes lists of problems to train on.
#include "doppler/api/load.h"
#include "doppler/base/file.h"
#include "scratch_folder.h"
#include "target.h"

void fuzz(std::string_view bytes) {
  static const fuzzing::ScratchFolder folder;
  doppler::write_file(folder.file("list"), bytes);
  doppler::api::read_problem_list(folder.file("list"));
}
