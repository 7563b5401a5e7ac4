#include "sim/report/listing.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/json_stream.h"
#include "sim/report/table.h"

namespace lockstep::report {

namespace {

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

Json parameter_json(const Parameter& parameter) {
    Json json{{"name", parameter.name},
              {"default", parameter.default_text},
              {"help", parameter.help},
              {"min", or_null(parameter.least)},
              {"max", or_null(parameter.most)}};
    if (!parameter.choices.empty()) {
        json["choices"] = parameter.choices;
    }
    return json;
}

Json entry_json(const ListEntry& entry) {
    Json json{{"name", entry.name}, {"summary", entry.summary}};
    for (const auto& [name, value] : entry.facts) {
        json[name] = value;
    }
    if (entry.operations) {
        json["operations"] = *entry.operations;
    }
    if (entry.parameters) {
        Json parameters = Json::array();
        for (const Parameter& parameter : *entry.parameters) {
            parameters.push_back(parameter_json(parameter));
        }
        json["parameters"] = std::move(parameters);
    }
    return json;
}

/// " (1 to 16)", " (at least 1)", " (ring, tree)"
std::string range_text(const Parameter& parameter) {
    if (!parameter.choices.empty()) {
        return fmt::format(" ({})", fmt::join(parameter.choices, ", "));
    }
    if (parameter.least && parameter.most) {
        return fmt::format(" ({} to {})", *parameter.least, *parameter.most);
    }
    if (parameter.least) {
        return fmt::format(" (at least {})", *parameter.least);
    }
    return parameter.most ? fmt::format(" (at most {})", *parameter.most) : std::string();
}

std::string padded(std::string_view text, std::size_t width) {
    const std::size_t used = display_width(text);
    return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string assignment(const Parameter& parameter) {
    return fmt::format("{}={}", parameter.name, parameter.default_text);
}

void write_details(std::ostream& out, const ListEntry& entry, std::size_t assignment_width) {
    if (entry.operations) {
        out << fmt::format("    {}\n", fmt::join(*entry.operations, ", "));
    }
    if (entry.parameters) {
        for (const Parameter& parameter : *entry.parameters) {
            out << "    " << padded(assignment(parameter), assignment_width) << "  " << parameter.help
                << range_text(parameter) << '\n';
        }
    }
}

}  // namespace

void write_text(std::ostream& out, const std::vector<ListEntry>& entries) {
    std::size_t name_width = 0;
    std::size_t assignment_width = 0;
    for (const ListEntry& entry : entries) {
        name_width = std::max(name_width, display_width(entry.name));
        if (entry.parameters) {
            for (const Parameter& parameter : *entry.parameters) {
                assignment_width = std::max(assignment_width, display_width(assignment(parameter)));
            }
        }
    }
    for (const ListEntry& entry : entries) {
        out << padded(entry.name, name_width) << "  " << entry.summary << '\n';
        write_details(out, entry, assignment_width);
    }
}

void write_json(std::ostream& out, const std::vector<ListEntry>& entries) {
    out << '[';
    bool first = true;
    for (const ListEntry& entry : entries) {
        out << (first ? "\n  " : ",\n  ") << JsonStream::text(entry_json(entry));
        first = false;
    }
    out << (first ? "]\n" : "\n]\n");
}

}  // namespace lockstep::report
