// Puts the parts together.

const memory = new Memory();
const stage = new Stage(memory);
const matrices = new Matrices(memory);
const formula = new Formula();

/** When in a step its messages have arrived. */
const arrival = 0.84;

function writeHeader() {
  element("title").textContent = `${lesson.algorithm} ${lesson.op.replaceAll("_", "-")}`;
  element("setting").textContent = lesson.setting;
  element("summary").textContent = lesson.summary ? withSigns(`${lesson.summary[0].toUpperCase()}${lesson.summary.slice(1)}.`) : "";
}

function writeOutcome() {
  const rows = [];
  const { result } = lesson;
  const add = (name, time) => {
    const rate = time > 0 ? lesson.size_bytes / time : null;
    const factor = result.algbw_Bps > 0 ? result.busbw_Bps / result.algbw_Bps : 0;
    const cell = (text) => make("td", {}, text);
    rows.push(make("tr", {}, make("th", { scope: "row" }, name), cell(timeText(time)),
                   cell(rate ? rateText(rate) : "–"), cell(rate && factor ? rateText(rate * factor) : "–")));
  };
  if (result) {
    const heading = (text) => make("th", { scope: "col" }, text);
    rows.push(make("tr", {}, make("td"), heading("time"), heading("algbw"), heading("busbw")));
    add("simulated", result.time_s);
    if (result.own_choice_time_s) add("with pieces of its own choice", result.own_choice_time_s);
    if (lesson.formula && lesson.formula.time_s !== undefined) add("by the book", lesson.formula.time_s);
    add("lower bound", result.lower_bound_s);
  }
  if (result) element("times").append(make("tbody", {}, ...rows));
  else element("times").remove();
  const texts = lesson.conclusions.map(withSigns);
  if (result && result.busiest_link) {
    const { from, to, bytes, utilization } = result.busiest_link;
    texts.push(`The busiest link is ${from} → ${to}: ${bytesText(bytes)}, ${(100 * utilization).toFixed(1)} % of what it could carry in that time.`);
  }
  element("conclusions").append(...texts.map((text) => make("p", {}, text)));
}

function moveText(move) {
  const channel = lesson.channels > 1 ? ` (channel ${move.channel})` : "";
  const what = `${chunksText(move.chunks)}${channel}`;
  switch (move.verb) {
    case "reduce_in_switch":
      return `${listed(move.from)} ⇒ ${move.to[0]}: the switch's sum of ${what}`;
    case "receive_sum":
      return `${listed(move.from)} ⇒ ${listed(move.to)}: the switch's sum of ${what}`;
    case "receive_multicast":
      return `${move.from[0]} ⇒ ${listed(move.to)}: ${what}, copied by the switch`;
    case "copy":
      return `${move.to[0]} moves data of its own: ${what} of ${move.buffer}`;
    case "reduce":
      return `${move.to[0]} adds up data of its own: ${what} of ${move.buffer}`;
    default: {
      const brings = move.contents.length === 1 ? `, ${contentText(move.contents[0])}` : "";
      return `${move.from[0]} → ${move.to[0]}: ${what}, ${bytesText(move.bytes)}${brings}` +
        `${move.verb === "receive_reduce" ? "; it is added" : ""}`;
    }
  }
}

function writeMoves(step) {
  const most = 200;
  const list = element("move-list");
  const moves = step < 0 ? [] : lesson.steps[step].moves;
  element("moves").querySelector("summary").textContent =
    step < 0 ? "Messages of a step" : `${counted(moves.length, "message")} of this step`;
  if (!element("moves").open) {
    list.replaceChildren();
    return;
  }
  list.replaceChildren(...moves.slice(0, most).map((move) => make("li", {}, moveText(move))));
  if (moves.length > most) list.append(make("li", {}, `and ${moves.length - most} more`));
}

/** The name and the sentence of the step that the place is in. */
function writeStep(step) {
  if (step < 0) {
    element("step-name").textContent = nameOf(step);
    element("sentence").textContent = stepCount > 0
      ? "Each rank holds what it begins with. Play, or step on, to see what is sent."
      : "There is nothing to send.";
    return;
  }
  element("step-name").textContent = nameOf(step);
  element("sentence").textContent = lesson.steps[step].sentence;
}

