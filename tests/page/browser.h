#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

namespace lockstep::page::testing {

using Json = nlohmann::json;

/// How wide and high a page is shown, in CSS pixels.
struct Viewport {
    int width = 1280;
    int height = 900;
    bool mobile = false;
};

/// A headless Chromium with one page, driven over the pipe of its DevTools protocol. Every function throws
/// std::runtime_error when the browser does not answer within half a minute.
class Browser {
  public:
    Browser();
    ~Browser();
    Browser(const Browser&) = delete;
    Browser& operator=(const Browser&) = delete;

    void show_as(const Viewport& viewport);
    /// name, value: `prefers-reduced-motion`, `reduce`.
    void prefer(std::string_view feature, std::string_view value);
    /// Opens a file and waits until it has loaded. fragment: with its #.
    void open(const std::filesystem::path& file, std::string_view fragment = "");
    /// The value of an expression of JavaScript; promises are waited for. Throws: std::runtime_error where it throws.
    Json value_of(std::string_view expression);
    /// Looks again and again until the expression is true. Throws: std::runtime_error if that takes too long.
    void wait_until(std::string_view expression);
    /// Presses and releases a key, by its name in KeyboardEvent.key.
    void press(std::string_view key);
    /// Taps the middle of what a CSS selector finds first.
    void tap(std::string_view selector);
    /// What went wrong in the page since it was opened: exceptions, errors on the console, violated policies.
    const std::vector<std::string>& complaints() const { return complaints_; }
    /// What the page asked for since it was opened, but for itself and data in it.
    const std::vector<std::string>& requests() const { return requests_; }

  private:
    Json call(std::string_view method, Json parameters = Json::object());
    Json call_browser(std::string_view method, Json parameters = Json::object());
    Json answer_to(int id);
    void send(const Json& message);
    Json next_message();
    void take_event(const Json& event);
    void await_load();

    pid_t process_ = -1;
    int to_browser_ = -1;
    int from_browser_ = -1;
    int last_id_ = 0;
    std::string received_;
    std::string session_;
    std::string page_url_;
    bool loaded_ = false;
    std::filesystem::path profile_;
    std::vector<std::string> complaints_;
    std::vector<std::string> requests_;
};

}  // namespace lockstep::page::testing
