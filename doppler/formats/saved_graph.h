// A graph as the text of some format, with what that format could not hold.
#pragma once

#include <string>
#include <vector>

namespace doppler::formats {

struct SavedGraph {
  std::string text;
  // One sentence for each kind of loss; empty where reading the text gives the same graph.
  std::vector<std::string> notes;
};

}  // namespace doppler::formats
