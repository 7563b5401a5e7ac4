#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "sim/report/comparison.h"
#include "sim/report/explain_words.h"
#include "sim/report/figures.h"

namespace lockstep::report {

using collective::Operation;

namespace {

constexpr double exact = 1e-9;
constexpr double rounding = 1e-4;  ///< of chunks that are cut in whole bytes

bool alike(double a, double b, double tolerance) {
    return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

std::string percent(double part) { return fmt::format("{:.3g} %", 100 * part); }

/// Most that a rank sends or receives, in vectors.
double traffic(const Explanation& explanation) {
    std::int64_t most = 0;
    for (std::size_t rank = 0; rank < explanation.proof.bytes_out.size(); ++rank) {
        most = std::max({most, explanation.proof.bytes_out[rank], explanation.proof.bytes_in[rank]});
    }
    return explanation.bytes.value == 0 ? 0.0
                                        : static_cast<double>(most) / static_cast<double>(explanation.bytes.value);
}

std::string factor_text(Operation operation) {
    switch (operation) {
        case Operation::all_reduce:
            return "2(n-1)/n";
        case Operation::broadcast:
        case Operation::reduce:
        case Operation::send_recv:
        case Operation::permutation:
            return "1";
        default:
            return "(n-1)/n";
    }
}

/// A paragraph; of a schedule that is wrong one more for each finding.
std::vector<std::string> proof_texts(const Explanation& explanation) {
    if (explanation.proof.holds()) {
        return {
            fmt::format("Every rank ends with exactly what {} promises; that is proved on symbolic data, not measured.",
                        collective::name_of(explanation.schedule.operation))};
    }
    std::vector<std::string> texts{
        fmt::format("This schedule is wrong: it does not do what {} promises. A step below is one of the rank's own "
                    "program, counted from 0 as lockstep verify counts.",
                    collective::name_of(explanation.schedule.operation))};
    for (const collective::Finding& finding : explanation.proof.findings) {
        texts.push_back(fmt::format("{}: {}.", collective::name_of(finding.fault), finding.text));
    }
    return texts;
}

std::optional<std::string> time_text(const Explanation& explanation) {
    if (!explanation.run || explanation.run->time.value <= 0 || !explanation.cost || !explanation.model) {
        return std::nullopt;
    }
    const Seconds simulated = explanation.run->time;
    const Seconds book = collective::time_of(*explanation.cost, *explanation.model);
    if (alike(simulated.value, book.value, exact)) {
        return std::string("The simulation takes exactly what the formula says: nothing gets in the way of anything.");
    }
    const double part = simulated / book - 1;
    const std::string difference =
        fmt::format("The simulation takes {} {} than the formula", percent(std::abs(part)), part > 0 ? "more" : "less");
    if (std::abs(part) < rounding && explanation.bytes.value % explanation.schedule.chunks != 0) {
        return std::string("The simulation takes what the formula says, but for chunks that are cut in whole bytes.");
    }
    if (!explanation.model->uniform) {
        return fmt::format(
            "{}, which counts the largest latency and the least rate between any two ranks; here they "
            "differ from pair to pair.",
            difference);
    }
    if (explanation.cost->holds == collective::Cost::Holds::approximately) {
        return fmt::format("{}, which leaves out how pieces on their way get in each other's way.", difference);
    }
    return fmt::format("{}, which knows of one link for each rank and of no contention.", difference);
}

/// Why a switch that adds up beats what a ring can do.
std::string switch_text(const Explanation& explanation, Bandwidth busbw, Bandwidth rate) {
    const double n = explanation.schedule.ranks;
    const double factor = collective::busbw_factor(explanation.schedule.operation, explanation.schedule.ranks);
    const double moved = traffic(explanation);
    const bool is_nvls = explanation.schedule.operation == Operation::all_reduce && alike(moved, (n + 1) / n, 1e-6);
    const double limit = factor / moved;
    std::string text;
    if (!explanation.model->uniform) {
        // No one rate is that of "a link", so that none can be set against busbw.
        text = fmt::format(
            "What busbw says here: it counts {} = {:.4g} bytes through each port for a byte of data, as if ranks only "
            "sent to each other. Here the switch adds up or copies on the way, no rank moves more than {:.4g}, and "
            "links differ, so that busbw has no rate to be held against: look at the lower bound and the busiest link.",
            factor_text(explanation.schedule.operation), factor, moved);
    } else {
        text = fmt::format(
            "Why busbw {} the link: busbw counts {} = {:.4g} bytes through each port for a byte of data, which is what "
            "a ring has to move. Here the switch adds up or copies on the way, and a port carries only {}{:.4g}. So "
            "busbw can reach {}{:.4g} times the {} of a link, {}, where a ring ends at {}.",
            busbw > rate ? "is above the rate of" : "can be above the rate of",
            factor_text(explanation.schedule.operation), factor, is_nvls ? "(n+1)/n = " : "", moved,
            is_nvls ? "2(n-1)/(n+1) = " : "", limit, to_text(rate), to_text(rate * limit), to_text(rate));
    }
    text += fmt::format(" At this size it is {}", to_text(busbw));
    if (explanation.own_choice && explanation.own_choice->time.value > 0) {
        const auto own = report::busbw(explanation.schedule.operation, explanation.schedule.ranks, explanation.bytes,
                                       explanation.own_choice->time);
        text += fmt::format(", and {} with the pieces that the algorithm chooses by itself", to_text(*own));
    }
    return text +
           "; the rest is latency and the filling of the pipeline. No link is above its own rate: see the busiest.";
}

std::optional<std::string> busbw_text(const Explanation& explanation) {
    if (!explanation.run || !explanation.model || !explanation.proof.holds()) {
        return std::nullopt;
    }
    const collective::Schedule& schedule = explanation.schedule;
    const auto busbw = report::busbw(schedule.operation, schedule.ranks, explanation.bytes, explanation.run->time);
    const double factor = collective::busbw_factor(schedule.operation, schedule.ranks);
    if (!busbw || factor <= 0 || explanation.bytes.value == 0) {
        return std::nullopt;
    }
    const Bandwidth rate = explanation.model->rate;
    if (uses_switches(explanation)) {
        return switch_text(explanation, *busbw, rate);
    }
    if (*busbw > rate * (1 + exact)) {
        const bool has_nodes =
            explanation.communicator.nodes().size() > 1 && explanation.communicator.nodes().size() < schedule.ranks;
        return fmt::format(
            "Why busbw ({}) is above the {} of a message alone: {}. No link is above its own rate: see the busiest "
            "one.",
            to_text(*busbw), to_text(rate),
            has_nodes ? "busbw counts every hop as if it left the node, but most stay inside, on faster links"
                      : "a rank sends over several links at once");
    }
    const double moved = traffic(explanation);
    std::string text = fmt::format(
        "busbw is algbw times {} = {:.4g}, the bytes that must pass each port for a byte of data: {} of the "
        "{} of a link, {}.",
        factor_text(schedule.operation), factor, to_text(*busbw), to_text(rate), percent(*busbw / rate));
    if (moved > factor * 1.001) {
        text += fmt::format(" The busiest rank moves {:.4g} bytes for each instead.", moved);
    } else if (*busbw < rate * (1 - exact)) {
        text += explanation.cost && alike(explanation.run->time.value,
                                          collective::time_of(*explanation.cost, *explanation.model).value, rounding)
                    ? " The rest is latency: with more data it vanishes."
                    : " The rest is latency, and waiting for links that others use.";
    }
    return text;
}

std::optional<std::string> bound_text(const Explanation& explanation) {
    if (!explanation.run) {
        return std::nullopt;
    }
    const auto part = efficiency(*explanation.run);
    if (!part || explanation.run->lower_bound.value <= 0) {
        return std::nullopt;
    }
    return fmt::format("No schedule can take less than {} here; this one reaches {} of that speed.",
                       to_text(explanation.run->lower_bound), percent(*part));
}

}  // namespace

std::vector<std::string> conclusions(const Explanation& explanation) {
    std::vector<std::string> paragraphs = proof_texts(explanation);
    for (auto&& text : {time_text(explanation), bound_text(explanation), busbw_text(explanation)}) {
        if (text) {
            paragraphs.push_back(*text);
        }
    }
    return paragraphs;
}

}  // namespace lockstep::report
