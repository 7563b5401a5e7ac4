#include "tests/cli/shell.h"
#include "tests/page/browser.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

// What the animated page looks like, as far as that can be measured.

namespace lockstep::page::testing {

namespace {

void show(const cli::testing::Shell& shell, Browser& browser, const std::string& arguments,
          std::string_view fragment = "") {
    const auto outcome = shell.run(fmt::format("lockstep explain {} --html page.html", arguments));
    INFO(arguments << ": " << outcome.err);
    REQUIRE(outcome.exit_code == 0);
    browser.open(shell.folder() / "page.html", fragment);
}

}  // namespace

TEST_CASE("links are lit while they are used, and only then", "[page]") {
    const cli::testing::Shell shell;
    Browser browser;
    for (const std::string arguments :
         {"chain --op broadcast --ranks 4 --pieces 2", "hierarchical --topology dgx-h100 --set nodes=2"}) {
        show(shell, browser, arguments);
        CHECK(browser.value_of("document.querySelectorAll('.way.lit').length - "
                               "document.querySelectorAll('#legend .way.lit').length") == 0);
        const int steps = browser.value_of("JSON.parse(document.getElementById('data').textContent).steps.length");
        REQUIRE(steps > 0);
        for (int step = 1; step <= steps; ++step) {
            INFO(arguments << ", step " << step);
            browser.value_of(
                fmt::format("document.getElementById('scrubber').value = {},"
                            "document.getElementById('scrubber').dispatchEvent(new Event('input'))",
                            step - 0.5));
            const Json links = browser.value_of(fmt::format(
                "[[...document.querySelectorAll('#stage .way.lit .link')].map((path) => "
                "Number(path.dataset.link)).sort((a, b) => a - b),"
                "(() => {{ const told = JSON.parse(document.getElementById('data').textContent);"
                " return told.loads[told.steps[{}].load].map(([link]) => link).sort((a, b) => a - b); }})()]",
                step - 1));
            CHECK(links[0] == links[1]);
            CHECK(!links[0].empty());
        }
        CHECK(browser.complaints() == std::vector<std::string>{});
    }
}

TEST_CASE("messages travel on the links of their routes", "[page]") {
    const cli::testing::Shell shell;
    Browser browser;
    show(shell, browser, "ring --ranks 5", "#step=1.4");
    // The distance of each message from the nearest lit link, in units of the picture, of which a link is 4 wide.
    const Json distances = browser.value_of(R"js((() => {
      const points = [...document.querySelectorAll('#stage .way.lit .link')].flatMap((path) => {
        const length = path.getTotalLength();
        return Array.from({ length: 60 }, (_, i) => path.getPointAtLength((length * i) / 59));
      });
      return [...document.querySelectorAll('.message')].map((message) => {
        const { e, f } = message.transform.baseVal.consolidate().matrix;
        return Math.min(...points.map((p) => Math.hypot(p.x - e, p.y - f)));
      });
    })())js");
    REQUIRE(distances.size() == 5);
    for (const Json& distance : distances) {
        CHECK(distance < 3);
    }
}

TEST_CASE("links reach the marks that they join, from every side", "[page]") {
    const cli::testing::Shell shell;
    Browser browser;
    for (const std::string arguments : {"ring --ranks 8", "hierarchical", "ring --topology pcie-8gpu"}) {
        show(shell, browser, arguments);
        // An end of a link lies on or in the frame of some mark.
        const Json loose = browser.value_of(R"js((() => {
      const stage = document.getElementById('stage').getScreenCTM();
      const marks = [...document.querySelectorAll('#stage .vertex')].map(
        (mark) => mark.querySelector('circle, rect').getBoundingClientRect());
      return [...document.querySelectorAll('#stage path.link')].filter((path) =>
        [0, path.getTotalLength()].some((at) => {
          const end = path.getPointAtLength(at).matrixTransform(stage);
          return !marks.some((mark) => end.x > mark.left - 1 && end.x < mark.right + 1 &&
                                       end.y > mark.top - 1 && end.y < mark.bottom + 1);
        })).length;
    })())js");
        INFO(arguments);
        CHECK(loose == 0);
    }
}

