#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/base/text_file.h"
#include "sim/base/yaml.h"
#include "sim/base/yaml_tree.h"

namespace lockstep {

namespace {

/// Reads `name: {default, min, max, choices, help}`.
Parameter read_parameter(const std::string& name, const SourcePosition& position, const YamlValue& value) {
    YamlMap map = value.map();
    Parameter parameter;
    parameter.name = name;
    parameter.position = position;
    parameter.default_text = map.require("default").written();
    parameter.kind = kind_of(parameter.default_text);
    if (const auto least = map.find("min")) {
        parameter.least = least->text();
    }
    if (const auto most = map.find("max")) {
        parameter.most = most->text();
    }
    if (const auto choices = map.find("choices")) {
        for (const YamlValue& choice : choices->list()) {
            parameter.choices.push_back(choice.text());
        }
        if (parameter.choices.empty()) {
            choices->fail("expected at least one choice");
        }
    }
    parameter.help = map.require("help").text();
    map.finish();
    return parameter;
}

}  // namespace

YamlFile YamlFile::load(const std::filesystem::path& path) { return parse(read_text_file(path), path.string()); }

YamlFile YamlFile::parse(std::string_view text, std::string name) {
    require_text(text, name);
    const auto document = parse_yaml_document(text, name);
    YamlFile file;
    file.name_ = std::move(name);
    file.node_ = {document, document->root};
    file.parameters_ = std::make_shared<Parameters>();
    YamlMap root = YamlValue(file.node_, file.parameters_, "").map();
    if (const auto declarations = root.find("parameters")) {
        const auto values = declarations->map().entries();
        // Positions by place, since looking each key up among the others is quadratic.
        const auto& top = std::get<YamlEntries>(document->root->content);
        const auto& entries =
            std::get<YamlEntries>(std::ranges::find(top, "parameters", &YamlEntry::key)->value->content);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const SourcePosition position = document->position(entries[i].line, entries[i].column);
            file.parameters_->declare(read_parameter(values[i].first, position, values[i].second));
        }
    }
    return file;
}

YamlMap YamlFile::root() const {
    YamlMap root = YamlValue(node_, parameters_, "").map();
    root.find("parameters");
    return root;
}

}  // namespace lockstep
