#pragma once

#include <ostream>
#include <string_view>

#include <nlohmann/json.hpp>

namespace lockstep::report {

using Json = nlohmann::ordered_json;

/// One JSON object written field by field and long arrays element by element, a line each, so that a result of any size
/// passes through without standing in memory a second time. Numbers take the shortest form that reads back the same.
class JsonStream {
  public:
    explicit JsonStream(std::ostream& out) : out_(out) { out_ << '{'; }

    void field(std::string_view key, const Json& value) {
        begin(key);
        out_ << text(value);
    }

    /// to_json: an element of `range` -> Json.
    template <class Range, class ToJson>
    void array(std::string_view key, const Range& range, ToJson to_json) {
        begin(key);
        out_ << '[';
        bool first = true;
        for (const auto& element : range) {
            out_ << (first ? "\n    " : ",\n    ") << text(to_json(element));
            first = false;
        }
        out_ << (first ? "]" : "\n  ]");
    }

    void finish() { out_ << "\n}\n"; }

    /// On one line. Bytes that are not UTF-8 (from the command line) become U+FFFD.
    static std::string text(const Json& value);

  private:
    void begin(std::string_view key);

    std::ostream& out_;
    bool first_ = true;
};

}  // namespace lockstep::report
