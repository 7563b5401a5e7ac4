#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The files shipped with Lockstep (`topologies`, `workloads`, `models`, `schedules`), wherever this copy keeps them:
/// beside the source tree it was built from, or under `share/lockstep` of the prefix it was installed to.
class DataFiles {
  public:
    /// Throws: InputError if `root` lacks one of the folders topologies, models and workloads.
    explicit DataFiles(std::filesystem::path root);
    /// The root that LOCKSTEP_DATA in the environment names; else share/lockstep of the installation that the running
    /// executable belongs to; else the source tree it was built from. Throws: InputError if there is none.
    static DataFiles locate();

    const std::filesystem::path& root() const { return root_; }
    /// The shipped names of a folder ("topologies", "models/devices"), without extension, in natural order.
    /// Throws: InputError if the folder cannot be listed.
    std::vector<std::string> names(std::string_view folder) const;
    /// A path as it is if it names an existing file or looks like a path (contains `/` or ends in .yaml); else the
    /// shipped file of that name. Throws: InputError with the nearest shipped name.
    std::filesystem::path resolve(std::string_view folder, std::string_view name_or_path) const;

  private:
    std::filesystem::path root_;
};

/// Compares text so that runs of digits count as numbers: gpu2 before gpu10.
/// A strict total order.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace lockstep
