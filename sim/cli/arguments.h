#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/cli/flags.h"
#include "sim/cli/targets.h"
#include "sim/collective/algorithm.h"

namespace lockstep::cli {

/// A whole number in [least, most]. Throws: InputError naming the flag, what was read and what was expected.
std::uint64_t whole_number(std::string_view flag, std::string_view text, std::uint64_t least, std::uint64_t most);

/// A size as nccl-tests takes it. Throws: InputError naming the flag.
Bytes size(std::string_view flag, std::string_view text);

/// The parts of a list with commas, none of them empty. Throws: InputError naming the flag.
std::vector<std::string> words(std::string_view flag, std::string_view text);

/// The sizes from -b to -e, by -i or by -f (2 if neither is given).
/// Throws: InputError for -e below -b, a factor below 2, a step of 0, or more than 10,000 sizes.
std::vector<Bytes> sizes(const SizeOptions& options);

/// Throws: InputError for what is no number from 1 on.
collective::Tuning tuning(const TuningOptions& options);

/// Refuses what is wrong with where results are to go. Throws: as check_targets.
void check_targets(const OutputOptions& options);
/// Refuses results that would replace a file that is read. Throws: as refuse_inputs_as_targets.
void check_targets_against(const std::vector<InputPath>& inputs, const OutputOptions& options);

/// Whether standard output is taken by a machine-readable result, so that there is no room for text.
bool takes_standard_output(const OutputOptions& options);

}  // namespace lockstep::cli
