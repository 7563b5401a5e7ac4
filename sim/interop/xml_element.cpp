#include "sim/interop/xml_element.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

namespace lockstep::interop {

namespace {

/// With it text beside the top element is seen: pugixml passes over it otherwise.
constexpr unsigned parse_top_text = pugi::parse_fragment;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Where the attribute's name begins behind `offset`, which lies in the tag's own text.
std::optional<std::size_t> attribute_offset(std::string_view text, std::size_t offset, std::string_view attribute) {
    char quote = '\0';
    for (std::size_t at = offset; at < text.size(); ++at) {
        if (quote != '\0') {
            quote = text[at] == quote ? '\0' : quote;
        } else if (text[at] == '"' || text[at] == '\'') {
            quote = text[at];
        } else if (text[at] == '>') {
            return std::nullopt;
        } else if (is_blank(text[at]) && text.substr(at + 1).starts_with(attribute)) {
            const std::size_t behind = at + 1 + attribute.size();
            if (behind < text.size() && (text[behind] == '=' || is_blank(text[behind]))) {
                return at + 1;
            }
        }
    }
    return std::nullopt;
}

}  // namespace

XmlFile::XmlFile(std::string_view text, std::string name) : text_(text), name_(std::move(name)), line_begins_{0} {
    for (std::size_t at = 0; at < text_.size(); ++at) {
        if (text_[at] == '\n') {
            line_begins_.push_back(at + 1);
        }
    }
    const pugi::xml_parse_result result =
        document_.load_buffer(text_.data(), text_.size(), pugi::parse_default | parse_top_text, pugi::encoding_utf8);
    if (!result) {
        throw InputError(position(static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0))),
                         fmt::format("is no well-formed XML: {}", result.description()));
    }
    for (const pugi::xml_node child : document_.children()) {
        if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
            const std::string_view beside =
                std::string_view(text_).substr(static_cast<std::size_t>(child.offset_debug()));
            const std::string_view words = beside.substr(beside.find_first_not_of(" \t\r\n"));
            throw InputError(position(text_.size() - words.size()),
                             fmt::format("is no well-formed XML: text beside the element at the top, {}",
                                         excerpt(words.substr(0, words.find_first_of("<\r\n")))));
        }
        if (child.type() != pugi::node_element) {
            continue;
        }
        if (root_) {
            throw InputError(
                position(static_cast<std::size_t>(child.offset_debug())),
                fmt::format("expected one element at the top, got a second one, {}", excerpt(child.name())));
        }
        root_ = child;
    }
    if (!root_) {
        throw InputError(position(text_.size()), "is no well-formed XML: there is no element");
    }
}

SourcePosition XmlFile::position(std::size_t offset) const {
    const std::size_t at = std::min(offset, text_.size());
    const auto line = std::upper_bound(line_begins_.begin(), line_begins_.end(), at) - 1;
    int column = 1;
    for (std::size_t i = *line; i < at; ++i) {
        column += (static_cast<unsigned char>(text_[i]) & 0xC0U) != 0x80U ? 1 : 0;
    }
    return {name_, static_cast<int>(line - line_begins_.begin()) + 1, column};
}

XmlElement::XmlElement(const XmlFile& file, pugi::xml_node node, std::string_view expected)
    : file_(&file), node_(node) {
    if (node.name() != expected) {
        fail(fmt::format("expected an element `{}`, got {}", expected, excerpt(node.name())));
    }
    std::set<std::string_view> seen;
    for (const pugi::xml_attribute attribute : node.attributes()) {
        if (!seen.insert(attribute.name()).second) {
            fail(attribute.name(), "is there twice");
        }
    }
}

SourcePosition XmlElement::position() const {
    // pugixml points at the name, people at the bracket before it.
    return file_->position(static_cast<std::size_t>(std::max<std::ptrdiff_t>(node_.offset_debug() - 1, 0)));
}

SourcePosition XmlElement::position_of(std::string_view attribute) const {
    const auto offset = attribute_offset(file_->text(), static_cast<std::size_t>(node_.offset_debug()), attribute);
    return offset ? file_->position(*offset) : position();
}

void XmlElement::fail(std::string_view message) const { throw InputError(position(), message); }

void XmlElement::fail(std::string_view attribute, std::string_view message) const {
    throw InputError(position_of(attribute), fmt::format("{}: {}", attribute, message));
}

std::optional<std::string> XmlElement::find(std::string_view attribute) {
    if (std::ranges::find(asked_, attribute) == asked_.end()) {
        asked_.emplace_back(attribute);
    }
    for (const pugi::xml_attribute each : node_.attributes()) {
        if (each.name() == attribute) {
            return each.value();
        }
    }
    return std::nullopt;
}

std::string XmlElement::text(std::string_view attribute) {
    auto found = find(attribute);
    if (!found) {
        fail(fmt::format("`{}` lacks the attribute `{}`", node_.name(), attribute));
    }
    return *std::move(found);
}

std::optional<std::int64_t> XmlElement::find_count(std::string_view attribute, std::int64_t least, std::int64_t most) {
    const auto text = find(attribute);
    if (!text) {
        return std::nullopt;
    }
    std::int64_t value = 0;
    const auto result = std::from_chars(text->data(), text->data() + text->size(), value);
    const bool is_number = result.ptr == text->data() + text->size() && result.ec != std::errc::invalid_argument;
    if (!is_number) {
        fail(attribute, fmt::format("expected a whole number, got {}", excerpt(*text)));
    }
    if (result.ec != std::errc() || value < least || value > most) {
        fail(attribute,
             most < least ? fmt::format("there is nothing to choose from, got {}", excerpt(*text))
                          : fmt::format("expected a whole number from {} to {}, got {}", least, most, excerpt(*text)));
    }
    return value;
}

std::int64_t XmlElement::count(std::string_view attribute, std::int64_t least, std::int64_t most) {
    const auto value = find_count(attribute, least, most);
    if (!value) {
        text(attribute);  // says that it is missing
    }
    return *value;
}

std::string XmlElement::one_of(std::string_view attribute, std::span<const std::string> allowed) {
    std::string read = text(attribute);
    if (std::ranges::find(allowed, read) == allowed.end()) {
        const auto nearest = nearest_word(read, allowed);
        fail(attribute, fmt::format("expected one of {}, got {}{}", fmt::join(allowed, ", "), excerpt(read),
                                    nearest ? fmt::format(" — did you mean {}?", excerpt(*nearest)) : ""));
    }
    return read;
}

void XmlElement::finish() const {
    for (const pugi::xml_attribute attribute : node_.attributes()) {
        if (std::ranges::find(asked_, attribute.name()) == asked_.end()) {
            throw InputError(position_of(attribute.name()),
                             fmt::format("unknown attribute {} of `{}`{}", excerpt(attribute.name()), node_.name(),
                                         suggestion(attribute.name(), asked_)));
        }
    }
}

std::vector<XmlElement> XmlElement::children(std::string_view name) const {
    std::vector<XmlElement> elements;
    for (const pugi::xml_node child : node_.children()) {
        if (child.type() == pugi::node_element) {
            elements.emplace_back(*file_, child, name);
        } else if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
            const std::string_view text = child.value();
            const std::size_t blanks =
                static_cast<std::size_t>(std::ranges::find_if_not(text, is_blank) - text.begin());
            const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(child.offset_debug(), 0));
            throw InputError(file_->position(offset + blanks),
                             fmt::format("expected elements `{}` in `{}`, got the text {}", name, node_.name(),
                                         excerpt(text.substr(blanks))));
        }
    }
    return elements;
}

}  // namespace lockstep::interop
