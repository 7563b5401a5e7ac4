#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/base/diagnostics.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/targets.h"
#include "sim/collective/write_schedule.h"
#include "sim/interop/msccl.h"

namespace lockstep::cli {

namespace {

constexpr const char* import_examples = R"(Examples:
  lockstep import msccl allreduce.xml -o allreduce.yaml
  lockstep import msccl allreduce.xml

What comes out is a schedule in Lockstep's own format, for verify, explain, collective and workloads. Those take the XML
as it is, too: import it to read it or to change it.)";

struct ImportOptions {
    std::string kind;
    std::string file;
    std::string target = "-";
};

std::vector<std::string> import_kinds() { return {"msccl"}; }

int import(const ImportOptions& options) {
    if (options.kind != "msccl") {
        throw InputError(fmt::format("nothing is imported as {}{}", excerpt(options.kind),
                                     suggestion(options.kind, import_kinds())));
    }
    const std::vector<std::string> targets{options.target};
    const std::vector<InputPath> inputs{{"schedule", options.file}};
    check_targets(targets);
    refuse_inputs_as_targets(targets, inputs);
    const collective::Schedule schedule = interop::read_msccl(options.file);
    const std::string summary = fmt::format("{}, imported from {} (MSCCL)", collective::name_of(schedule.operation),
                                            std::filesystem::path(options.file).filename().string());
    const std::vector<Output> outputs{
        {options.target, [&](std::ostream& out) { collective::write_schedule(out, schedule, summary); }}};
    write_outputs(outputs);
    return done;
}

}  // namespace

void add_import(CLI::App& app, Commands& commands) {
    const auto options = std::make_shared<ImportOptions>();
    CLI::App& command = *app.add_subcommand("import", "Another tool's file as one of Lockstep's");
    command.add_option("KIND", options->kind, "What the file is: msccl (a schedule in MSCCL's XML)")
        ->type_name("")
        ->required();
    command.add_option("FILE", options->file, "What to import, behind its kind: `lockstep import msccl FILE`")
        ->type_name("")
        ->required();
    command.add_option("-o,--output", options->target, "Where the result goes (default: standard output)")
        ->type_name("FILE")
        ->group("Results");
    command.footer(import_examples);
    commands.push_back({&command, [options] { return import(*options); }});
}

}  // namespace lockstep::cli
