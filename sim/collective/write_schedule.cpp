#include "sim/collective/write_schedule.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "sim/base/diagnostics.h"
#include "sim/collective/program_numbers.h"
#include "sim/collective/schedule_steps.h"

namespace lockstep::collective {

namespace {

/// A program with more numbers that follow no rule is easier to read rank by rank.
constexpr std::size_t most_lists = 8;

/// Throws: InputError for a schedule that load_schedule would certainly find too large: it spends at least this much.
void require_readable(const Schedule& schedule) {
    StepBudget left;
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        for (const Thread& thread : schedule.program(id_at<RankId>(rank))) {
            for (const Block& block : thread.blocks) {
                const auto size = static_cast<std::int64_t>(block.body.size());
                left.instructions -= size;
                left.numbers -= size * block.iterations;
            }
        }
        if (left.instructions < 0 || left.numbers < 0) {
            throw InputError(fmt::format("`{}` on {} ranks is larger than schedule files may be ({})",
                                         schedule.algorithm, schedule.ranks,
                                         left.instructions < 0 ? "a million instructions with its loops"
                                                               : "twenty million numbers to be worked out"));
        }
    }
}

/// All of a rank's program but the numbers that may differ from rank to rank. Equal: one text will do for both.
std::string shape_of(const RankProgram& program) {
    std::string shape;
    const auto add_index = [&](const ChunkIndex& index, std::uint32_t iterations) {
        if (iterations > 1) {
            fmt::format_to(std::back_inserter(shape), "{}*{}%{}@{}", index.stride, index.scale, index.modulus,
                           index.order ? fmt::format("{}", fmt::join(*index.order, " ")) : "");
        }
    };
    for (const Thread& thread : program) {
        fmt::format_to(std::back_inserter(shape), "t{} {} {}", thread.channel, thread.rounds, thread.round_stride);
        for (const Block& block : thread.blocks) {
            fmt::format_to(std::back_inserter(shape), "b{} ", block.iterations);
            for (const Instruction& each : block.body) {
                fmt::format_to(std::back_inserter(shape), "i{} {} {} {};", static_cast<int>(each.verb),
                               static_cast<int>(each.buffer), static_cast<int>(each.from_buffer),
                               each.chunks ? each.chunks->size() : 0);
                add_index(each.chunk, block.iterations);
                add_index(each.from, block.iterations);
            }
        }
    }
    return shape;
}

std::string as_scalar(std::string_view text) {
    const auto is_safe = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    if (!text.empty() && std::ranges::all_of(text, is_safe) && text != "null") {
        return std::string(text);
    }
    std::string escaped = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            escaped += '\\';
        }
        if (c == '$' && escaped.size() == 1) {
            escaped += ' ';  // would be a parameter
        }
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return escaped + '"';
}

std::string selection(const std::vector<RankId>& ranks, std::uint32_t all) {
    if (ranks.size() == all) {
        return "all";
    }
    if (ranks.size() == 1) {
        return fmt::format("{}", index(ranks.front()));
    }
    if (index(ranks.back()) - index(ranks.front()) + 1 == ranks.size()) {
        return fmt::format("{{from: {}, to: {}}}", index(ranks.front()), index(ranks.back()));
    }
    std::vector<std::size_t> numbers;
    std::ranges::transform(ranks, std::back_inserter(numbers), [](RankId rank) { return index(rank); });
    return fmt::format("[{}]", fmt::join(numbers, ", "));
}

/// The text of the program that some ranks share.
class ProgramWriter {
  public:
    ProgramWriter(const Schedule& schedule, std::vector<RankId> ranks, std::vector<RankProgram> programs,
                  std::map<std::vector<std::int64_t>, std::string> lists)
        : schedule_(&schedule), numbers_(schedule.ranks, std::move(ranks)), programs_(std::move(programs)) {
        numbers_.take_lists(std::move(lists));
    }

    /// Under the keys of a program, every line behind `indent`.
    std::string text(const std::string& indent) {
        const RankProgram& shape = programs_.front();
        if (shape.size() == 1 && shape[0].channel == 0 && shape[0].rounds == 1) {
            fmt::format_to(std::back_inserter(text_), "{}steps:{}\n", indent, shape[0].blocks.empty() ? " []" : "");
            add_blocks(0, indent + "  ");
            return std::move(text_);
        }
        fmt::format_to(std::back_inserter(text_), "{}threads:{}\n", indent, shape.empty() ? " []" : "");
        for (std::size_t thread = 0; thread < shape.size(); ++thread) {
            fmt::format_to(std::back_inserter(text_), "{}  - channel: {}\n", indent, shape[thread].channel);
            if (shape[thread].rounds != 1) {
                fmt::format_to(std::back_inserter(text_), "{}    rounds: {}\n{}    round_stride: {}\n", indent,
                               shape[thread].rounds, indent, shape[thread].round_stride);
            }
            fmt::format_to(std::back_inserter(text_), "{}    steps:{}\n", indent,
                           shape[thread].blocks.empty() ? " []" : "");
            add_blocks(thread, indent + "      ");
        }
        return std::move(text_);
    }

