#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::report {

/// Which side of its column a cell stands on: words left, numbers right.
enum class Align { left, right };

struct Column {
    std::string title;
    std::string unit = {};  ///< under the title; no unit line is printed where no column has one
    Align align = Align::right;
    bool shrinks = false;  ///< gives way, cut in its middle, where the table would be too wide
};

/// Columns two spaces apart, under a line of titles; no boxes. Widths are counted in characters of UTF-8.
class Table {
  public:
    explicit Table(std::vector<Column> columns);

    /// Requires: as many cells as columns.
    void add(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }

    /// Every line begins with `prefix` and ends without spaces.
    /// width: in characters, which columns that shrink see to where they can.
    std::string text(std::string_view prefix, std::size_t width) const;
    /// As text(), with `heading_prefix` before the lines of titles instead (nccl-tests' `#`). Both are of equal length.
    std::string text(std::string_view heading_prefix, std::string_view prefix, std::size_t width) const;

  private:
    std::vector<std::size_t> widths(std::size_t available) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// How many columns of a terminal a text takes, one for each code point.
std::size_t display_width(std::string_view text);
/// The text with as much of its middle replaced by `…` as it takes to fit. Requires: width > 0.
std::string shortened(std::string_view text, std::size_t width);

/// A number as a person reads it: 154,321.
std::string grouped(double value);
/// A number with as many decimals as nccl-tests gives a time of its size: 3.50, 123.4, 12345; below 1 four decimals.
std::string measured(double value);

/// Rounds parts to `decimals` places so that what is printed adds up to the rounded sum (largest remainder).
/// Requires: parts >= 0.
std::vector<std::string> rounded_parts(const std::vector<double>& parts, int decimals);

}  // namespace lockstep::report
