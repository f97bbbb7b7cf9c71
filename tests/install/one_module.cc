// Links a single module of an installed Doppler.
#include "doppler/graph/builder.h"

int main() {
  doppler::graph::GraphBuilder builder;
  builder.add_node({.name = "only", .time = 1.0});
  return std::move(builder).build().node_count() == 1 ? 0 : 1;
}
