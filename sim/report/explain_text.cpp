#include "sim/report/explain_text.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/report/explain_cells.h"
#include "sim/report/explain_words.h"
#include "sim/report/figures.h"
#include "sim/report/table.h"

namespace lockstep::report {

using collective::Buffer;
using collective::Verb;

namespace {

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view dim = "\x1b[2m";
constexpr std::string_view green = "\x1b[32m";
constexpr std::string_view blue = "\x1b[34m";
constexpr std::string_view plain = "\x1b[0m";

/// Text with line breaks so that no line is longer than `width`, each line indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
    std::string lines;
    std::string line(indent, ' ');
    const std::string_view blank = " ";
    std::size_t used = indent;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(blank, begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        begin = end + 1;
        const std::size_t needed = display_width(word) + (used > indent ? 1 : 0);
        if (used > indent && used + needed > width) {
            lines += line + "\n";
            line.assign(indent, ' ');
            used = indent;
        }
        line += used > indent ? blank : std::string_view();
        line += word;
        used = indent == used ? indent + display_width(word) : used + needed;
    }
    return lines + line + "\n";
}

/// With a capital letter and a full stop.
std::string as_sentence(std::string text) {
    if (text.front() >= 'a' && text.front() <= 'z') {
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    }
    return text + ".";
}

/// Which of `count` things are printed, where `most` may be: all, or the first and the last ones. A gap stands where
/// some are left out.
struct Shown {
    std::size_t head;
    std::size_t tail;  ///< from here on
    std::size_t count;

    bool all() const { return head == tail; }
    bool has(std::size_t at) const { return at < head || at >= tail; }
};

Shown shown(std::size_t count, std::size_t most) {
    if (count <= most) {
        return {count, count, count};
    }
    const std::size_t at_end = most / 4;
    return {most - at_end, count - at_end, count};
}

class Writer {
  public:
    Writer(std::ostream& out, const Explanation& explanation, Colour colour, const TextLimits& limits)
        : out_(out), told_(explanation), colour_(colour), limits_(limits), cells_(explanation) {
        for (const Holdings& holdings : told_.holdings) {
            held_[holdings.buffer] = holdings.start;
        }
    }

    void write() {
        out_ << in(bold, title(told_)) << ": " << setting(told_) << "\n\n";
        if (!told_.summary.empty()) {
            out_ << wrapped(as_sentence(told_.summary), 2, limits_.width) << "\n";
        }
        write_formula();
        write_legend();
        out_ << in(bold, "At the start") << "\n";
        write_matrices({});
        const Shown steps = shown(told_.steps.size(), limits_.steps);
        for (std::size_t at = 0; at < told_.steps.size(); ++at) {
            if (steps.has(at)) {
                write_step(at);
            } else {
                if (at == steps.head) {
                    out_ << fmt::format(
                        "\n… not shown: {}; --json and --html have all\n",
                        range_text("step", told_.steps[steps.head].number, told_.steps[steps.tail - 1].number));
                }
                hold(told_.steps[at]);
            }
        }
        write_result();
    }

  private:
    std::string in(std::string_view style, std::string_view text) const {
        return colour_ == Colour::always ? fmt::format("{}{}{}", style, text, plain) : std::string(text);
    }

    void write_formula() {
        if (!told_.cost) {
            return;
        }
        const auto letters = told_.model
                                 ? fmt::format(
                                       "n = {} ranks, S = {}, α = {} (latency of a message), B = {} (rate of a "
                                       "rank, each direction)",
                                       told_.schedule.ranks, bytes_text(told_.bytes), to_text(told_.model->alpha),
                                       to_text(told_.model->rate))
                                 : fmt::format("n = {} rank, S = {}", told_.schedule.ranks, bytes_text(told_.bytes));
        out_ << in(bold, "By the book") << "  t = " << told_.cost->formula;
        if (!told_.cost->source.empty()) {
            out_ << in(dim, fmt::format("   [{}]", told_.cost->source));
        }
        out_ << "\n" << wrapped(letters, 2, limits_.width) << "\n";
    }

    void write_legend() {
        std::string text = cells_.legend();
        text += " […] changed in this step, ✓ as it is due at the end.";
        out_ << wrapped(text, 0, limits_.width) << "\n";
    }

    void write_step(std::size_t at) {
        const Step& step = told_.steps[at];
        out_ << "\n";
        out_ << in(bold, step.number == 0 ? std::string("Before the first message")
                                          : fmt::format("Step {} of {}", step.number, told_.steps.back().number))
             << spent(step) << "\n";
        out_ << wrapped(step.sentence, 2, limits_.width);
        write_moves(step);
        hold(step);
        write_matrices(step.changes);
    }

