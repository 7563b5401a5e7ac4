#include "sim/report/proof_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/report/json_stream.h"
#include "sim/report/table.h"

namespace lockstep::report {

namespace {

constexpr std::size_t page_width = 120;

std::string root_text(const ProvedOperation& tried, std::uint32_t ranks) {
    if (tried.failed_root) {
        return fmt::format("{}", index(*tried.failed_root));
    }
    if (tried.roots.empty()) {
        return "-";
    }
    return tried.roots.size() == ranks && ranks > 1 ? "every" : fmt::format("{}", index(tried.roots.front()));
}

void write_findings(std::ostream& out, const ProvedOperation& tried) {
    out << fmt::format("\n{}{} is not proved:\n", collective::name_of(tried.operation),
                       tried.failed_root ? fmt::format(" with root {}", index(*tried.failed_root)) : "");
    for (const collective::Finding& finding : tried.findings) {
        out << fmt::format("  {}: {}\n", collective::name_of(finding.fault), finding.text);
    }
}

Json finding_json(const collective::Finding& finding) {
    return {{"fault", collective::name_of(finding.fault)},
            {"rank", index(finding.rank)},
            {"step", finding.step},
            {"chunk", finding.chunk},
            {"text", finding.text}};
}

Json operation_json(const ProvedOperation& tried) {
    Json json{{"op", collective::name_of(tried.operation)}, {"proved", tried.holds()}};
    if (!tried.roots.empty()) {
        json["roots"] = Json::array();
        for (const RankId root : tried.roots) {
            json["roots"].push_back(index(root));
        }
    }
    json["bytes"] = tried.bytes.value;
    json["channels"] = tried.channels;
    json["chunks"] = tried.chunks;
    if (tried.holds()) {
        json["messages"] = tried.messages;
        json["steps"] = tried.steps;
        json["most_sent_bytes"] = tried.most_sent.value;
        json["most_received_bytes"] = tried.most_received.value;
        json["races_checked"] = tried.races_checked;
    }
    if (tried.failed_root) {
        json["failed_root"] = index(*tried.failed_root);
    }
    json["findings"] = Json::array();
    for (const collective::Finding& finding : tried.findings) {
        json["findings"].push_back(finding_json(finding));
    }
    return json;
}

}  // namespace

bool ProofReport::holds() const {
    return std::ranges::all_of(operations, [](const ProvedOperation& tried) { return tried.holds(); });
}

void write_text(std::ostream& out, const ProofReport& report) {
    out << fmt::format("{}, {} {}{}\n\n", report.schedule, report.ranks, report.ranks == 1 ? "rank" : "ranks",
                       report.topology ? fmt::format(" of {}", *report.topology) : "");
    Table table({{"operation", "", Align::left},
                 {"root"},
                 {"size"},
                 {"channels"},
                 {"chunks"},
                 {"messages"},
                 {"steps"},
                 {"sent"},
                 {"received"},
                 {"", "", Align::left}});
    for (const ProvedOperation& tried : report.operations) {
        const auto figure = [&](const std::string& text) { return tried.holds() ? text : "-"; };
        table.add({std::string(collective::name_of(tried.operation)), root_text(tried, report.ranks),
                   to_text(tried.bytes), fmt::format("{}", tried.channels), fmt::format("{}", tried.chunks),
                   figure(fmt::format("{}", tried.messages)), figure(fmt::format("{}", tried.steps)),
                   figure(to_text(tried.most_sent)), figure(to_text(tried.most_received)),
                   tried.holds() ? "proved" : "NOT PROVED"});
    }
    out << table.text("", page_width);
    for (const ProvedOperation& tried : report.operations) {
        if (!tried.holds()) {
            write_findings(out, tried);
        }
    }
    if (report.holds()) {
        out << "\n# proved: every rank ends with exactly what the operation promises, every message is taken, nobody "
               "waits for ever\n"
               "# steps: messages one after the other; sent, received: by the rank with most\n";
    } else {
        out << "\n# ranks, steps of a rank's program and chunks count from 0\n";
        constexpr std::size_t most_findings = 10;  // that a proof keeps
        if (std::ranges::any_of(report.operations,
                                [](const ProvedOperation& tried) { return tried.findings.size() >= most_findings; })) {
            out << "# the first ten are shown; there may be more\n";
        }
    }
    for (const ProvedOperation& tried : report.operations) {
        if (tried.holds() && !tried.races_checked) {
            out << fmt::format("# {}: too many threads to look for races; two orders of turns end well\n",
                               collective::name_of(tried.operation));
        }
    }
    for (const std::string& note : report.notes) {
        out << "# " << note << '\n';
    }
}

void write_json(std::ostream& out, const ProofReport& report) {
    JsonStream json(out);
    json.field("schema", "lockstep.verify/1");
    json.field("schedule", report.schedule);
    json.field("topology", report.topology ? Json(*report.topology) : Json(nullptr));
    json.field("ranks", report.ranks);
    json.field("proved", report.holds());
    json.array("operations", report.operations, operation_json);
    json.field("notes", report.notes);
    json.finish();
}

}  // namespace lockstep::report
