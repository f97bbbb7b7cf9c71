// The syntax of ncnn's .param text: layers with the blobs that they read and write, and numbered
// parameters. Values view the text that was parsed. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::formats {

// The parameters of one layer, by number.
class NcnnParams {
 public:
  bool has(int id) const { return values_.contains(id); }
  // The value, or the array's first; `absent` where there is none or it is no number.
  double number(int id, double absent) const;
  // Rounded and limited to what an int64 holds; sizes beyond 2^40 are taken for damaged.
  std::int64_t integer(int id, std::int64_t absent) const;
  // Empty where absent; a single value is an array of one.
  const std::vector<double>& array(int id) const;

  // What stands in quotes; empty where that is something else.
  std::string_view text(int id) const;

  void set(int id, std::vector<double> values) { values_[id] = std::move(values); }
  void set_text(int id, std::string_view text) {
    values_[id].clear();
    texts_[id] = text;
  }

 private:
  std::map<int, std::vector<double>> values_;
  std::map<int, std::string_view> texts_;
};

struct NcnnLayer {
  std::string_view type, name;
  std::vector<std::uint32_t> inputs, outputs;  // blobs
  NcnnParams params;
  std::size_t at = 0;  // where the layer stands in the text
};

struct NcnnModel {
  std::vector<NcnnLayer> layers;
  std::vector<std::string_view> blobs;  // names, in the order of first appearance
};

// Every blob is written by one layer, before the layers that read it. Throws InputError with
// file:line:column.
NcnnModel parse_ncnn_param(const std::string& file, std::string_view text);

}  // namespace doppler::formats
