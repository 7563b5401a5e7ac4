// The formula, and how much of its terms has been spent: it is full when the last step is done.

/** A formula with the signs of print; what its letters stand for, `m = 2`, is not broken apart. */
const printed = (text) =>
  withSigns(text.replace(/(?<=[\d\w)\s(])-(?=[\d\w(\s])/g, "−")).replace(/, (\w) = (?=\S)/g, ", $1\u00a0=\u00a0");

class Formula {
  constructor() {
    this.formula = lesson.formula;
    const box = element("formula");
    if (!this.formula) {
      box.remove();
      return;
    }
    const { formula } = this;
    const text = make("p", { class: "by-the-book" }, make("var", {}, "t"), " = ", make("span", {}, printed(formula.text)));
    box.append(text);
    if (formula.source) box.append(make("p", { class: "source" }, formula.source));
    this.alphas = this.meter("α", "latencies", formula.alphas);
    this.bytes = this.meter("S", "bytes through the busiest rank", formula.bytes);
    this.sum = make("p", { class: "sum" });
    box.append(this.alphas.row, this.bytes.row, this.sum);
  }

  meter(sign, name, full) {
    const fill = make("span", { class: "fill" });
    const isCount = sign === "α" && full <= 32 && Number.isInteger(full) && full > 0;
    const bar = make("span", { class: isCount ? "bar counted" : "bar", role: "meter", "aria-label": name,
                               "aria-valuemin": 0, "aria-valuemax": full }, fill);
    if (isCount) bar.style.setProperty("--count", full);
    const value = make("span", { class: "value" });
    const row = make("div", { class: "meter" }, make("var", {}, sign), bar, value);
    return { row, bar, fill, value, full };
  }

  set(meter, now, text) {
    const part = meter.full > 0 ? Math.min(now / meter.full, 1) : 1;
    meter.fill.style.width = `${100 * part}%`;
    meter.bar.setAttribute("aria-valuenow", now);
    meter.bar.setAttribute("aria-valuetext", text);
    meter.bar.classList.toggle("full", now >= meter.full * (1 - 1e-9));
    meter.value.textContent = text;
  }

  show(step) {
    if (!this.formula) return;
    const { formula } = this;
    const spent = step > 0 ? lesson.steps[step - 1] : { alphas: 0, bytes: 0 };
    const alphas = (value) => digits(value);
    this.set(this.alphas, spent.alphas, `${alphas(spent.alphas)} of ${alphas(formula.alphas)}`);
    this.set(this.bytes, spent.bytes, `${bytesText(spent.bytes)} of ${bytesText(formula.bytes)}`);
    if (formula.alpha_s === undefined) return;
    const time = spent.alphas * formula.alpha_s + spent.bytes / formula.rate_Bps;
    this.sum.textContent = `so far ${alphas(spent.alphas)} × ${timeText(formula.alpha_s)} + ${bytesText(spent.bytes)} ÷ ` +
      `${rateText(formula.rate_Bps)} = ${timeText(time)}`;
  }
}
