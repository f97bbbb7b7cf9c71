// The syntax of ncnn's .param text: layers with the blobs that they read and write, and their
// numbered parameters. Names and texts are views of the text that was parsed, which must outlive
// the model. A parsed model may be read by several threads.
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
  // Returns the value, or the first of an array; `absent` if there is none or it is not a number.
  double number(int id, double absent) const;
  // Returns the value rounded to an integer, and limited, since sizes beyond 2^40 are damaged.
  std::int64_t integer(int id, std::int64_t absent) const;
  // Returns an array, of which a single value is one of length 1; empty if it is absent.
  const std::vector<double>& array(int id) const;

  // Returns a text in quotes; empty if the parameter is absent or something else.
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
  std::vector<std::uint32_t> inputs, outputs;  // indices into NcnnModel::blobs
  NcnnParams params;
  std::size_t at = 0;  // offset in the text
};

struct NcnnModel {
  std::vector<NcnnLayer> layers;
  std::vector<std::string_view> blobs;  // names, in the order of first appearance
};

// Reads a model, in which every blob is written by one layer, before the layers that read it.
// Throws InputError with file:line:column.
NcnnModel parse_ncnn_param(const std::string& file, std::string_view text);

}  // namespace doppler::formats
