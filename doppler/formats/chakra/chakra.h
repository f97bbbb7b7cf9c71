// Execution traces of Chakra (mlcommons): as the stream of protocol buffers that its tools write,
// and as JSON. docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/formats/content.h"
#include "doppler/formats/task_graph.h"

namespace doppler::formats {

bool is_chakra(const Content& content);
Imported read_chakra(const std::string& file, std::string_view bytes, const ImportOptions& = {});

// A node as both forms have it.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;  // of et_def.proto
  std::vector<std::uint64_t> data_deps, ctrl_deps;
  std::optional<double> micros;        // measured
  std::optional<double> flops;         // "num_ops"
  std::optional<double> result_bytes;  // of the tensors that it gives
  std::optional<double> moved_bytes;   // "comm_size" or "tensor_size"
  std::size_t at = 0;
};

// Makes the graph of them, in their order.
class ChakraTrace {
 public:
  ChakraTrace(const std::string& file, TaskGraph::Fail fail)
      : file_(file), tasks_(std::move(fail)) {}

  void add(ChakraNode node);
  Imported build() &&;

 private:
  const std::string& file_;
  TaskGraph tasks_;
  std::vector<ChakraNode> nodes_;
};

void read_chakra_json(const std::string& file, std::string_view text, ChakraTrace& trace);
void read_chakra_protobuf(const std::string& file, std::string_view bytes, ChakraTrace& trace);
bool is_chakra_protobuf(std::string_view bytes);

// The bytes of all tensors in a list as traces print it: "[[12, 13, 0, 4096, 4, 'cuda:0'], 3]" has
// one of 4096 elements of 4 bytes. Nothing where it has none.
std::optional<double> tensor_bytes_in(std::string_view values);

}  // namespace doppler::formats