    std::string spent(const Step& step) const {
        if (!told_.cost || step.number == 0) {
            return {};
        }
        return in(dim, fmt::format("   so far {:g} of {:g} α, {} of {}", step.spent.alphas, told_.cost->alphas,
                                   rounded(step.spent.bytes), rounded(told_.cost->bytes)));
    }

    static std::string rounded(double bytes) { return bytes_text(Bytes{static_cast<std::int64_t>(bytes + 0.5)}); }

    void write_moves(const Step& step) {
        const Shown moves = shown(step.moves.size(), limits_.moves);
        for (std::size_t at = 0; at < step.moves.size(); ++at) {
            if (moves.has(at)) {
                out_ << "    " << move_text(step.moves[at]) << "\n";
            } else if (at == moves.head) {
                out_ << fmt::format("    … {} more\n", moves.tail - moves.head);
            }
        }
    }

    std::string move_text(const Move& move) const {
        const std::string chunks = chunks_text(move.chunks);
        const std::string what =
            told_.schedule.channels > 1 ? fmt::format("{} (channel {})", chunks, move.channel) : chunks;
        switch (move.verb) {
            case Verb::reduce_in_switch:
                return fmt::format("{} ⇒ {}  the switch's sum of {}", listed(move.from), index(move.to.front()), what);
            case Verb::receive_sum:
                return fmt::format("{} ⇒ {}  the switch's sum of {}", listed(move.from), listed(move.to), what);
            case Verb::receive_multicast:
                return fmt::format("{} ⇒ {}  {}, copied by the switch", index(move.from.front()), listed(move.to),
                                   what);
            case Verb::copy:
            case Verb::reduce:
                return fmt::format("{} {} {}  {} of {}", index(move.to.front()), move.verb == Verb::copy ? "↻" : "+",
                                   index(move.to.front()), what, name_of(move.buffer));
            default:
                break;
        }
        const std::string into = move.buffer == Buffer::scratch ? " → scratch" : "";
        return fmt::format("{} → {}  {}{}{}", index(move.from.front()), index(move.to.front()), what,
                           move.verb == Verb::receive_reduce ? "  + " : "  = ",
                           cells_.text(move.contents, move) + into);
    }

    void hold(const Step& step) {
        for (const Change& change : step.changes) {
            const auto found = held_.find(change.buffer);
            if (found != held_.end()) {
                found->second[index(change.rank) * found->second.size() / told_.schedule.ranks + change.chunk] =
                    change.held;
            }
        }
    }

    /// The buffer of the result, and the others where they change.
    void write_matrices(const std::vector<Change>& changes) {
        for (const Holdings& holdings : told_.holdings) {
            std::set<std::pair<std::size_t, std::uint32_t>> changed;
            for (const Change& change : changes) {
                if (change.buffer == holdings.buffer) {
                    changed.insert({index(change.rank), change.chunk});
                }
            }
            if (holdings.buffer == told_.schedule.result || !changed.empty()) {
                write_matrix(holdings, changed);
            }
        }
    }

    void write_matrix(const Holdings& holdings, const std::set<std::pair<std::size_t, std::uint32_t>>& changed) {
        constexpr std::size_t label_width = 9;
        constexpr std::size_t marks = 3;  // brackets and the tick
        const bool has_room = label_width + holdings.chunks * (cells_.width() + marks + 1) <= limits_.width;
        const std::size_t cell_width = cells_.width() + marks + (has_room ? 1 : 0);
        const std::size_t fitting = std::max<std::size_t>(1, (limits_.width - label_width - 1) / cell_width);
        const std::size_t columns = std::min<std::size_t>(holdings.chunks, fitting);
        std::string heading = told_.holdings.size() > 1 ? std::string(name_of(holdings.buffer)) : std::string("chunk");
        heading = fmt::format("{:>8} ", heading);
        for (std::size_t chunk = 0; chunk < columns; ++chunk) {
            heading += centred(fmt::format("{}", chunk), cell_width);
        }
        out_ << in(dim, trimmed(heading)) << (columns < holdings.chunks ? in(dim, " …") : "") << "\n";
        const Shown rows = shown(told_.schedule.ranks, limits_.rows);
        for (std::size_t rank = 0; rank < told_.schedule.ranks; ++rank) {
            if (rows.has(rank)) {
                write_row(holdings, rank, columns, cell_width, changed);
            } else if (rank == rows.head) {
                out_ << fmt::format("{:>8}\n", "…");
            }
        }
        note_left_out(holdings, columns, rows);
    }

