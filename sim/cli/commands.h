#pragma once

#include <optional>
#include <string>
#include <vector>

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

struct RunOptions {
    InputOptions input;
    EngineOptions engine;
    OutputOptions output;
};

struct CollectiveOptions {
    InputOptions input;
    EngineOptions engine;
    OutputOptions output;
    std::string operation = "all_reduce";
    std::string algorithm = "auto";
    std::string min_bytes = "8";
    std::string max_bytes = "128M";
    std::optional<std::string> step_bytes;
    std::optional<std::string> step_factor;
    std::string root = "0";
    bool show_placement = false;
};

struct TopologyOptions {
    InputOptions input;
    OutputOptions output;
};

struct ListOptions {
    std::string kind;
    OutputOptions output;
};

/// The commands. Each returns the exit code, and throws what main() turns into a message and an exit code.
int run_command(const RunOptions& options);
int collective_command(const CollectiveOptions& options);
int topology_show_command(const TopologyOptions& options);
int topology_check_command(const TopologyOptions& options);
int list_command(const ListOptions& options);

/// What `lockstep list` can list.
std::vector<std::string> list_kinds();

}  // namespace lockstep::cli
