#include "tests/cli/shell.h"
#include "tests/page/browser.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

// What the animated page does when it is played with.

namespace lockstep::page::testing {

namespace {

/// A page in a browser.
struct Shown {
    cli::testing::Shell shell;
    Browser browser;

    /// arguments: of `lockstep explain`.
    explicit Shown(const std::string& arguments, std::string_view fragment = "") { show(arguments, fragment); }

    void show(const std::string& arguments, std::string_view fragment = "") {
        const auto outcome = shell.run(fmt::format("lockstep explain {} --html page.html", arguments));
        INFO(arguments << ": " << outcome.err);
        REQUIRE(outcome.exit_code == 0);
        browser.open(shell.folder() / "page.html", fragment);
        REQUIRE(browser.complaints() == std::vector<std::string>{});
    }

    std::string text(const std::string& selector) {
        return browser.value_of(fmt::format("document.querySelector({}).textContent", Json(selector).dump()));
    }
    int count(const std::string& selector) {
        return browser.value_of(fmt::format("document.querySelectorAll({}).length", Json(selector).dump()));
    }
    double place() { return browser.value_of("Number(document.getElementById('scrubber').value)"); }
    void step_on() {
        const int before = browser.value_of("Number(location.hash.slice('#step='.length))");
        browser.tap("#forward");
        browser.wait_until(fmt::format("location.hash === '#step={}'", before + 1));  // it is when it has come to rest
    }
};

}  // namespace

TEST_CASE("a page loads without complaints and needs nothing but itself", "[page]") {
    Shown shown("ring --ranks 4");
    CHECK(shown.browser.requests() == std::vector<std::string>{});
    CHECK(shown.text("h1") == "ring all-reduce");
    CHECK(shown.text("#step-name") == "At the start");
    CHECK(shown.text("#place") == "0 / 6");
    // 4 ranks hold 4 chunks each, none of them complete.
    CHECK(shown.count(".matrix td") == 16);
    CHECK(shown.count(".matrix td.complete") == 0);
    CHECK(shown.count(".vertex.gpu .rank") >= 4);
    CHECK(shown.text("#times").find("simulated") != std::string::npos);
}

TEST_CASE("stepping through a ring tells each step and ends with all complete and the formula full", "[page]") {
    Shown shown("ring --ranks 4");
    for (int i = 0; i < 3; ++i) {
        shown.browser.press("+");
    }
    // Two passes of n - 1 steps; after the first each rank has one complete chunk, with each further step one more.
    for (int step = 1; step <= 6; ++step) {
        shown.step_on();
        CHECK(shown.text("#step-name") == fmt::format("Step {} of 6", step));
        CHECK(shown.count(".matrix td.complete") == std::max(0, 4 * (step - 2)));
        CHECK(shown.count(".matrix td.changed") == 4);
        CHECK(shown.text(".meter .value") == fmt::format("{} of 6", step));
    }
    CHECK(shown.count(".bar.full") == 2);
    CHECK(shown.count(".vertex.gpu.complete") == 4);
    CHECK(shown.text("#sentence").find("all is where it belongs") != std::string::npos);
    CHECK(shown.browser.value_of("document.getElementById('forward').disabled") == true);

    shown.browser.tap("#back");
    CHECK(shown.place() == 5);
    CHECK(shown.count(".matrix td.complete") == 12);
    CHECK(shown.count(".bar.full") == 0);
    shown.browser.tap("#to-start");
    CHECK(shown.count(".matrix td.complete") == 0);
    CHECK(shown.count(".matrix td.changed") == 0);
    CHECK(shown.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("it plays, pauses, and plays faster", "[page]") {
    Shown shown("ring --ranks 4");
    shown.browser.value_of(
        "document.getElementById('speed').value = '8',"
        "document.getElementById('speed').dispatchEvent(new Event('change'))");
    shown.browser.tap("#play");
    CHECK(shown.browser.value_of("document.getElementById('play').getAttribute('aria-label')") == "Pause");
    shown.browser.wait_until("document.getElementById('scrubber').value > 1");
    shown.browser.tap("#play");
    CHECK(shown.browser.value_of("document.getElementById('play').getAttribute('aria-label')") == "Play");
    const double paused = shown.place();
    // Two frames later it is where it was.
    shown.browser.value_of("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    CHECK(shown.place() == paused);
    shown.browser.tap("#play");
    shown.browser.wait_until("location.hash === '#step=6'");
    CHECK(shown.browser.value_of("document.getElementById('play').getAttribute('aria-label')") == "Play");
    CHECK(shown.count(".matrix td.complete") == 16);
    // From the end it starts again.
    shown.browser.tap("#play");
    shown.browser.wait_until("document.getElementById('scrubber').value < 6");
    CHECK(shown.browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("keys do what buttons do", "[page]") {
    Shown shown("ring --ranks 4");
    Browser& browser = shown.browser;
    browser.press("End");
    CHECK(shown.place() == 6);
    browser.press("ArrowLeft");
    CHECK(shown.place() == 5);
    browser.press("Home");
    CHECK(shown.place() == 0);
    browser.press("ArrowRight");
    browser.wait_until("location.hash === '#step=1'");
    browser.press("+");
    browser.press("+");
    CHECK(browser.value_of("document.getElementById('speed').value") == "4");
    browser.press("-");
    CHECK(browser.value_of("document.getElementById('speed').value") == "2");
    browser.press(" ");
    CHECK(browser.value_of("document.body.classList.contains('playing')") == true);
    browser.press(" ");
    CHECK(browser.value_of("document.body.classList.contains('playing')") == false);
    // Pressed on a button, the bar does that button only.
    browser.value_of("document.getElementById('to-end').focus()");
    browser.press("End");
    CHECK(shown.place() == 6);
    CHECK(browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("who wants no motion sees steps and no travelling", "[page]") {
    Shown shown("ring --ranks 4");
    shown.browser.prefer("prefers-reduced-motion", "reduce");
    shown.browser.open(shown.shell.folder() / "page.html");
    shown.browser.value_of(
        "window.between = [];"
        "new MutationObserver(() => {}).observe(document.body, {subtree: true, childList: true});"
        "document.getElementById('forward').click()");
    // No frame in between: the next step is there at once.
    CHECK(shown.place() == 1);
    CHECK(shown.count(".matrix td.changed") == 4);
}

TEST_CASE("the address names the step, and opens the page at it", "[page]") {
    Shown shown("ring --ranks 4", "#step=3");
    CHECK(shown.place() == 3);
    CHECK(shown.text("#step-name") == "Step 3 of 6");
    shown.browser.tap("#back");
    CHECK(shown.browser.value_of("location.hash") == "#step=2");
}

TEST_CASE("what ranks do before the first message is no step of its own, wherever steps are counted", "[page]") {
    // Bruck's all_to_all first sorts its blocks; then come ceil(log2 5) = 3 steps.
    Shown shown("bruck --op all_to_all --ranks 5", "#step=2");
    CHECK(shown.text("#step-name") == "Step 2 of 3");
    CHECK(shown.text("#place") == "2 / 3");
    shown.browser.tap("#back");
    CHECK(shown.text("#step-name") == "Step 1 of 3");
    CHECK(shown.browser.value_of("location.hash") == "#step=1");
    shown.browser.tap("#back");
    CHECK(shown.text("#step-name") == "Before the first message");
    CHECK(shown.text("#place") == "0 / 3");
}

TEST_CASE("signs are those of print", "[page]") {
    Shown shown("halving-doubling --ranks 4");
    CHECK(shown.text("#summary").find("log₂ n steps") != std::string::npos);
    const std::string texts = shown.text("#conclusions");
    CHECK(texts.find("2(n−1)/n") != std::string::npos);
    CHECK(texts.find(" µs") != std::string::npos);
    CHECK(texts.find(" us") == std::string::npos);
}

TEST_CASE("every kind of operation ends with all that is due complete", "[page]") {
    Shown shown("nvls --ranks 4");
    for (const std::string arguments :
         {"bruck --op all_to_all --ranks 3", "binomial-tree --op gather --ranks 5", "ring --op barrier --ranks 3",
          "tree --op broadcast --ranks 4 --root 2", "ring --op reduce_scatter --ranks 3", "ring-all-reduce --ranks 3",
          "nvls --ranks 4"}) {
        INFO(arguments);
        shown.show(arguments);
        shown.browser.press("End");
        const Json left = shown.browser.value_of(
            "(() => { const told = JSON.parse(document.getElementById('data').textContent);"
            " let due = 0; for (const buffer of told.buffers) for (const row of buffer.due) for (const cell of row) "
            "due += "
            "cell > 0;"
            " return [due, document.querySelectorAll('.matrix td.complete').length, told.results]; })()");
        CHECK(left[0] == left[1]);
        CHECK(left[0] == left[2]);
        CHECK(left[0] > 0);
        CHECK(shown.browser.complaints() == std::vector<std::string>{});
    }
}

TEST_CASE("a cell and a link say what they are when they are tapped", "[page]") {
    Shown shown("ring --ranks 4", "#step=1");
    shown.browser.tap(".matrix tbody tr:nth-child(2) td:nth-child(2)");
    CHECK(shown.text("#detail") == "Rank 1, chunk 0: the contributions of ranks 0 and 1, 2 missing.");
    // 1 MiB / 4 in a step at 50 GB/s: 262144 B / 50 GB/s = 5.243 us.
    shown.browser.value_of(
        "document.querySelector('.way.lit .touch').dispatchEvent(new MouseEvent('click', {bubbles: true}))");
    const std::string link = shown.text("#detail");
    CHECK(link.find("50 GB/s") != std::string::npos);
    CHECK(link.find("256 KiB cross it, which takes 5.243 µs") != std::string::npos);
    shown.browser.tap("#moves summary");
    shown.browser.wait_until("document.querySelectorAll('#move-list li').length > 0");
    CHECK(shown.count("#move-list li") == 4);
    CHECK(shown.text("#move-list li").find("0 → 1: chunk 0, 256 KiB") == 0);
}

}  // namespace lockstep::page::testing
