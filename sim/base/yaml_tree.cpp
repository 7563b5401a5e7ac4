#include "sim/base/yaml_tree.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace lockstep {

namespace {

/// Readers walk the tree by recursion; no file of ours comes near.
constexpr int deepest = 100;
/// Aliases of aliases multiply: nine lines can stand for a billion values.
constexpr std::uint64_t most_values = 20'000'000;

/// Where a line and column, both from 0 and the column in bytes, stand in `text`; at most its end.
std::size_t offset_of(std::string_view text, int line, int column) {
    std::size_t begin = 0;
    for (int passed = 0; passed < line && begin < text.size(); ++passed) {
        begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
    }
    return std::min(begin + static_cast<std::size_t>(column), text.size());
}

/// Whether the quoted scalar that `text` begins with (an anchor may come first) ends; true if it begins with none.
bool quote_is_closed(std::string_view text) {
    if (text.starts_with('&')) {
        const std::size_t blank = std::min(text.find_first_of(" \t\r\n"), text.size());
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n", blank), text.size()));
    }
    if (text.empty() || (text.front() != '"' && text.front() != '\'')) {
        return true;
    }
    const char quote = text.front();
    for (std::size_t at = 1; at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\') {
            ++at;  // \" is a character of the text
        } else if (text[at] == quote) {
            if (quote == '"' || at + 1 == text.size() || text[at + 1] != quote) {
                return true;
            }
            ++at;  // '' is a character of the text
        }
    }
    return false;
}

