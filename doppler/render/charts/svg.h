// Provides what the SVG pictures of this module share: colours, text and axes. All pictures have a
// white background, so that they suit any page. Lengths are in pixels.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::render {

// Colours that people with any colour vision can tell apart (Okabe and Ito, "Color universal
// design", 2008), and grey.
inline constexpr std::array<std::string_view, 8> kSvgColours{
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#5b4a8a"};
// Returns the i-th of them, from the first again after the last.
std::string_view svg_colour(std::size_t i);

// Returns the text with entities for the characters that XML reserves. Control characters become
// spaces.
std::string svg_escaped(std::string_view text);

// Returns the opening tag of a picture, with fonts and background. The caller appends "</svg>\n" in
// the end.
std::string svg_open(double width, double height);

// Appends a text at (x, y). `more` holds further attributes, with a space before each.
void svg_text(std::string& svg, double x, double y, std::string_view anchor, std::string_view text,
              std::string_view more = "");

// Returns about how wide a text is at the usual size of 13 pixels; fonts differ.
double svg_text_width(std::string_view text);

// Appends names, each with a mark of its colour, centred within `width`, on as many lines as they
// need. Returns the height of these lines.
double svg_legend(std::string& svg, const std::vector<std::string>& names,
                  const std::vector<std::string_view>& colours, double width, double y);

enum class Scale { kLinear, kLogarithmic };

// Maps a range of numbers to 0..1.
class SvgAxis {
 public:
  // Widens the range by `margin`, a share of its length, on both ends. A range without length gets
  // some.
  // REQUIRES: low <= high, finite; positive where the scale is logarithmic.
  SvgAxis(double low, double high, Scale scale, double margin);

  // Returns where the value is: outside 0..1, or not a number, where it is not on the axis.
  double place(double value) const { return (scaled(value) - low_) / (high_ - low_); }
  // Returns round numbers within the range.
  std::vector<double> ticks() const;

 private:
  double scaled(double value) const;
  std::vector<double> logarithmic_ticks(std::initializer_list<double> multiples) const;
  std::vector<double> linear_ticks() const;

  Scale scale_;
  double low_ = 0.0, high_ = 1.0;  // scaled
};

// Returns the number as it stands beside an axis: "0.5", "20", "10k".
std::string svg_tick_label(double value);

}  // namespace doppler::render
