#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "sim/base/data_files.h"
#include "sim/base/diagnostics.h"
#include "sim/fabric/catalogue.h"

namespace lockstep::fabric {

/// Data files with one catalogue file, in a folder of their own.
class ScratchData {
  public:
    explicit ScratchData(std::string_view devices) {
        std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        root_ = pattern;
        for (const auto* const folder : {"topologies", "workloads", "models/devices"}) {
            std::filesystem::create_directories(root_ / folder);
        }
        std::ofstream(root_ / "models" / "devices" / "d.yaml") << devices;
    }
    ~ScratchData() { std::filesystem::remove_all(root_); }
    ScratchData(const ScratchData&) = delete;
    ScratchData& operator=(const ScratchData&) = delete;

    /// The message with which the catalogue fails, from the file's name on; empty if it does not.
    std::string catalogue_error() const {
        try {
            const Catalogue catalogue{DataFiles(root_)};
        } catch (const InputError& error) {
            const std::string text = error.what();
            return text.substr(text.find("d.yaml"));
        }
        return {};
    }

  private:
    std::filesystem::path root_;
};

}  // namespace lockstep::fabric