    std::map<std::vector<std::int64_t>, std::string> lists() const { return numbers_.lists(); }

  private:
    void add_blocks(std::size_t thread, const std::string& indent) {
        const std::vector<Block>& blocks = programs_.front()[thread].blocks;
        for (std::size_t block = 0; block < blocks.size(); ++block) {
            const bool is_loop = blocks[block].iterations != 1;
            if (is_loop) {
                fmt::format_to(std::back_inserter(text_), "{}- repeat: {}\n{}  steps:{}\n", indent,
                               blocks[block].iterations, indent, blocks[block].body.empty() ? " []" : "");
            }
            for (std::size_t at = 0; at < blocks[block].body.size(); ++at) {
                fmt::format_to(std::back_inserter(text_), "{}{}- {{{}}}\n", indent, is_loop ? "    " : "",
                               step(thread, block, at));
            }
        }
    }

    /// What a member of the instruction is for each of the ranks.
    template <class Member>
    std::string number(std::size_t thread, std::size_t block, std::size_t at, Member member) {
        std::vector<std::int64_t> values;
        for (const RankProgram& program : programs_) {
            values.push_back(static_cast<std::int64_t>(member(program[thread].blocks[block].body[at])));
        }
        return numbers_.number(values);
    }

    template <class Member>
    std::string chunk(std::size_t thread, std::size_t block, std::size_t at, Member member) {
        std::vector<ChunkIndex> indices;
        for (const RankProgram& program : programs_) {
            indices.push_back(member(program[thread].blocks[block].body[at]));
        }
        return numbers_.chunk(indices, programs_.front()[thread].blocks[block].iterations);
    }

    std::string step(std::size_t thread, std::size_t block, std::size_t at) {
        const Instruction& shape = programs_.front()[thread].blocks[block].body[at];
        const auto of = [&](auto member) { return number(thread, block, at, member); };
        const auto peer = [](const Instruction& each) { return index(each.peer); };
        const std::string_view word = word_of(shape.verb);
        switch (shape.verb) {
            case Verb::signal:
            case Verb::wait:
                return fmt::format("{}: {}", word, of([](const Instruction& each) { return each.event; }));
            case Verb::drain:
                return fmt::format("{}: {}", word, of(peer));
            default:
                break;
        }
        const std::string place = in_buffer(shape.buffer, chunks(thread, block, at));
        std::string text;
        if (shape.verb == Verb::copy || shape.verb == Verb::reduce) {
            const std::string from = chunk(thread, block, at, [](const Instruction& each) { return each.from; });
            text = fmt::format("{}: {}, into: {}", word, in_buffer(shape.from_buffer, from), place);
        } else {
            text = fmt::format("{}: {}", word, place);
        }
        if (const auto key = peer_key(shape.verb)) {
            text += fmt::format(", {}: {}", *key, of(peer));
        }
        if (is_in_switch(shape.verb) && schedule_->groups.size() > 1) {
            text += fmt::format(", group: {}", of([](const Instruction& each) { return each.group; }));
        }
        const std::string count = of([](const Instruction& each) { return each.count; });
        if (!shape.chunks && count != "1") {
            text += fmt::format(", count: {}", count);
        }
        return text;
    }

    std::string chunks(std::size_t thread, std::size_t block, std::size_t at) {
        const Instruction& shape = programs_.front()[thread].blocks[block].body[at];
        if (!shape.chunks) {
            return chunk(thread, block, at, [](const Instruction& each) { return each.chunk; });
        }
        std::vector<std::string> each_chunk;
        for (std::size_t place = 0; place < shape.chunks->size(); ++place) {
            each_chunk.push_back(
                number(thread, block, at, [place](const Instruction& each) { return (*each.chunks)[place]; }));
        }
        return fmt::format("[{}]", fmt::join(each_chunk, ", "));
    }

    static std::string in_buffer(Buffer buffer, const std::string& chunks) {
        return buffer == Buffer::data ? chunks : fmt::format("{{{}: {}}}", word_of(buffer), chunks);
    }