/// Builds the tree from the events of yaml-cpp's parser, whose own tree loses duplicate keys and reads 010 as 8.
class TreeBuilder final : public YAML::EventHandler {
  public:
    explicit TreeBuilder(YamlDocument& document) : document_(document) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (documents_++ > 0) {
            fail(mark, "a second YAML document begins here; expected one document per file");
        }
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (awaits_key()) {
            fail(mark, "expected a key, got nothing");
        }
        close(open(mark, anchor, YamlNothing{}));
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (awaits_key()) {
            fail(mark, "expected a plain text as key, got an alias");
        }
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end()) {  // yaml-cpp itself refuses an alias whose anchor does not come before it
            fail(mark, "the alias stands inside of its own anchor, which would make the value endless");
        }
        attach(mark, found->second);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override {
        refuse_tag(mark, tag);
        last_quoted_ = tag == "!" ? std::optional(mark) : std::nullopt;
        if (awaits_key()) {
            if (anchor != YAML::NullAnchor) {
                fail(mark, "expected a plain text as key, got an anchor");
            }
            if (text.empty()) {
                fail(mark, "expected a key, got an empty text");
            }
            if (text == "<<") {
                fail(mark, "the merge key `<<` is not supported; expected a key");
            }
            stack_.back().key = YamlEntry{text, mark.line + 1, mark.column + 1, nullptr};
            return;
        }
        close(open(mark, anchor, text));
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        start(mark, tag, anchor, YamlItems{});
    }
    void OnSequenceEnd() override { end(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        start(mark, tag, anchor, YamlEntries{});
    }
    void OnMapEnd() override {
        refuse_duplicates(std::get<YamlEntries>(stack_.back().node->content));
        end();
    }

    bool empty() const { return documents_ == 0; }

    /// yaml-cpp 0.7 takes a quote that is open at the end of the file for closed if the file ends with a line feed.
    /// Throws: InputError. Requires: `text` is what was parsed, to its end.
    void require_closed_quote(std::string_view text) const {
        if (last_quoted_ && !quote_is_closed(text.substr(offset_of(text, last_quoted_->line, last_quoted_->column)))) {
            fail(*last_quoted_, "not YAML: the quote that begins here is never closed");
        }
    }

  private:
    /// A finished value, with what it amounts to when aliases are followed.
    struct Value {
        const YamlNode* node;
        std::uint64_t values;
        int height;
    };
    /// A value that is being read.
    struct Open {
        YamlNode* node;
        YAML::anchor_t anchor;
        YAML::Mark mark;
        std::uint64_t values = 1;
        int height = 1;
        std::optional<YamlEntry> key;
    };

    [[noreturn]] void fail(const YAML::Mark& mark, std::string_view message) const {
        throw InputError(document_.position(mark.line + 1, mark.column + 1), message);
    }

    bool awaits_key() const {
        return !stack_.empty() && std::holds_alternative<YamlEntries>(stack_.back().node->content) &&
               !stack_.back().key;
    }

    void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
        if (tag != "?" && tag != "!" && !tag.empty()) {  // `?` and `!` stand for plain and quoted scalars without a tag
            fail(mark, fmt::format("tags are not supported, got {}", excerpt(tag)));
        }
    }

    void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
               std::variant<YamlNothing, YamlScalar, YamlItems, YamlEntries> content) {
        refuse_tag(mark, tag);
        if (awaits_key()) {
            fail(mark, "expected a plain text as key, got a list or a mapping");
        }
        if (stack_.size() >= static_cast<std::size_t>(deepest)) {
            fail(mark, fmt::format("nested deeper than {} levels", deepest));
        }
        stack_.push_back(open(mark, anchor, std::move(content)));
    }

    void end() {
        const Open finished = std::move(stack_.back());
        stack_.pop_back();
        close(finished);
    }

    Open open(const YAML::Mark& mark, YAML::anchor_t anchor,
              std::variant<YamlNothing, YamlScalar, YamlItems, YamlEntries> content) {
        document_.nodes.push_back({&document_, mark.line + 1, mark.column + 1, std::move(content)});
        return {&document_.nodes.back(), anchor, mark, 1, 1, std::nullopt};
    }

    void close(const Open& finished) {
        const Value value{finished.node, finished.values, finished.height};
        if (finished.anchor != YAML::NullAnchor) {
            anchors_.emplace(finished.anchor, value);
        }
        attach(finished.mark, value);
    }

    void attach(const YAML::Mark& mark, const Value& value) {
        if (stack_.empty()) {
            document_.root = value.node;
            return;
        }
        Open& parent = stack_.back();
        parent.values += value.values;
        parent.height = std::max(parent.height, value.height + 1);
        if (parent.values > most_values) {
            fail(mark, fmt::format("more than {} million values once aliases are followed", most_values / 1'000'000));
        }
        if (stack_.size() + static_cast<std::size_t>(value.height) > static_cast<std::size_t>(deepest) + 1) {
            fail(mark, fmt::format("nested deeper than {} levels once aliases are followed", deepest));
        }
        if (auto* const items = std::get_if<YamlItems>(&parent.node->content)) {
            items->push_back(value.node);
        } else {
            parent.key->value = value.node;
            std::get<YamlEntries>(parent.node->content).push_back(std::move(*parent.key));
            parent.key.reset();
        }
    }

    void refuse_duplicates(const YamlEntries& entries) const {
        std::vector<const YamlEntry*> sorted;
        sorted.reserve(entries.size());
        for (const YamlEntry& entry : entries) {
            sorted.push_back(&entry);
        }
        std::ranges::stable_sort(sorted, {}, [](const YamlEntry* entry) -> const std::string& { return entry->key; });
        const YamlEntry* first = nullptr;
        const YamlEntry* second = nullptr;
        for (std::size_t i = 1; i < sorted.size(); ++i) {
            const bool earlier = second == nullptr || std::pair(sorted[i]->line, sorted[i]->column) <
                                                          std::pair(second->line, second->column);
            if (sorted[i - 1]->key == sorted[i]->key && earlier) {
                first = sorted[i - 1];
                second = sorted[i];
            }
        }
        if (second != nullptr) {
            throw InputError(
                document_.position(second->line, second->column),
                fmt::format("duplicate key {}, which is in line {} already", excerpt(second->key), first->line));
        }
    }

    YamlDocument& document_;
    std::vector<Open> stack_;
    std::map<YAML::anchor_t, Value> anchors_;
    std::optional<YAML::Mark> last_quoted_;  ///< where the last scalar begins if it is quoted
    int documents_ = 0;
};

}  // namespace

SourcePosition YamlDocument::position(int line, int byte_column) const {
    const std::size_t begin = offset_of(text, line - 1, 0);
    const std::string_view before =
        std::string_view(text).substr(begin, offset_of(text, line - 1, byte_column - 1) - begin);
    const auto continuations =
        std::ranges::count_if(before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; });
    return {name, line, byte_column - static_cast<int>(continuations)};
}

std::shared_ptr<const YamlDocument> parse_yaml_document(std::string_view text, std::string name) {
    const auto document = std::make_shared<YamlDocument>();
    document->name = std::move(name);
    text = text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
    if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
        document->text = text;
    }
    try {
        std::istringstream in{std::string(text)};
        YAML::Parser parser(in);
        TreeBuilder builder(*document);
        while (parser.HandleNextDocument(builder)) {
        }
        builder.require_closed_quote(text);
        if (builder.empty() || document->root == nullptr ||
            std::holds_alternative<YamlNothing>(document->root->content)) {
            throw InputError({document->name, 0, 0},
                             text.empty() ? "the file is empty" : "the file holds nothing but comments");
        }
    } catch (const YAML::Exception& error) {
        const SourcePosition position = error.mark.is_null()
                                            ? SourcePosition{document->name, 0, 0}
                                            : document->position(error.mark.line + 1, error.mark.column + 1);
        throw InputError(position, fmt::format("not YAML: {}", shown(error.msg, 300)));
    }
    return document;
}

}  // namespace lockstep
