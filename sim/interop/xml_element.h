#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pugixml.hpp>

#include "sim/base/diagnostics.h"

namespace lockstep::interop {

/// A parsed XML file and its text, for positions.
class XmlFile {
  public:
    /// Throws: InputError with the position for what is no well-formed XML or has not exactly one element at the top.
    XmlFile(std::string_view text, std::string name);

    pugi::xml_node root() const { return root_; }
    std::string_view text() const { return text_; }
    const std::string& name() const { return name_; }
    /// Where a byte of the text stands; columns count characters. Logarithmic, and linear in the line.
    SourcePosition position(std::size_t offset) const;

  private:
    std::string text_;
    std::string name_;
    std::vector<std::size_t> line_begins_;
    pugi::xml_document document_;
    pugi::xml_node root_;
};

/// An element all of whose attributes must be asked for. The file must outlive it.
class XmlElement {
  public:
    /// Throws: InputError if it is not called `expected`, or names an attribute twice.
    XmlElement(const XmlFile& file, pugi::xml_node node, std::string_view expected);

    /// Throws: InputError where it is missing.
    std::string text(std::string_view attribute);
    std::optional<std::string> find(std::string_view attribute);
    /// A whole number in [least, most], in decimal digits.
    std::int64_t count(std::string_view attribute, std::int64_t least, std::int64_t most);
    std::optional<std::int64_t> find_count(std::string_view attribute, std::int64_t least, std::int64_t most);
    /// One of `allowed`.
    std::string one_of(std::string_view attribute, std::span<const std::string> allowed);
    /// Throws: InputError at the first attribute that nobody asked for.
    void finish() const;
    /// The elements in it, each of which must be called `name`. Throws: InputError at one that is not, and for text.
    std::vector<XmlElement> children(std::string_view name) const;

    SourcePosition position() const;
    [[noreturn]] void fail(std::string_view message) const;
    [[noreturn]] void fail(std::string_view attribute, std::string_view message) const;

  private:
    SourcePosition position_of(std::string_view attribute) const;

    const XmlFile* file_;
    pugi::xml_node node_;
    std::vector<std::string> asked_ = {};
};

}  // namespace lockstep::interop