    const Schedule* schedule_;
    NumberWriter numbers_;
    std::vector<RankProgram> programs_;  ///< of the ranks, all of one shape
    std::string text_ = {};
};

/// Programs as they will stand in the file, in the order of their first ranks.
struct ProgramText {
    std::vector<RankId> ranks = {};
    std::string text = {};
};

using Lists = std::map<std::vector<std::int64_t>, std::string>;

std::vector<ProgramText> program_texts(const Schedule& schedule, Lists& lists) {
    std::map<std::string, std::size_t> group_of_shape;
    std::vector<std::vector<RankId>> groups;
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
        const RankProgram program = schedule.program(id_at<RankId>(rank));
        const auto [entry, fresh] = group_of_shape.try_emplace(shape_of(program), groups.size());
        if (fresh) {
            groups.emplace_back();
        }
        groups[entry->second].push_back(id_at<RankId>(rank));
    }
    const std::string indent = groups.size() > 1 ? "    " : "";
    std::vector<ProgramText> texts;
    for (const std::vector<RankId>& ranks : groups) {
        std::vector<RankProgram> programs;
        std::ranges::transform(ranks, std::back_inserter(programs), schedule.program);
        ProgramWriter writer(schedule, ranks, programs, lists);
        std::string text = writer.text(indent);
        if (writer.lists().size() <= lists.size() + most_lists || ranks.size() == 1) {
            lists = writer.lists();
            texts.push_back({ranks, std::move(text)});
            continue;
        }
        for (std::size_t at = 0; at < ranks.size(); ++at) {
            ProgramWriter alone(schedule, {ranks[at]}, {programs[at]}, lists);
            texts.push_back({{ranks[at]}, alone.text("    ")});
            lists = alone.lists();
        }
    }
    std::ranges::stable_sort(texts, {}, [](const ProgramText& text) { return text.ranks.front(); });
    return texts;
}

void write_head(std::ostream& out, const Schedule& schedule, std::string_view summary) {
    const bool apart = moves_vectors(schedule.operation);
    fmt::print(out, "name: {}\nsummary: {}\noperation: {}\nranks: {}\n", as_scalar(schedule.algorithm),
               as_scalar(summary), name_of(schedule.operation), schedule.ranks);
    if (has_root(schedule.operation)) {
        fmt::print(out, "root: {}\n", index(schedule.root));
    }
    if (schedule.channels != 1) {
        fmt::print(out, "channels: {}\n", schedule.channels);
    }
    fmt::print(out, "chunks: {}\n", schedule.chunks);
    if (schedule.scratch_chunks != 0) {
        fmt::print(out, "scratch: {}\n", schedule.scratch_chunks);
    }
    if ((schedule.result == Buffer::received) != apart) {
        fmt::print(out, "result: {}\n", word_of(schedule.result));
    }
    if (!schedule.groups.empty()) {
        fmt::print(out, "groups:\n");
        for (const std::vector<RankId>& group : schedule.groups) {
            std::vector<std::size_t> members;
            std::ranges::transform(group, std::back_inserter(members), [](RankId rank) { return index(rank); });
            fmt::print(out, "  - [{}]\n", fmt::join(members, ", "));
        }
    }
}

}  // namespace

void write_schedule(std::ostream& out, const Schedule& schedule, std::string_view summary) {
    if (schedule.operation == Operation::permutation) {
        throw InputError("the partners of a permutation are drawn from a seed and have no place in a file");
    }
    require_readable(schedule);
    Lists lists;
    const std::vector<ProgramText> texts = program_texts(schedule, lists);
    write_head(out, schedule, summary);
    if (!lists.empty()) {
        std::vector<std::pair<std::string, const std::vector<std::int64_t>*>> by_name;
        for (const auto& [values, name] : lists) {
            by_name.emplace_back(name, &values);
        }
        std::ranges::sort(by_name, [](const auto& a, const auto& b) {
            return std::pair(a.first.size(), a.first) < std::pair(b.first.size(), b.first);
        });
        fmt::print(out, "lists:\n");
        for (const auto& [name, values] : by_name) {
            fmt::print(out, "  {}: [{}]\n", name, fmt::join(*values, ", "));
        }
    }
    if (texts.size() == 1) {
        out << texts.front().text;
        return;
    }
    fmt::print(out, "programs:\n");
    for (const ProgramText& text : texts) {
        fmt::print(out, "  - ranks: {}\n{}", selection(text.ranks, schedule.ranks), text.text);
    }
}

}  // namespace lockstep::collective
