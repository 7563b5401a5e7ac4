#include "tests/page/browser.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockstep::page::testing {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{30};

struct Pipe {
    int read_end = -1;
    int write_end = -1;
};

Pipe make_pipe() {
    std::array<int, 2> ends{};
    // Above the numbers that the browser wants.
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("cannot make a pipe");
    }
    constexpr int least = 10;
    const Pipe pipe{::fcntl(ends[0], F_DUPFD_CLOEXEC, least), ::fcntl(ends[1], F_DUPFD_CLOEXEC, least)};
    ::close(ends[0]);
    ::close(ends[1]);
    return pipe;
}

std::filesystem::path make_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep-browser-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("cannot make a folder for the browser");
    }
    return name;
}

[[noreturn]] void become_browser(const Pipe& commands, const Pipe& answers, const std::string& profile) {
    ::setpgid(0, 0);  // so that all its processes can be ended together
    constexpr int reads = 3;
    constexpr int writes = 4;
    ::dup2(commands.read_end, reads);
    ::dup2(answers.write_end, writes);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    const std::string profile_flag = "--user-data-dir=" + profile;
    ::execl(LOCKSTEP_CHROMIUM, LOCKSTEP_CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--remote-debugging-pipe",
            profile_flag.c_str(), "about:blank", static_cast<char*>(nullptr));
    ::_exit(127);
}

}  // namespace

