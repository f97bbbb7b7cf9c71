#include "doppler/formats/onnx/onnx_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace doppler::formats {

std::vector<std::size_t> onnx_order(const std::string& file, const std::vector<OnnxNode>& nodes,
                                    const std::function<bool(std::string_view)>& is_given) {
  std::unordered_map<std::string_view, std::size_t> producer;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (output.empty()) continue;
      if (!producer.emplace(output, i).second || is_given(output)) {
        onnx_fail(file, nodes[i].at, fmt::format("value '{}' is given twice", output));
      }
    }
  }
  std::vector<std::size_t> missing(nodes.size(), 0);
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view input : nodes[i].inputs) {
      const auto found = producer.find(input);
      if (found == producer.end()) continue;
      readers[found->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::size_t reader : readers[order.back()]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() < nodes.size()) {
    const auto at = static_cast<std::size_t>(
        std::find_if(missing.begin(), missing.end(), [](std::size_t n) { return n > 0; }) -
        missing.begin());
    onnx_fail(file, nodes[at].at,
              fmt::format("node '{}' depends on itself (a cycle)", onnx_node_name(nodes[at])));
  }
  return order;
}

}  // namespace doppler::formats