    void write_row(const Holdings& holdings, std::size_t rank, std::size_t columns, std::size_t cell_width,
                   const std::set<std::pair<std::size_t, std::uint32_t>>& changed) {
        std::string line = in(dim, fmt::format("{:>8}", fmt::format("rank {}", rank))) + " ";
        std::string pending;  // blanks that only something behind them makes worth printing
        const std::vector<Held>& held = held_.at(holdings.buffer);
        for (std::uint32_t chunk = 0; chunk < columns; ++chunk) {
            const std::size_t place = rank * holdings.chunks + chunk;
            const bool is_new = changed.contains({rank, chunk});
            const std::string text = fmt::format("{}{}{}{}", is_new ? "[" : " ",
                                                 cells_.text(held[place].content, holdings.buffer, rank, chunk),
                                                 is_new ? "]" : " ", held[place].complete ? "✓" : " ");
            const std::string cell = centred(text, cell_width);
            const std::string_view style = held[place].complete ? green : is_new ? blue : std::string_view();
            const std::string shown_text = trimmed(cell);
            line += pending;
            line += is_new && colour_ == Colour::always ? std::string(bold) : std::string();
            line += style.empty() ? shown_text : in(style, shown_text);
            pending.assign(cell_width - display_width(shown_text), ' ');
        }
        out_ << line << "\n";
    }

    void note_left_out(const Holdings& holdings, std::size_t columns, const Shown& rows) {
        if (noted_ || (columns == holdings.chunks && rows.all())) {
            return;
        }
        noted_ = true;
        std::vector<std::string> parts;
        if (columns < holdings.chunks) {
            parts.push_back(range_text("chunk", columns, holdings.chunks - 1));
        }
        if (!rows.all()) {
            parts.push_back(range_text("rank", rows.head, rows.tail - 1));
        }
        out_ << wrapped(fmt::format("… not shown: {}; --json and --html have all", fmt::join(parts, " and ")), 2,
                        limits_.width);
    }

    static std::string range_text(std::string_view what, std::size_t first, std::size_t last) {
        return first == last ? fmt::format("{} {}", what, first) : fmt::format("{}s {} to {}", what, first, last);
    }

    static std::string trimmed(std::string text) {
        text.erase(text.find_last_not_of(' ') + 1);
        return text;
    }

    static std::string centred(std::string_view text, std::size_t width) {
        const std::size_t used = display_width(text);
        const std::size_t left = used < width ? (width - used) / 2 : 0;
        return std::string(left, ' ') + std::string(text) + std::string(used < width ? width - used - left : 0, ' ');
    }

    void write_result() {
        out_ << "\n" << in(bold, "What came out") << "\n";
        for (const std::string& paragraph : conclusions(told_)) {
            out_ << wrapped(paragraph, 2, limits_.width);
        }
        if (!told_.run) {
            return;
        }
        Table table({{.title = "", .align = Align::left}, {.title = "time"}, {.title = "algbw"}, {.title = "busbw"}});
        const auto add = [&](const char* what, Seconds time) {
            const auto rate = [](const std::optional<Bandwidth>& value) {
                return value && value->value > 0 ? to_text(*value) : "-";
            };
            const auto& schedule = told_.schedule;
            table.add({what, to_text(time), rate(algbw(told_.bytes, time)),
                       rate(busbw(schedule.operation, schedule.ranks, told_.bytes, time))});
        };
        add("simulated", told_.run->time);
        if (told_.own_choice) {
            add("with pieces of its own choice", told_.own_choice->time);
        }
        if (told_.cost && told_.model && told_.run->time.value > 0) {
            add("by the book", collective::time_of(*told_.cost, *told_.model));
        }
        add("lower bound", told_.run->lower_bound);
        out_ << "\n" << table.text("  ", limits_.width);
        if (const auto busiest = busiest_link(told_.run->links)) {
            const fabric::Fabric& fabric = told_.communicator.fabric();
            out_ << fmt::format("  busiest link: {} → {}, {:.1f} % of what it could carry in that time\n",
                                fabric.vertex(fabric.from(busiest->link)).name,
                                fabric.vertex(fabric.to(busiest->link)).name, 100 * busiest->utilization);
        }
    }

    std::ostream& out_;
    const Explanation& told_;
    Colour colour_;
    TextLimits limits_;
    Cells cells_;
    std::map<Buffer, std::vector<Held>> held_;
    bool noted_ = false;
};

}  // namespace

void write_text(std::ostream& out, const Explanation& explanation, Colour colour, const TextLimits& limits) {
    Writer(out, explanation, colour, limits).write();
}

}  // namespace lockstep::report
