#include "sim/report/trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/report/json_stream.h"

namespace lockstep::report {

namespace {

std::string json_text(std::string_view text) { return JsonStream::text(std::string(text)); }

/// Finds the collective call that a span of a rank stands for: spans carry the label of their task.
class CallsByLabel {
  public:
    explicit CallsByLabel(const workload::TaskGraph& graph) : graph_(graph) {
        for (const workload::Program& program : graph.programs) {
            auto& calls = calls_.emplace_back();
            for (const workload::Task& task : program) {
                if (task.call) {
                    calls.emplace(task.label, &graph.calls.at(static_cast<std::size_t>(*task.call)));
                }
            }
        }
    }

    const workload::CollectiveCall* find(RankId rank, const std::string& label) const {
        const auto& calls = calls_.at(graph_.program_of_rank.at(index(rank)));
        const auto entry = calls.find(label);
        return entry == calls.end() ? nullptr : entry->second;
    }

  private:
    const workload::TaskGraph& graph_;
    std::vector<std::map<std::string, const workload::CollectiveCall*>> calls_;  ///< by program
};

/// The algorithm that ran for a call, where `auto` chose one.
std::string_view algorithm_of(const replay::StepRun& result, const workload::CollectiveCall& call) {
    for (const replay::CollectiveUse& use : result.collectives) {
        if (use.name == call.name && use.operation == call.request.operation && use.bytes == call.request.bytes) {
            return use.algorithm;
        }
    }
    return call.algorithm;
}

std::string arguments(const StepReport& report, const workload::CollectiveCall& call) {
    return fmt::format(R"(,"args":{{"collective":{},"op":{},"algorithm":{},"bytes":{},"group_size":{}}})",
                       json_text(call.name), json_text(collective::name_of(call.request.operation)),
                       json_text(algorithm_of(report.result, call)), call.request.bytes.value,
                       report.graph.communicators.at(call.communicator).size());
}

/// The events one after the other, with the commas between.
class EventList {
  public:
    explicit EventList(std::ostream& out) : out_(out) {}
    void add(std::string_view event) {
        out_ << (first_ ? "\n" : ",\n") << event;
        first_ = false;
    }

  private:
    std::ostream& out_;
    bool first_ = true;
};

void name_tracks(EventList& events, const StepReport& report, std::size_t rank) {
    const std::string& gpu = report.fabric.vertex(report.placement[rank]).name;
    events.add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", rank,
                           json_text(fmt::format("rank {} ({})", rank, gpu))));
    events.add(
        fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", rank, rank));
    for (std::size_t stream = 0; stream < report.graph.streams.size(); ++stream) {
        events.add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", rank,
                               stream, json_text(report.graph.streams[stream])));
    }
}

}  // namespace

TraceExtent write_trace(std::ostream& out, const StepReport& report, std::size_t most_events) {
    const std::vector<replay::Span>& spans = report.result.spans;
    const CallsByLabel calls(report.graph);
    TraceExtent extent{0, report.placement.size()};
    out << R"({"displayTimeUnit":"ms","traceEvents":[)";
    EventList events(out);
    std::size_t at = 0;
    while (extent.ranks_written < extent.ranks) {
        const std::size_t rank = extent.ranks_written;
        std::size_t end = at;
        while (end < spans.size() && index(spans[end].rank) == rank) {
            ++end;
        }
        if (rank > 0 && end > most_events) {
            break;
        }
        name_tracks(events, report, rank);
        for (; at < end; ++at) {
            const replay::Span& span = spans[at];
            const workload::CollectiveCall* const call =
                span.is_collective ? calls.find(span.rank, span.label) : nullptr;
            events.add(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{}{}}})",
                                   json_text(span.label), span.is_collective ? "collective" : "kernel", rank,
                                   static_cast<std::uint32_t>(span.stream), span.start.value * 1e6,
                                   (span.end - span.start).value * 1e6,
                                   call == nullptr ? std::string() : arguments(report, *call)));
        }
        ++extent.ranks_written;
    }
    out << fmt::format(
        "\n],\n\"otherData\":{{\"tool\":\"lockstep\",\"topology\":{},\"workload\":{},\"step_time_s\":{},"
        "\"ranks\":{},\"ranks_written\":{}}}}}\n",
        json_text(report.fabric.name()), json_text(report.graph.name), report.result.step_time.value, extent.ranks,
        extent.ranks_written);
    return extent;
}

}  // namespace lockstep::report
