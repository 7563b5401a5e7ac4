#include "sim/workload/layers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/base/text_file.h"

namespace lockstep::workload {

namespace {

constexpr int deepest_group = 8;
constexpr Bytes most_gradient{std::int64_t{1} << 60};
constexpr std::int64_t most_parameters = std::int64_t{1} << 58;
constexpr double most_macs = 1e24;

/// Layers in forward order and what they hold together.
struct Part {
    std::vector<Layer> layers;
    std::int64_t tensors = 0;
    Bytes gradients;
};

/// Whether `a + times * b` is more than `most`, without overflow. Requires: 0 <= a <= most, b >= 0, times >= 1.
bool exceeds(std::int64_t a, std::int64_t b, std::int64_t times, std::int64_t most) { return b > (most - a) / times; }

class LayerReader {
  public:
    explicit LayerReader(std::optional<Bytes> gradient_element) : gradient_element_(gradient_element) {}

    /// The layers of a list, groups and repetitions written out.
    Part part(const YamlValue& list, int depth) {
        if (depth > deepest_group) {
            list.fail(fmt::format("groups of layers are nested more than {} deep", deepest_group));
        }
        const std::vector<YamlValue> items = list.list();
        if (items.empty()) {
            list.fail("expected at least one layer, got an empty list");
        }
        Part all;
        for (const YamlValue& item : items) {
            append(all, item, depth);
        }
        return all;
    }

  private:
    void append(Part& all, const YamlValue& item, int depth) {
        YamlMap map = item.map();
        const std::string name = map.require("name").text();
        const auto repeat = map.find("repeat");
        const std::int64_t times = repeat ? repeat->count(1, most_layers) : 1;
        const auto group = map.find("layers");
        const Part once = group ? part(*group, depth + 1) : single(map, name);
        map.finish();
        if (exceeds(static_cast<std::int64_t>(all.layers.size()), static_cast<std::int64_t>(once.layers.size()), times,
                    most_layers)) {
            item.fail(fmt::format("a step has at most {} layers, and this makes more", most_layers));
        }
        if (exceeds(all.tensors, once.tensors, times, most_tensors)) {
            item.fail(fmt::format("a step has at most {} parameter tensors, and this makes more", most_tensors));
        }
        if (exceeds(all.gradients.value, once.gradients.value, times, most_gradient.value)) {
            item.fail("a step has at most 1 EiB of gradients, and this makes more");
        }
        all.tensors += once.tensors * times;
        all.gradients += once.gradients * times;
        for (std::int64_t i = 0; i < times; ++i) {
            const std::string instance = repeat ? fmt::format("{} {}", name, i) : name;
            for (const Layer& layer : once.layers) {
                all.layers.push_back(layer);
                all.layers.back().name = group ? fmt::format("{} {}", instance, layer.name) : instance;
            }
        }
    }

    Part single(YamlMap& map, const std::string& name) {
        Part part;
        part.layers.push_back(layer(map, name));
        for (const Bytes gradient : part.layers.front().gradients) {
            if (gradient > most_gradient - part.gradients) {
                map.self().fail("a step has at most 1 EiB of gradients, and this makes more");
            }
            part.gradients += gradient;
            ++part.tensors;
        }
        return part;
    }

    Layer layer(YamlMap& map, const std::string& name) {
        Layer layer;
        layer.name = name;
        read_compute(map, layer);
        read_gradients(map, layer);
        return layer;
    }

    void read_compute(YamlMap& map, Layer& layer) {
        const auto macs = map.find("macs");
        const auto forward = map.find("forward");
        const auto backward_macs = map.find("backward_macs");
        const auto backward = map.find("backward");
        if (macs && forward) {
            macs->fail("a layer has `forward` or `macs`, not both");
        }
        if (backward_macs && backward) {
            backward_macs->fail("a layer has `backward` or `backward_macs`, not both");
        }
        layer.forward = macs ? Work{flops_of_macs(*macs)} : work(forward ? *forward : map.require("forward"));
        if (backward || backward_macs) {
            layer.backward = backward ? work(*backward) : Work{flops_of_macs(*backward_macs)};
        } else if (const Flops* const flops = std::get_if<Flops>(&layer.forward)) {
            layer.backward =
                *flops * 2.0;  // the gradient of the input and that of the weights, each like the forward pass
        } else {
            map.self().fail("missing key `backward`: a layer whose forward pass is given as a time needs it");
        }
        const YamlValue at = backward ? *backward : backward_macs ? *backward_macs : macs ? *macs : *forward;
        if (layer.forward.index() != layer.backward.index()) {
            at.fail("give forward and backward both as times or both as FLOPs");
        }
        if (!form_) {
            form_ = layer.forward.index();
        } else if (*form_ != layer.forward.index()) {
            at.fail("give all layers as times or all as FLOPs: the layers before this one have the other form");
        }
    }

    static Flops flops_of_macs(const YamlValue& value) { return {2.0 * value.number(0, most_macs)}; }

