#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/diagnostics.h"

namespace lockstep {

struct YamlDocument;
struct YamlNode;

/// A key of a mapping and what it leads to.
struct YamlEntry {
    std::string key;
    int line = 0;
    int column = 0;
    const YamlNode* value = nullptr;
};

struct YamlNothing {};  ///< a key without a value, `~` or `null`
using YamlScalar = std::string;
using YamlItems = std::vector<const YamlNode*>;
using YamlEntries = std::vector<YamlEntry>;

/// A value of a parsed file: never changes once its document is parsed. An alias leads to the node of its anchor.
struct YamlNode {
    const YamlDocument* document = nullptr;
    int line = 0;    ///< from 1
    int column = 0;  ///< from 1, in bytes
    std::variant<YamlNothing, YamlScalar, YamlItems, YamlEntries> content;
};

/// Owns the nodes of one parsed file.
struct YamlDocument {
    std::string name;
    std::deque<YamlNode> nodes;
    const YamlNode* root = nullptr;
    std::string text;  ///< kept only if columns in bytes and in characters differ somewhere

    /// The column counts characters, as an editor does. O(the text) where the text is kept.
    SourcePosition position(int line, int byte_column) const;
    SourcePosition position(const YamlNode& node) const { return position(node.line, node.column); }
};

/// Parses one YAML document and checks its form. Memory: about 100 bytes and the text per value.
/// Throws: InputError for what is no YAML, an empty or a second document, a tag, a key that is no plain text or is
/// there twice, a value nested deeper than 100, an alias inside of its own anchor, or more than 20 million values once
/// aliases are followed.
std::shared_ptr<const YamlDocument> parse_yaml_document(std::string_view text, std::string name);

}  // namespace lockstep
