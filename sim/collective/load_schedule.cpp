#include "sim/collective/load_schedule.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/base/text_file.h"
#include "sim/collective/load_programs.h"
#include "sim/collective/schedule_scope.h"

namespace lockstep::collective {

namespace {

constexpr std::int64_t most_ranks = 1 << 16;
constexpr std::int64_t most_chunks = 1 << 24;
constexpr std::int64_t most_channels = 1024;
constexpr std::int64_t most_groups = 1 << 16;
constexpr std::int64_t most_members = 1 << 22;  ///< of all groups and lists
constexpr std::array<std::string_view, 5> reserved{"rank", "ranks", "chunks", "root", "channel"};

/// Of parameters and lists. Throws: InputError for a name that programs know already.
void require_unreserved(const std::string& name, const SourcePosition& at) {
    if (std::ranges::find(reserved, name) != reserved.end()) {
        throw InputError(at, fmt::format("{} has a meaning of its own here: take another name", excerpt(name)));
    }
}

std::string operation_mismatch(const Schedule& schedule, Operation wanted) {
    return fmt::format("`{}` does {}, not {}: ask for that operation, or take another schedule", schedule.algorithm,
                       name_of(schedule.operation), name_of(wanted));
}

std::string ranks_mismatch(std::string_view name, std::int64_t ranks, std::uint32_t wanted) {
    return fmt::format(
        "`{}` is for {} ranks and {} take part: let {} take part (`--ranks`, or `ranks` of a workload), "
        "or change the schedule",
        name, ranks, wanted, ranks);
}

std::string root_mismatch(std::string_view name, std::int64_t root, RankId wanted) {
    return fmt::format("`{}` has rank {} as root, not {}: ask for that one (`--root {}`), or change the schedule", name,
                       root, index(wanted), root);
}

/// Reads one file, from the top to the programs.
class Loader {
  public:
    Loader(const YamlFile& file, const ScheduleUse& use)
        : use_(&use), root_(file.root()), scope_(file.parameters()), parameters_(&file.parameters()) {
        schedule_.algorithm = as_one_line(std::filesystem::path(file.name()).stem().string());
    }

    Schedule load() {
        for (const Parameter& parameter : parameters_->declared()) {
            require_unreserved(parameter.name, parameter.position);
        }
        read_head();
        read_groups();
        read_lists();
        auto programs = std::make_shared<const std::vector<RankProgram>>(load_programs(root_, scope_, schedule_));
        root_.finish();
        schedule_.program = [programs](RankId rank) { return (*programs)[index(rank)]; };
        return std::move(schedule_);
    }

  private:
    std::int64_t count(const YamlValue& value, std::int64_t least, std::int64_t most, std::string_view what) const {
        return ScopedNumber(value, scope_).count({}, least, most, what);
    }

    std::int64_t count_or(std::string_view key, std::int64_t fallback, std::int64_t least, std::int64_t most,
                          std::string_view what) {
        const auto value = root_.find(key);
        return value ? count(*value, least, most, what) : fallback;
    }

    static bool is_word(const YamlValue& value, std::string_view word) {
        return value.is_scalar() && value.written() == word;
    }

    /// Throws: InputError for what cannot be printed as it is.
    static std::string one_line(const YamlValue& value) {
        const std::string text = value.text();
        const std::string line = text.substr(0, text.find_last_not_of('\n') + 1);  // a folded text ends with one
        if (line.empty() || !is_one_line(line)) {
            value.fail(fmt::format("expected one line without control characters, got {}", excerpt(text)));
        }
        return line;
    }

    void read_head() {
        if (const auto name = root_.find("name")) {
            schedule_.algorithm = one_line(*name);
        }
        for (const char* const key : {"summary", "source"}) {
            if (const auto line = root_.find(key)) {
                static_cast<void>(one_line(*line));
            }
        }
        const YamlValue operation = root_.require("operation");
        std::vector<std::string> known;
        for (const Operation each : operations()) {
            if (each != Operation::permutation) {  // is drawn, not written
                known.emplace_back(name_of(each));
            }
        }
        schedule_.operation = operation_named(operation.one_of(known));
        if (use_->operation && *use_->operation != schedule_.operation) {
            operation.fail(operation_mismatch(schedule_, *use_->operation));
        }
        schedule_.ranks = read_ranks(root_.require("ranks"));
        scope_.add_constant("ranks", schedule_.ranks);
        read_root();
        schedule_.channels =
            static_cast<std::uint32_t>(count_or("channels", 1, 1, most_channels, "a number of channels"));
        read_chunks();
        scope_.add_constant("chunks", schedule_.chunks);
        schedule_.scratch_chunks =
            static_cast<std::uint32_t>(count_or("scratch", 0, 0, most_chunks, "a number of chunks"));
        read_result();
    }

    std::uint32_t read_ranks(const YamlValue& value) const {
        std::int64_t least = 1;
        std::int64_t most = most_ranks;
        if (value.is_map()) {
            YamlMap map = value.map();
            if (const auto from = map.find("from")) {
                least = count(*from, 1, most_ranks, "a number of ranks");
            }
            if (const auto to = map.find("to")) {
                most = count(*to, least, most_ranks, "a number of ranks");
            }
            map.finish();
        } else if (!is_word(value, "any")) {
            const std::int64_t ranks = count(value, 1, most_ranks, "a number of ranks (or `any`)");
            if (use_->ranks && *use_->ranks != ranks) {
                value.fail(ranks_mismatch(schedule_.algorithm, ranks, *use_->ranks));
            }
            return static_cast<std::uint32_t>(ranks);
        }
        if (!use_->ranks) {
            value.fail(fmt::format("`{}` is for {} number of ranks: say how many there are with `--ranks`",
                                   schedule_.algorithm, value.is_map() ? "more than one" : "any"));
        }
        if (*use_->ranks < least || *use_->ranks > most) {
            value.fail(
                fmt::format("`{}` is for {} to {} ranks and {} take part: let as many take part "
                            "(`--ranks`, or `ranks` of a workload), or change the schedule",
                            schedule_.algorithm, least, most, *use_->ranks));
        }
        return *use_->ranks;
    }