    static Work work(const YamlValue& value) {
        const std::string text = value.text();
        switch (kind_of(text)) {
            case ParameterKind::seconds:
                return value.seconds();
            case ParameterKind::flops:
                return value.flops();
            default:
                value.fail(
                    fmt::format("expected a time such as `1 ms` or work such as `8.2 GFLOP`, got {}", excerpt(text)));
        }
    }

    void read_gradients(YamlMap& map, Layer& layer) {
        const auto gradient = map.find("gradient");
        const auto parameters = map.find("parameters");
        if (gradient && parameters) {
            parameters->fail("a layer has `gradient` or `parameters`, not both");
        }
        if (!gradient && !parameters) {
            map.self().fail("missing key `gradient` (bytes) or `parameters` (a count; 0 for a layer without)");
        }
        if (gradient) {
            for_each_tensor(*gradient,
                            [&](const YamlValue& value, bool alone) { add(layer, value.bytes({alone ? 0 : 1})); });
            return;
        }
        layer.parameters = 0;
        for_each_tensor(*parameters, [&](const YamlValue& value, bool alone) {
            const std::int64_t count = value.count(alone ? 0 : 1, most_parameters);
            if (count > 0 && !gradient_element_) {
                value.fail("the size of the gradient needs `gradient_dtype` in `data_parallel`");
            }
            if (count > most_parameters - *layer.parameters) {
                value.fail(fmt::format("the layer has more than {} parameters", most_parameters));
            }
            *layer.parameters += count;
            if (count > 0) {
                add(layer, *gradient_element_ * count);
            }
        });
    }

    /// Calls `read(value, alone)` for the value itself or, if it is a list, for each of its items.
    template <class Read>
    static void for_each_tensor(const YamlValue& value, Read read) {
        if (!value.is_list()) {
            read(value, true);
            return;
        }
        const std::vector<YamlValue> items = value.list();
        if (items.empty()) {
            value.fail("expected at least one tensor, got an empty list");
        }
        for (const YamlValue& item : items) {
            read(item, false);
        }
    }

    static void add(Layer& layer, Bytes gradient) {
        if (gradient.value > 0) {
            layer.gradients.push_back(gradient);
        }
    }

    std::optional<Bytes> gradient_element_;
    std::optional<std::size_t> form_;  ///< which alternative of Work all layers have
};

/// What is wrong, without the `--set name=text: ` that Parameters puts before it: here no flag was given.
std::string without_setting(std::string_view what, std::string_view name, std::string_view text) {
    const std::string prefix = setting_text(name, text) + ": ";
    return std::string(what.starts_with(prefix) ? what.substr(prefix.size()) : what);
}

std::filesystem::path network_path(const YamlValue& name, const DataFiles& data) {
    const std::string text = name.text();
    try {
        return data.resolve("models/networks", text);
    } catch (const InputError&) {
        const std::vector<std::string> known = data.names("models/networks");
        name.fail(fmt::format("unknown network {}{}", excerpt(text), suggestion(text, known)));
    }
}

YamlFile network_file(const YamlValue& name, const std::filesystem::path& path) {
    const auto text = [&] {
        try {
            return read_text_file(path);
        } catch (const InputError& error) {
            name.fail(error.what());
        }
    };
    return YamlFile::parse(text(), path.string());
}

}  // namespace

bool LayerTable::in_flops() const { return !layers.empty() && std::holds_alternative<Flops>(layers.front().forward); }

LayerTable read_layers(YamlMap& map, std::optional<Bytes> gradient_element) {
    static const std::array<std::string, 2> units{"sample", "token"};
    LayerTable table;
    const auto flops_per = map.find("flops_per");
    if (flops_per) {
        table.flops_per = flops_per->one_of(units) == "token" ? FlopsPer::token : FlopsPer::sample;
    }
    const YamlValue list = map.require("layers");
    table.layers = LayerReader(gradient_element).part(list, 1).layers;
    if (flops_per && !table.in_flops()) {
        flops_per->fail("the layers are given as times, which are those of a GPU's whole batch");
    }
    return table;
}

LayerTable load_network(const YamlValue& name, const DataFiles& data, const YamlValue* sequence,
                        std::optional<Bytes> gradient_element) {
    YamlFile file = network_file(name, network_path(name, data));
    YamlMap root = file.root();
    if (file.parameters().declares("sequence")) {
        if (sequence == nullptr) {
            name.fail(fmt::format("network {} needs the `sequence` of the workload", excerpt(name.text())));
        }
        const std::string text = sequence->text();
        try {
            file.parameters().set("sequence", text);
        } catch (const InputError& error) {
            sequence->fail(
                fmt::format("network {}: {}", excerpt(name.text()), without_setting(error.what(), "sequence", text)));
        }
    } else if (sequence != nullptr) {
        sequence->fail(fmt::format("network {} has no sequences", excerpt(name.text())));
    }
    root.require("summary").text();
    LayerTable table = read_layers(root, gradient_element);
    root.finish();
    return table;
}

}  // namespace lockstep::workload
