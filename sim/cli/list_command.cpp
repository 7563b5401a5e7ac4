#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/base/data_files.h"
#include "sim/base/diagnostics.h"
#include "sim/base/yaml.h"
#include "sim/cli/arguments.h"
#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/output.h"
#include "sim/collective/algorithm.h"
#include "sim/engine/engines.h"
#include "sim/fabric/catalogue.h"
#include "sim/report/listing.h"

namespace lockstep::cli {

namespace {

constexpr const char* list_examples = R"(Examples:
  lockstep list algorithms
  lockstep list topologies --json -)";

struct ListOptions {
    std::string kind;
    OutputOptions output;
};

using report::ListEntry;

std::vector<ListEntry> algorithm_entries() {
    std::vector<ListEntry> entries;
    for (const collective::Algorithm& algorithm : collective::algorithms()) {
        ListEntry entry{algorithm.name, algorithm.summary};
        entry.operations.emplace();
        for (const collective::Operation operation : algorithm.operations) {
            entry.operations->emplace_back(collective::name_of(operation));
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

/// The shipped files of a folder, with the parameters they declare.
std::vector<ListEntry> file_entries(const std::string& folder) {
    const DataFiles data = DataFiles::locate();
    std::vector<ListEntry> entries;
    for (const std::string& name : data.names(folder)) {
        const YamlFile file = YamlFile::load(data.root() / folder / (name + ".yaml"));
        ListEntry entry{name, file.root().require("summary").text()};
        const auto declared = file.parameters().declared();
        entry.parameters.emplace(declared.begin(), declared.end());
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::vector<ListEntry> device_entries() {
    std::vector<ListEntry> entries;
    const fabric::Catalogue catalogue(DataFiles::locate());
    for (const fabric::DeviceEntry& device : catalogue.entries()) {
        ListEntry entry{device.name, fmt::format("{}: {}", device.kind, device.summary)};
        entry.facts = {{"kind", device.kind}, {"source", device.source}, {"basis", device.basis}};
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::vector<ListEntry> engine_entries() {
    std::vector<ListEntry> entries;
    for (const engine::EngineKind& engine : engine::engines()) {
        entries.push_back({engine.name, engine.summary});
    }
    return entries;
}

std::vector<ListEntry> entries_of(const std::string& kind) {
    if (kind == "algorithms") {
        return algorithm_entries();
    }
    if (kind == "topologies" || kind == "workloads" || kind == "schedules") {
        return file_entries(kind);
    }
    if (kind == "devices") {
        return device_entries();
    }
    if (kind == "networks") {
        return file_entries("models/networks");
    }
    if (kind == "engines") {
        return engine_entries();
    }
    throw InputError(fmt::format("nothing is listed under {}{}", excerpt(kind), suggestion(kind, list_kinds())));
}

int list(const ListOptions& options) {
    check_targets(options.output);
    const std::vector<ListEntry> entries = entries_of(options.kind);
    std::vector<Output> outputs;
    if (options.output.json) {
        outputs.push_back({*options.output.json, [&](std::ostream& out) { report::write_json(out, entries); }});
    }
    if (!takes_standard_output(options.output)) {
        outputs.push_back({"-", [&](std::ostream& out) { report::write_text(out, entries); }});
    }
    write_outputs(outputs);
    return 0;
}

}  // namespace

std::vector<std::string> list_kinds() {
    return {"algorithms", "schedules", "topologies", "workloads", "devices", "networks", "engines"};
}

void add_list(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<ListOptions>();
    CLI::App& command = *app.add_subcommand("list", "What is shipped or built in");
    command.add_option("KIND", options->kind, fmt::format("{}", fmt::join(list_kinds(), ", ")))
        ->type_name("")
        ->required();
    add_json(command, options->output);
    command.footer(list_examples);
    commands.push_back({&command, [options] { return list(*options); }});
}

}  // namespace lockstep::cli