    void read_root() {
        const auto value = root_.find("root");
        if (!has_root(schedule_.operation)) {
            if (value) {
                value->fail(fmt::format("{} has no root", name_of(schedule_.operation)));
            }
            return;
        }
        if (!value) {
            static_cast<void>(root_.require("root"));
            return;
        }
        if (!is_word(*value, "any")) {
            const std::int64_t root = count(*value, 0, schedule_.ranks - 1, "a rank (or `any`)");
            if (use_->root && index(*use_->root) != static_cast<std::size_t>(root)) {
                value->fail(root_mismatch(schedule_.algorithm, root, *use_->root));
            }
            schedule_.root = id_at<RankId>(static_cast<std::size_t>(root));
        } else if (use_->root) {
            if (index(*use_->root) >= schedule_.ranks) {
                value->fail(fmt::format("rank {} is to be the root, and there are {} ranks", index(*use_->root),
                                        schedule_.ranks));
            }
            schedule_.root = *use_->root;
        }
        scope_.add_constant("root", static_cast<double>(index(schedule_.root)));
    }

    void read_chunks() {
        const YamlValue value = root_.require("chunks");
        schedule_.chunks = static_cast<std::uint32_t>(count(value, 1, most_chunks, "a number of chunks"));
        switch (schedule_.operation) {
            case Operation::reduce_scatter:
            case Operation::all_gather:
            case Operation::all_to_all:
            case Operation::gather:
            case Operation::scatter:
                if (schedule_.chunks % schedule_.ranks != 0) {
                    value.fail(fmt::format("{} has a block of chunks for each rank: expected a multiple of {}, got {}",
                                           name_of(schedule_.operation), schedule_.ranks, schedule_.chunks));
                }
                break;
            case Operation::all_to_all_v:
                if (schedule_.chunks != schedule_.ranks) {
                    value.fail(fmt::format("all_to_all_v has a chunk for each rank: expected {}, got {}",
                                           schedule_.ranks, schedule_.chunks));
                }
                schedule_.sizes = use_->sizes;
                break;
            case Operation::barrier:
                if (schedule_.chunks != 1) {
                    value.fail(fmt::format("a barrier has one chunk, of no bytes, got {}", schedule_.chunks));
                }
                break;
            default:
                break;
        }
    }

    void read_result() {
        static const std::array<std::string, 2> places{"data", "received"};
        const bool apart = moves_vectors(schedule_.operation);
        schedule_.result = apart ? Buffer::received : Buffer::data;
        if (const auto value = root_.find("result")) {
            schedule_.result = value->one_of(places) == "data" ? Buffer::data : Buffer::received;
        }
    }

    void read_groups() {
        const auto value = root_.find("groups");
        if (!value) {
            return;
        }
        for (const YamlValue& item : value->list()) {
            std::vector<RankId> members = selected_ranks(item, scope_, schedule_.ranks);
            if (members.empty()) {
                item.fail("expected at least one rank");
            }
            members_ += static_cast<std::int64_t>(members.size());
            schedule_.groups.push_back(std::move(members));
            if (members_ > most_members || static_cast<std::int64_t>(schedule_.groups.size()) > most_groups) {
                item.fail(fmt::format("there are at most {} groups of together {} ranks", most_groups, most_members));
            }
        }
    }

    void read_lists() {
        const auto value = root_.find("lists");
        if (!value) {
            return;
        }
        YamlMap map = value->map();
        for (const auto& [name, list] : map.entries()) {
            std::vector<double> values;
            for (const YamlValue& item : list.list()) {
                values.push_back(ScopedNumber(item, scope_).number({}));
            }
            members_ += static_cast<std::int64_t>(values.size());
            require_unreserved(name, map.key_position(name));
            scope_.add_list(name, std::move(values), map.key_position(name));
        }
    }

    const ScheduleUse* use_;
    YamlMap root_;
    Scope scope_;
    const Parameters* parameters_;
    Schedule schedule_ = {};
    std::int64_t members_ = 0;  ///< of groups and lists so far
};

}  // namespace

Schedule load_schedule(YamlFile file, const ScheduleUse& use) {
    Parameters& parameters = file.parameters();
    for (const auto& [name, value] : {std::pair("pieces", use.tuning.pieces), {"channels", use.tuning.channels}}) {
        if (value && parameters.declares(name)) {
            parameters.set(name, std::to_string(*value));
        }
    }
    return Loader(file, use).load();
}

void require_use(const Schedule& schedule, const ScheduleUse& use, const SourcePosition& at) {
    if (use.operation && *use.operation != schedule.operation) {
        throw InputError(at, operation_mismatch(schedule, *use.operation));
    }
    if (use.ranks && *use.ranks != schedule.ranks) {
        throw InputError(at, ranks_mismatch(schedule.algorithm, schedule.ranks, *use.ranks));
    }
    if (use.root && has_root(schedule.operation) && *use.root != schedule.root) {
        throw InputError(at,
                         root_mismatch(schedule.algorithm, static_cast<std::int64_t>(index(schedule.root)), *use.root));
    }
}

}  // namespace lockstep::collective
