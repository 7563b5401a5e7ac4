#include "sim/collective/schedule_steps.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/diagnostics.h"

namespace lockstep::collective {

namespace {

constexpr std::array all_verbs{Verb::send,
                               Verb::receive,
                               Verb::receive_reduce,
                               Verb::copy,
                               Verb::reduce,
                               Verb::signal,
                               Verb::wait,
                               Verb::drain,
                               Verb::contribute,
                               Verb::reduce_in_switch,
                               Verb::multicast,
                               Verb::receive_multicast,
                               Verb::contribute_to_all,
                               Verb::receive_sum};
constexpr std::array all_buffers{Buffer::data, Buffer::received, Buffer::scratch};
constexpr std::size_t deepest_loops = 8;

/// Reads the steps of one list, and of the lists in it.
class Reader {
  public:
    explicit Reader(Scope& scope) : scope_(&scope) {}

    std::vector<StepForm> steps(const YamlValue& list) {
        std::vector<StepForm> forms;
        for (const YamlValue& item : list.list()) {
            forms.push_back(step(item));
        }
        return forms;
    }

  private:
    ScopedNumber number(const YamlValue& value) const { return {value, *scope_}; }

    std::optional<ScopedNumber> find_number(YamlMap& map, std::string_view key) const {
        const auto value = map.find(key);
        return value ? std::optional(number(*value)) : std::nullopt;
    }

    StepForm step(const YamlValue& item) {
        YamlMap map = item.map();
        StepForm form{.at = item};
        form.when = find_number(map, "when");
        const auto verb = verb_in(map);
        const auto repeat = map.find("repeat");
        if (repeat) {
            if (verb) {
                item.fail(fmt::format("`repeat` and `{}` are two steps: write an item for each", word_of(*verb)));
            }
            read_loop(map, *repeat, form);
        } else if (!verb) {
            map.finish();
            item.fail("expected a step, such as `send: 0` with `to: 1`, or `repeat: 3` with `steps`");
        } else {
            form.verb = *verb;
            read_instruction(map, map.require(word_of(*verb)), form);
        }
        map.finish();
        return form;
    }

    /// The one verb among the keys.
    std::optional<Verb> verb_in(YamlMap& map) const {
        std::optional<Verb> found;
        for (const Verb verb : all_verbs) {
            const auto value = map.find(word_of(verb));
            if (value && found) {
                value->fail(fmt::format("a step does one thing, and this one has `{}` already", word_of(*found)));
            }
            if (value) {
                found = verb;
            }
        }
        return found;
    }

    void read_loop(YamlMap& map, const YamlValue& repeat, StepForm& form) {
        if (++depth_ > deepest_loops) {
            repeat.fail(fmt::format("loops lie in each other at most {} deep", deepest_loops));
        }
        form.repeat = number(repeat);
        const auto counter = map.find("as");
        const std::string name = counter ? counter->text() : "step";
        if (!counter && scope_->knows(name)) {
            repeat.fail("`step` counts a loop around this one: give this one's counter a name of its own with `as`");
        }
        scope_->add_variable(name, counter ? counter->position() : repeat.position());
        form.steps = steps(map.require("steps"));
        scope_->remove_last_variable();
        --depth_;
    }

    PlaceForm place(const YamlValue& value) const {
        PlaceForm form;
        YamlValue chunks = value;
        if (value.is_map()) {
            YamlMap map = value.map();
            std::optional<YamlValue> found;
            for (const Buffer buffer : all_buffers) {
                if (const auto in = map.find(word_of(buffer))) {
                    if (found) {
                        in->fail("expected one buffer, got a second one");
                    }
                    found = in;
                    form.buffer = buffer;
                }
            }
            map.finish();
            if (!found) {
                value.fail("expected a buffer and chunks in it, such as `{scratch: 0}`");
            }
            chunks = *found;
        }
        if (!chunks.is_list()) {
            form.chunks.push_back(number(chunks));
            return form;
        }
        form.is_list = true;
        for (const YamlValue& chunk : chunks.list()) {
            form.chunks.push_back(number(chunk));
        }
        if (form.chunks.empty()) {
            chunks.fail("expected at least one chunk");
        }
        return form;
    }

    void read_instruction(YamlMap& map, const YamlValue& value, StepForm& form) const {
        const Verb verb = form.verb;
        if (verb == Verb::signal || verb == Verb::wait) {
            form.event = number(value);
            return;
        }
        if (verb == Verb::drain) {
            form.peer = number(value);
            return;
        }
        form.place = place(value);
        if (verb == Verb::copy || verb == Verb::reduce) {
            // What is named first is where the chunks are from, what comes behind `into` is where they go.
            form.from = std::move(form.place);
            form.place = place(map.require("into"));
            for (const PlaceForm* const part : {&*form.from, &form.place}) {
                if (part->is_list) {
                    value.fail(fmt::format("`{}` takes consecutive chunks: the first here, how many with `count`",
                                           word_of(verb)));
                }
            }
        }
        if (const auto key = peer_key(verb)) {
            form.peer = *key == "sum_of" ? find_number(map, *key) : std::optional(number(map.require(*key)));
        }
        if (is_in_switch(verb)) {
            form.group = find_number(map, "group");
        }
        form.count = find_number(map, "count");
        if (form.count && form.place.is_list) {
            form.count->value().fail("a list of chunks says how many there are: leave out `count`");
        }
    }

    Scope* scope_;
    std::size_t depth_ = 0;
};

}  // namespace

std::string_view word_of(Verb verb) {
    switch (verb) {
        case Verb::send:
            return "send";
        case Verb::receive:
            return "receive";
        case Verb::receive_reduce:
            return "receive_reduce";
        case Verb::contribute:
            return "contribute";
        case Verb::reduce_in_switch:
            return "reduce_in_switch";
        case Verb::multicast:
            return "multicast";
        case Verb::receive_multicast:
            return "receive_multicast";
        case Verb::contribute_to_all:
            return "contribute_to_all";
        case Verb::receive_sum:
            return "receive_sum";
        case Verb::copy:
            return "copy";
        case Verb::reduce:
            return "reduce";
        case Verb::signal:
            return "signal";
        case Verb::wait:
            return "wait";
        case Verb::drain:
            return "drain";
    }
    throw std::invalid_argument("word_of: no such verb");
}

std::string_view word_of(Buffer buffer) {
    switch (buffer) {
        case Buffer::data:
            return "data";
        case Buffer::received:
            return "received";
        case Buffer::scratch:
            return "scratch";
    }
    throw std::invalid_argument("word_of: no such buffer");
}

std::optional<std::string_view> peer_key(Verb verb) {
    switch (verb) {
        case Verb::send:
        case Verb::contribute:
            return "to";
        case Verb::receive:
        case Verb::receive_reduce:
        case Verb::receive_multicast:
            return "from";
        case Verb::contribute_to_all:
        case Verb::receive_sum:
            return "sum_of";
        default:
            return std::nullopt;
    }
}

bool is_in_switch(Verb verb) {
    switch (verb) {
        case Verb::contribute:
        case Verb::reduce_in_switch:
        case Verb::multicast:
        case Verb::receive_multicast:
        case Verb::contribute_to_all:
        case Verb::receive_sum:
            return true;
        default:
            return false;
    }
}

std::span<const Verb> verbs() { return all_verbs; }

std::span<const Buffer> buffers() { return all_buffers; }

std::vector<StepForm> read_steps(const YamlValue& list, Scope& scope) { return Reader(scope).steps(list); }

}  // namespace lockstep::collective
