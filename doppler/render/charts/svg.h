// What the SVG pictures of this module share: colours, text, axes. All have a white ground of their
// own, so that they suit any page.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::render {

// Told apart by people with any colour vision (Okabe and Ito, "Color universal design", 2008), and
// grey.
inline constexpr std::array<std::string_view, 8> kSvgColours{
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#5b4a8a"};
std::string_view svg_colour(std::size_t i);

// With entities for what XML reserves; control characters become spaces.
std::string svg_escaped(std::string_view text);

// The opening tag, with fonts and ground. Ends with "</svg>\n", which is the caller's.
std::string svg_open(double width, double height);

// `more`: further attributes, with a space before.
void svg_text(std::string& svg, double x, double y, std::string_view anchor, std::string_view text,
              std::string_view more = "");

// About how wide a text is drawn at the usual size of 13 pixels; fonts differ.
double svg_text_width(std::string_view text);

// Names with a mark of their colour each, in the middle of `width`, on as many lines as they need.
// Returns the height that they take.
double svg_legend(std::string& svg, const std::vector<std::string>& names,
                  const std::vector<std::string_view>& colours, double width, double y);

enum class Scale { kLinear, kLogarithmic };

// From a range of numbers to 0..1.
class SvgAxis {
 public:
  // Takes in a margin, as a share of the range, on both ends. A range without length gets some.
  // REQUIRES: low <= high, finite; positive where the scale is logarithmic.
  SvgAxis(double low, double high, Scale scale, double margin);

  // Outside 0..1 or not a number where the value has no place here.
  double place(double value) const { return (scaled(value) - low_) / (high_ - low_); }
  // At round numbers.
  std::vector<double> ticks() const;

 private:
  double scaled(double value) const;
  std::vector<double> logarithmic_ticks(std::initializer_list<double> multiples) const;
  std::vector<double> linear_ticks() const;

  Scale scale_;
  double low_ = 0.0, high_ = 1.0;  // scaled
};

// As it stands beside an axis: "0.5", "20", "10k".
std::string svg_tick_label(double value);

}  // namespace doppler::render
