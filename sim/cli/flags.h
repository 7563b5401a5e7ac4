#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep::cli {

/// What the command line says, as text: commands check it, so that all messages speak alike.

struct InputOptions {
    std::string topology;
    std::string workload;               ///< of run
    std::vector<std::string> settings;  ///< name=value
    std::optional<std::string> ranks;
    std::optional<std::string> placement;  ///< file of GPU names
};

struct EngineOptions {
    std::optional<std::string> engine;
    std::optional<std::string> routing;
    std::string seed = "1";
    bool no_fold = false;
};

/// How machine figures (wall clock, memory), which differ from run to run, are treated.
enum class MachineFigures { reported, left_out };

struct OutputOptions {
    std::optional<std::string> json;
    std::optional<std::string> csv;
    std::optional<std::string> trace;
    bool quiet = false;
    MachineFigures machine_figures = MachineFigures::reported;
};

/// The sizes of a table.
struct SizeOptions {
    std::optional<std::string> min_bytes;  ///< 8 if not given
    std::optional<std::string> max_bytes;  ///< 128M if not given
    std::optional<std::string> step_bytes;
    std::optional<std::string> step_factor;
};

/// What is asked of algorithms that leave a choice.
struct TuningOptions {
    std::optional<std::string> pieces;
    std::optional<std::string> channels;
    std::optional<std::string> dimensions;  ///< numbers with commas between them
};

/// Flags that several commands share. What they say is kept in the options, which must outlive the parsing.
void add_settings(CLI::App& command, InputOptions& input);
/// The topology as the first argument, and --set.
void add_topology(CLI::App& command, InputOptions& input);
void add_ranks(CLI::App& command, InputOptions& input);
void add_placement(CLI::App& command, InputOptions& input);
/// -b, -e, -i and -f.
void add_sizes(CLI::App& command, SizeOptions& sizes);
/// --pieces, --channels and --dims.
void add_tuning(CLI::App& command, TuningOptions& tuning);
void add_engine(CLI::App& command, EngineOptions& engine);
void add_json(CLI::App& command, OutputOptions& output);
/// --json, --csv, --reproducible and --quiet.
void add_results(CLI::App& command, OutputOptions& output);

}  // namespace lockstep::cli
