#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/collective/schedule.h"

namespace lockstep::cli {

/// The sizes that a file of comma-separated values holds: line s what rank s has for ranks 0, 1, ...; `#` begins a
/// comment. Throws: InputError for other than `ranks` lines of `ranks` sizes, with the position.
std::shared_ptr<const collective::SizeMatrix> size_matrix_from(const std::string& path, std::uint32_t ranks);

/// What the rank with most to send sends: what stands for the size of an all_to_all_v.
Bytes largest_row(const collective::SizeMatrix& sizes);

}  // namespace lockstep::cli
