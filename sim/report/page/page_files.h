#pragma once

#include <string_view>

/// The sources of the animated page, as they were when the program was built.
namespace lockstep::report::page {

/// With the marks {{title}}, {{style}}, {{data}} and {{script}}, in this order.
extern const std::string_view html;
extern const std::string_view style;
extern const std::string_view script;

}  // namespace lockstep::report::page