TEST_CASE("nothing stands upon another thing, and all is in the picture", "[page]") {
    const cli::testing::Shell shell;
    Browser browser;
    for (const std::string arguments :
         {"ring --ranks 32", "ring --topology dgx-h100 --set nodes=2 --channels 1",
          "swing --topology fat-tree --set gpus=32 --set radix=8", "torus --ranks 27",
          "direct --topology dragonfly --ranks 12", "ring --topology pcie-8gpu",
          "ring --topology mi300x --set nodes=2 --channels 1", "ring --topology dgx-1-v100 --channels 1"}) {
        show(shell, browser, arguments);
        const Json found = browser.value_of(R"js((() => {
      const stage = document.getElementById('stage').getBoundingClientRect();
      const marks = [...document.querySelectorAll('#stage .vertex')].map((mark) => {
        const shape = mark.querySelector('circle, rect').getBoundingClientRect();
        const round = mark.querySelector('circle') !== null;
        return { x: shape.x + shape.width / 2, y: shape.y + shape.height / 2, shape, round };
      });
      const outside = marks.filter(({ shape }) => shape.left < stage.left - 1 || shape.right > stage.right + 1 ||
                                                  shape.top < stage.top - 1 || shape.bottom > stage.bottom + 1).length;
      let overlaps = 0;
      marks.forEach((a, i) => marks.slice(i + 1).forEach((b) => {
        const apart = a.shape.right <= b.shape.left + 0.5 || b.shape.right <= a.shape.left + 0.5 ||
                      a.shape.bottom <= b.shape.top + 0.5 || b.shape.bottom <= a.shape.top + 0.5 ||
                      (a.round && b.round && Math.hypot(a.x - b.x, a.y - b.y) >= (a.shape.width + b.shape.width) / 2);
        if (!apart) ++overlaps;
      }));
      return [marks.length, outside, overlaps];
    })())js");
        INFO(arguments << ": " << found.dump());
        CHECK(found[0] > 0);
        CHECK(found[1] == 0);
        CHECK(found[2] == 0);
        CHECK(browser.complaints() == std::vector<std::string>{});
    }
}

TEST_CASE("a phone needs no scrolling sideways and has room for fingers", "[page]") {
    const cli::testing::Shell shell;
    Browser browser;
    browser.show_as({.width = 390, .height = 844, .mobile = true});
    for (const std::string arguments : {"ring --ranks 4", "nvls --ranks 8", "ring --topology dgx-h100 --set nodes=2",
                                        "bruck --op all_to_all --ranks 8"}) {
        show(shell, browser, arguments, "#step=1");
        browser.value_of("document.querySelectorAll('details').forEach((one) => one.open = true)");
        INFO(arguments);
        CHECK(browser.value_of("document.documentElement.scrollWidth") <= 390);
        CHECK(browser.value_of("window.innerWidth") == 390);
        // 44 pixels are what a finger hits.
        CHECK(browser.value_of(
                  "Math.min(...[...document.querySelectorAll('#controls button, #controls select, #scrubber')]"
                  ".map((one) => one.getBoundingClientRect().height))") >= 43.5);
        // What happens and the picture of it are seen at once, above the controls.
        CHECK(browser.value_of("document.getElementById('stage').getBoundingClientRect().bottom <= "
                               "document.getElementById('controls').getBoundingClientRect().top") == true);
        CHECK(browser.value_of("document.getElementById('sentence').getBoundingClientRect().top < "
                               "document.getElementById('stage').getBoundingClientRect().top") == true);
    }
}

TEST_CASE("text can be read on its ground, by day and by night", "[page]") {
    const cli::testing::Shell shell;
    Browser browser;
    for (const std::string scheme : {"light", "dark"}) {
        browser.prefer("prefers-color-scheme", scheme);
        show(shell, browser, "ring --ranks 4", "#step=6");
        // The contrast ratio of WCAG 2 between ink and paper: 4.5 is its least for text.
        const Json contrasts = browser.value_of(R"js((() => {
      const brightness = (colour) => {
        const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map((c) => c / 255)
          .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (a, b) => {
        const [high, low] = [brightness(a), brightness(b)].sort((x, y) => y - x);
        return (high + 0.05) / (low + 0.05);
      };
      const paper = getComputedStyle(document.documentElement).backgroundColor;
      const of = (selector) => getComputedStyle(document.querySelector(selector)).color;
      const cell = document.querySelector('.matrix td.complete');
      return [brightness(paper), contrast(of('#sentence'), paper), contrast(of('#setting'), paper),
              contrast(of('#step-name'), paper), contrast(of('.matrix td.complete .in'), getComputedStyle(cell).backgroundColor)];
    })())js");
        INFO(scheme << ": " << contrasts.dump());
        CHECK((contrasts[0] > 0.5) == (scheme == "light"));
        for (std::size_t i = 1; i < contrasts.size(); ++i) {
            CHECK(contrasts[i] >= 4.5);
        }
    }
}

TEST_CASE("a page of 64 ranks stays small", "[page]") {
    const cli::testing::Shell shell;
    Browser browser;
    show(shell, browser, "ring --topology gb200-nvl72 --ranks 64");
    CHECK(browser.complaints() == std::vector<std::string>{});
    // 64 x 64 cells, the fabric with planes drawn as one, and little else.
    CHECK(browser.value_of("document.getElementsByTagName('*').length") < 12000);
    browser.press("End");
    CHECK(browser.value_of("document.querySelectorAll('.matrix td.complete').length") == 64 * 64);
}

}  // namespace lockstep::page::testing
