#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/parameters.h"
#include "sim/base/units.h"

namespace lockstep {

class YamlMap;
struct YamlNode;  // the parsed tree: yaml_tree.h, private to this folder

/// A value of a strict YAML file together with where it stands, so that every accessor can say file:line:column, the
/// key, what was read and what was expected. Scalars may be `$name` (a parameter of the file, of whatever kind is due)
/// or
/// `$(expression)` (arithmetic on parameters that are plain numbers; only where a count or a number is due). Quotes
/// around a scalar change nothing: "$name" is replaced too, and "4" is a count. Every accessor throws InputError when
/// the value is not of the form asked for.
class YamlValue {
  public:
    /// Requires: nothing null. `path` is empty for the whole file.
    YamlValue(std::shared_ptr<const YamlNode> node, std::shared_ptr<const Parameters> parameters, std::string path);

    SourcePosition position() const;
    /// The keys that lead here, for messages: `node.nics[0].bandwidth`.
    const std::string& path() const { return path_; }

    bool is_map() const;
    bool is_list() const;
    bool is_scalar() const;

    YamlMap map() const;
    std::vector<YamlValue> list() const;
    /// The text of a scalar, with `$name` replaced by the parameter's text. Never empty.
    std::string text() const;
    /// The text of a scalar as it is written, `$` and all. Never empty.
    std::string written() const;
    /// A text that must be one of `allowed`.
    std::string one_of(std::span<const std::string> allowed) const;
    bool flag() const;  ///< `true` or `false`, nothing else
    /// A whole number in [least, most], in decimal digits (010 is ten). A result of arithmetic may miss a whole number
    /// by the rounding of its operations (1e-9 of it).
    std::int64_t count(std::int64_t least, std::int64_t most) const;
    double number(double least, double most) const;  ///< a plain number in [least, most]
    Seconds seconds() const;                         ///< at least 0, at most 1e9 s
    Bytes bytes(Bytes least = {}) const;             ///< at least `least`, at most 2^60
    /// 1 to 1e18 B/s: no size divided by it is past the range of a double.
    Bandwidth bandwidth() const;
    Flops flops() const;         ///< at least 0, at most 1e30
    FlopRate flop_rate() const;  ///< 1 to 1e24 FLOP/s

    /// An error at this value: "`path`: message". For facts that only the reader of the file can check.
    [[noreturn]] void fail(std::string_view message) const;

  private:
    struct Text;
    Text resolved() const;
    double evaluated(std::string_view expression) const;
    std::string_view kind_read() const;
    template <class Result, class Parse>
    Result quantity(Parse parse, std::string_view range, Result least, Result most) const;

    std::shared_ptr<const YamlNode> node_;
    std::shared_ptr<const Parameters> parameters_;
    std::string path_;
};

/// A mapping whose keys must all be asked for: finish() refuses those that were not, with the nearest known word.
class YamlMap {
  public:
    YamlMap(YamlValue self, std::shared_ptr<const YamlNode> node, std::shared_ptr<const Parameters> parameters);

    /// Throws: InputError naming the key and the mapping's position when it is missing.
    YamlValue require(std::string_view key);
    std::optional<YamlValue> find(std::string_view key);
    /// For mappings whose keys are the user's own names: every key in file order, with the position of the key. Counts
    /// as having asked for them all.
    std::vector<std::pair<std::string, YamlValue>> entries();
    /// Throws: InputError at the first key that nobody asked for.
    void finish() const;
    /// Where the key itself stands, for messages about a name. Requires: the key is there.
    SourcePosition key_position(std::string_view key) const;

    const YamlValue& self() const { return self_; }

  private:
    YamlValue self_;
    std::shared_ptr<const YamlNode> node_;
    std::shared_ptr<const Parameters> parameters_;
    std::vector<std::string> asked_;
    bool all_asked_ = false;
};

/// A YAML file of ours, parsed and checked for form (duplicate keys, several documents, empty, binary, oversized), with
/// its `parameters:` declared and not yet overridden.
class YamlFile {
  public:
    /// Throws: InputError for a missing or unreadable path, a directory, a file over 64 MiB, text that is not UTF-8 or
    /// not YAML, an empty document, a duplicate key, an alias that contains itself, or bad parameter declarations.
    static YamlFile load(const std::filesystem::path& path);
    /// As load, from memory; `name` stands for the file in messages.
    static YamlFile parse(std::string_view text, std::string name);

    const std::string& name() const { return name_; }
    Parameters& parameters() { return *parameters_; }
    const Parameters& parameters() const { return *parameters_; }
    /// The top-level mapping, its `parameters` key already counted as asked for.
    YamlMap root() const;

  private:
    YamlFile() = default;
    std::string name_;
    std::shared_ptr<const YamlNode> node_;
    std::shared_ptr<Parameters> parameters_;
};

}  // namespace lockstep
