// The page of a reproduction in Markdown: first what is confirmed and what is not, then a section
// for each experiment.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lab/experiment.h"

namespace doppler::lab {

struct PagePart {
  const Experiment* experiment = nullptr;
  Section section;
  std::size_t done = 0, total = 0;  // cells
};

// `files`: where the tables and pictures are, as seen from the page; empty: beside it.
std::string page_of(const Lab& lab, const std::vector<PagePart>& parts, const std::string& files);

}  // namespace doppler::lab