Browser::Browser() : profile_(make_folder()) {
    ::signal(SIGPIPE, SIG_IGN);  // a browser that is gone shows as an answer that does not come
    const Pipe commands = make_pipe();
    const Pipe answers = make_pipe();
    process_ = ::fork();
    if (process_ == 0) {
        become_browser(commands, answers, profile_.string());
    }
    ::close(commands.read_end);
    ::close(answers.write_end);
    to_browser_ = commands.write_end;
    from_browser_ = answers.read_end;
    const std::string target = call_browser("Target.createTarget", {{"url", "about:blank"}}).at("targetId");
    session_ = call_browser("Target.attachToTarget", {{"targetId", target}, {"flatten", true}}).at("sessionId");
    for (const char* const domain : {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"}) {
        call(domain);
    }
    show_as({});
}

Browser::~Browser() {
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(to_browser_);
    ::close(from_browser_);
    std::error_code ignored;
    std::filesystem::remove_all(profile_, ignored);
}

void Browser::send(const Json& message) {
    const std::string text = message.dump();
    std::string_view rest(text.c_str(), text.size() + 1);  // a zero ends it
    while (!rest.empty()) {
        const ssize_t written = ::write(to_browser_, rest.data(), rest.size());
        if (written < 0 && errno != EINTR) {
            throw std::runtime_error("the browser takes no commands: is " LOCKSTEP_CHROMIUM " there?");
        }
        rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
}

Json Browser::next_message() {
    const Clock::time_point end = Clock::now() + patience;
    while (true) {
        if (const std::size_t zero = received_.find('\0'); zero != std::string::npos) {
            Json message = Json::parse(received_.substr(0, zero));
            received_.erase(0, zero + 1);
            return message;
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd ready{from_browser_, POLLIN, 0};
        if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) {
            throw std::runtime_error("the browser does not answer");
        }
        std::array<char, 1U << 16U> part{};
        const ssize_t count = ::read(from_browser_, part.data(), part.size());
        if (count == 0) {
            throw std::runtime_error("the browser has ended: is " LOCKSTEP_CHROMIUM " there?");
        }
        if (count > 0) {
            received_.append(part.data(), static_cast<std::size_t>(count));
        }
    }
}

Json Browser::answer_to(int id) {
    while (true) {
        Json message = next_message();
        if (message.value("id", 0) == id) {
            if (message.contains("error")) {
                throw std::runtime_error(fmt::format("the browser refuses: {}", message["error"].dump()));
            }
            return message["result"];
        }
        take_event(message);
    }
}

Json Browser::call(std::string_view method, Json parameters) {
    send({{"id", ++last_id_}, {"method", method}, {"params", std::move(parameters)}, {"sessionId", session_}});
    return answer_to(last_id_);
}

Json Browser::call_browser(std::string_view method, Json parameters) {
    send({{"id", ++last_id_}, {"method", method}, {"params", std::move(parameters)}});
    return answer_to(last_id_);
}

void Browser::take_event(const Json& event) {
    const std::string method = event.value("method", "");
    const Json& parameters = event.contains("params") ? event["params"] : Json::object();
    if (method == "Page.loadEventFired") {
        loaded_ = true;
    } else if (method == "Runtime.exceptionThrown") {
        complaints_.push_back(parameters["exceptionDetails"].dump());
    } else if (method == "Runtime.consoleAPICalled" && parameters["type"] == "error") {
        complaints_.push_back(parameters["args"].dump());
    } else if (method == "Log.entryAdded" && parameters["entry"]["level"] == "error") {
        complaints_.push_back(parameters["entry"].dump());
    } else if (method == "Network.requestWillBeSent") {
        const std::string url = parameters["request"]["url"];
        if (!url.starts_with("data:") && url != page_url_) {
            requests_.push_back(url);
        }
    }
}

void Browser::show_as(const Viewport& viewport) {
    call("Emulation.setDeviceMetricsOverride", {{"width", viewport.width},
                                                {"height", viewport.height},
                                                {"deviceScaleFactor", 1},
                                                {"mobile", viewport.mobile}});
}

void Browser::prefer(std::string_view feature, std::string_view value) {
    call("Emulation.setEmulatedMedia", {{"features", Json::array({Json{{"name", feature}, {"value", value}}})}});
}

void Browser::open(const std::filesystem::path& file, std::string_view fragment) {
    // Away first: another fragment of the same page would not load it again.
    loaded_ = false;
    call("Page.navigate", {{"url", "about:blank"}});
    await_load();
    page_url_ = "file://" + std::filesystem::absolute(file).string();
    complaints_.clear();
    requests_.clear();
    loaded_ = false;
    const Json answer = call("Page.navigate", {{"url", page_url_ + std::string(fragment)}});
    if (answer.contains("errorText")) {
        throw std::runtime_error(fmt::format("cannot open {}: {}", page_url_, answer["errorText"].dump()));
    }
    await_load();
}

void Browser::await_load() {
    while (!loaded_) {
        take_event(next_message());
    }
}

Json Browser::value_of(std::string_view expression) {
    const Json answer =
        call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
    if (answer.contains("exceptionDetails")) {
        throw std::runtime_error(fmt::format("{}: {}", expression, answer["exceptionDetails"].dump()));
    }
    return answer["result"].contains("value") ? answer["result"]["value"] : Json();
}

void Browser::wait_until(std::string_view expression) {
    const Clock::time_point end = Clock::now() + patience;
    while (value_of(expression) != true) {
        if (Clock::now() > end) {
            throw std::runtime_error(fmt::format("waited in vain for {}", expression));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

void Browser::press(std::string_view key) {
    const bool is_text = key.size() == 1;
    Json down{{"type", "keyDown"}, {"key", key}, {"code", key == " " ? "Space" : key}};
    if (is_text) {
        down["text"] = key;
    }
    if (key == " ") {
        down["windowsVirtualKeyCode"] = 32;
    }
    call("Input.dispatchKeyEvent", down);
    down["type"] = "keyUp";
    down.erase("text");
    call("Input.dispatchKeyEvent", down);
}

void Browser::tap(std::string_view selector) {
    const Json middle = value_of(fmt::format(
        "(() => {{ const at = document.querySelector({}); at.scrollIntoView({{block: 'center'}});"
        " const box = at.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
        Json(selector).dump()));
    for (const char* const type : {"mousePressed", "mouseReleased"}) {
        call("Input.dispatchMouseEvent",
             {{"type", type}, {"x", middle[0]}, {"y", middle[1]}, {"button", "left"}, {"clickCount", 1}});
    }
}

}  // namespace lockstep::page::testing
