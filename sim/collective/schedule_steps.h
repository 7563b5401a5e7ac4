#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/yaml.h"
#include "sim/collective/schedule.h"
#include "sim/collective/schedule_scope.h"

namespace lockstep::collective {

/// The words of a schedule file for what is in a Schedule: `receive_reduce`, `scratch`.
std::string_view word_of(Verb verb);
std::string_view word_of(Buffer buffer);
/// The key that names the other side, if the verb has one.
std::optional<std::string_view> peer_key(Verb verb);
/// Whether the verb is about a group of ranks at a switch.
bool is_in_switch(Verb verb);
std::span<const Verb> verbs();
std::span<const Buffer> buffers();

/// Chunks of a buffer as a file says it: one number, or a list.
struct PlaceForm {
    Buffer buffer = Buffer::data;
    std::vector<ScopedNumber> chunks = {};
    bool is_list = false;
};

/// A step of a schedule file, understood but not yet worked out for a rank: an instruction, or a loop of steps.
struct StepForm {
    YamlValue at;
    std::optional<ScopedNumber> when = {};
    std::optional<ScopedNumber> repeat = {};  ///< of loops
    std::vector<StepForm> steps = {};         ///< of loops
    Verb verb = Verb::send;
    PlaceForm place = {};
    std::optional<PlaceForm> from = {};  ///< of copy and reduce
    std::optional<ScopedNumber> peer = {};
    std::optional<ScopedNumber> count = {};
    std::optional<ScopedNumber> group = {};
    std::optional<ScopedNumber> event = {};
};

/// Reads a list of steps. The loops' counters are variables behind those that `scope` has; it is left as it was.
/// Throws: InputError.
std::vector<StepForm> read_steps(const YamlValue& list, Scope& scope);

/// What there is for a rank's steps to speak of.
struct StepLimits {
    RankId rank{};
    std::uint32_t ranks = 1;
    std::uint32_t chunks = 1;
    std::uint32_t scratch_chunks = 0;
    const std::vector<std::vector<RankId>>* groups = nullptr;
    std::uint32_t rounds = 1;        ///< of the thread
    std::uint32_t round_stride = 0;  ///< chunk numbers still have to move on by this in all rounds but the first
};

/// How much may be made of a file, so that a few lines cannot ask for more than a machine has. Counted down.
struct StepBudget {
    std::int64_t instructions = std::int64_t{1} << 20;  ///< kept
    std::int64_t listed_chunks = std::int64_t{1} << 24;
    std::int64_t numbers = 20'000'000;  ///< worked out
    double carried_out = 2e9;           ///< instructions, times iterations and rounds
};

/// What the steps are for one rank: loops stay loops where their chunk numbers move evenly (round and round some
/// modulus), and are written out otherwise. variables: those of the scope the steps were read in, without counters.
/// Throws: InputError for a chunk, peer, group or event that there is not, and for a budget that is used up.
std::vector<Block> expand(std::span<const StepForm> steps, std::vector<double> variables, const StepLimits& limits,
                          StepBudget& budget);

}  // namespace lockstep::collective
