#include "sim/report/explain_page.h"

#include <sstream>
#include <string>
#include <string_view>

#include "sim/report/explain_json.h"
#include "sim/report/explain_words.h"
#include "sim/report/page/page_files.h"

namespace lockstep::report {

namespace {

/// Text as it stands between tags.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        switch (letter) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            default:
                result += letter;
        }
    }
    return result;
}

/// JSON that cannot end the element it stands in (`</script>`, `<!--`): inside strings, where alone JSON has a `<`, it
/// may be written as an escape.
std::string without_tags(std::string_view json) {
    std::string result;
    result.reserve(json.size());
    for (const char letter : json) {
        if (letter == '<') {
            result += "\\u003c";
        } else {
            result += letter;
        }
    }
    return result;
}

}  // namespace

void write_page(std::ostream& out, const Explanation& explanation) {
    std::ostringstream data;
    write_json(data, explanation);
    std::string_view rest = page::html;
    const auto fill = [&](std::string_view mark, std::string_view text) {
        const std::size_t at = rest.find(mark);
        out << rest.substr(0, at) << text;
        rest.remove_prefix(at + mark.size());
    };
    fill("{{title}}", escaped(title(explanation) + ", " + std::to_string(explanation.schedule.ranks) + " ranks"));
    fill("{{style}}", page::style);
    fill("{{data}}", without_tags(data.str()));
    fill("{{script}}", page::script);
    out << rest;
}

}  // namespace lockstep::report
