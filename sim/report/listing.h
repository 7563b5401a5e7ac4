#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/parameters.h"

namespace lockstep::report {

/// One of the things that `lockstep list` prints.
struct ListEntry {
    std::string name;
    std::string summary;                                          ///< one line
    std::vector<std::pair<std::string, std::string>> facts = {};  ///< further fields, by name
    std::optional<std::vector<std::string>> operations = {};      ///< of algorithms: what they do
    std::optional<std::vector<Parameter>> parameters = {};        ///< of files: what --set may change
};

/// A line for each entry, with its operations or parameters below it.
void write_text(std::ostream& out, const std::vector<ListEntry>& entries);

/// An array of objects, as docs/json.md describes it.
void write_json(std::ostream& out, const std::vector<ListEntry>& entries);

}  // namespace lockstep::report