const numberOf = (step) => (step < 0 ? 0 : lesson.steps[step].number);

function nameOf(step) {
  if (step < 0) return "At the start";
  return numberOf(step) === 0 ? "Before the first message" : `Step ${numberOf(step)} of ${lastNumber}`;
}

let shownStep = null;
let shownHeld = null;

function show(place) {
  const done = Math.floor(place + 1e-6);
  const part = place - done < 2e-6 ? 0 : place - done;
  const step = part > 0 ? done : done - 1;  // under way, or the last one done
  const held = part >= arrival ? done + 1 : done;
  if (step !== shownStep) {
    shownStep = step;
    stage.light(step);
    stage.load(step);
    writeStep(step);
    writeMoves(step);
  }
  if (held !== shownHeld) {
    shownHeld = held;
    memory.goTo(held);
    matrices.refresh();
    stage.progress();
    formula.show(held);
  }
  const flown = part > 0 ? Math.min(part / arrival, 1) : 1;
  stage.fly(player.still.matches ? 0.55 : flown);
  const scrubber = element("scrubber");
  scrubber.value = place;
  scrubber.style.setProperty("--done", `${stepCount > 0 ? (100 * place) / stepCount : 100}%`);
  scrubber.setAttribute("aria-valuetext", nameOf(step));
  element("place").textContent = `${numberOf(step)} / ${lastNumber}`;
  element("back").disabled = element("to-start").disabled = place <= 0;
  element("forward").disabled = element("to-end").disabled = place >= stepCount;
}

const player = new Player({
  onPlace: show,
  onPlaying: (isPlaying) => {
    document.body.classList.toggle("playing", isPlaying);
    element("play").setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    // While it plays, steps come faster than they could be read out.
    element("sentence").setAttribute("aria-live", isPlaying ? "off" : "polite");
    rememberPlace();
  },
  onRest: rememberPlace,
  onSpeed: (speed) => {
    element("speed").value = String(speed);
  },
});

/** Keeps the step in the address, so that it can be linked to. */
function rememberPlace() {
  if (player.isPlaying || player.goal !== null) return;
  try {
    history.replaceState(null, "", `#step=${numberOf(Math.round(player.place) - 1)}`);
  } catch {
    // Some browsers allow only so many in a minute; the address is a convenience.
  }
}

function listen() {
  const on = (id, act) => element(id).addEventListener("click", act);
  on("play", () => player.toggle());
  on("back", () => player.back());
  on("forward", () => player.forward());
  on("to-start", () => player.goTo(0));
  on("to-end", () => player.goTo(stepCount));
  element("scrubber").max = stepCount;
  element("scrubber").disabled = stepCount === 0;
  element("scrubber").addEventListener("input", (event) => player.goTo(Number(event.target.value)));
  element("scrubber").addEventListener("change", rememberPlace);
  for (const speed of speeds) element("speed").append(make("option", { value: speed }, `${speed}×`));
  element("speed").addEventListener("change", (event) => player.setSpeed(Number(event.target.value)));
  element("moves").addEventListener("toggle", () => writeMoves(shownStep));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const isPressed = event.key === " " && ["BUTTON", "SUMMARY"].includes(event.target.tagName);
    const act = {
      " ": () => player.toggle(),
      ArrowRight: () => player.forward(),
      ArrowLeft: () => player.back(),
      Home: () => player.goTo(0),
      End: () => player.goTo(stepCount),
      "+": () => player.faster(1),
      "=": () => player.faster(1),
      "-": () => player.faster(-1),
    }[event.key];
    if (act && !isPressed) {
      event.preventDefault();
      act();
      rememberPlace();
    }
  });
  for (const id of ["back", "forward", "to-start", "to-end"]) on(id, rememberPlace);
}

writeHeader();
writeOutcome();
listen();
player.setSpeed(1);
const asked = /^#step=(\d+(?:\.\d+)?)$/.exec(location.hash);
const first = stepCount > 0 && numberOf(0) === 0 ? 1 : 0;  // what ranks do before the first message is no step of its own
player.setPlace(asked && Number(asked[1]) > 0 ? Number(asked[1]) + first : 0);
