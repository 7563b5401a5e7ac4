// The fabric as a picture: links light up with what crosses them, messages travel along their routes.

const loadLevels = 5;
const mostMessages = 700;  // drawn in a step
const mostParts = 150;     // of messages that are striped over several paths; beyond that the first path stands for all
const mostLabels = 48;     // beyond that messages are dots

/** What a message is called on the picture: its chunk, or how many there are. */
function labelOf(chunks) {
  if (chunks.length === 1) return String(chunks[0]);
  const first = Math.min(...chunks);
  const last = Math.max(...chunks);
  return last - first + 1 === chunks.length ? `${first}–${last}` : `${chunks.length}×`;
}

/** The colour of a chunk: one of eight, which its number tells apart where they repeat. */
const colourOf = (chunk) => `chunk-${chunk % 8}`;

/** What tells data apart where it only moves: whose it is, where everybody has something for everybody, else which chunk. */
const isByRank = ["all_to_all", "all_to_all_v", "send_recv"].includes(lesson.op);
const colourOfContent = (at) => colourOf(isByRank ? lesson.contents[at].ranks[0] ?? 0 : lesson.contents[at].chunk);

class Stage {
  constructor(memory) {
    this.memory = memory;
    this.layout = layOut(lesson.vertices, lesson.links);
    this.svg = element("stage");
    this.busiest = 0;
    for (const step of lesson.steps) {
      for (const load of step.links) this.busiest = Math.max(this.busiest, this.secondsOf(load));
    }
    this.tracks = new Map();
    this.lit = [];
    this.messages = [];
    this.flying = -1;
    this.draw();
    this.drawLegend();
  }

  secondsOf(load) {
    return load.bytes / lesson.links[load.link].capacity_Bps;
  }

  draw() {
    const { left, top, width, height } = this.layout;
    this.svg.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
    // Where there are many links they are drawn thinner.
    this.svg.style.setProperty("--thin", this.layout.side / 5);
    // Small pictures are not blown up.
    this.svg.style.maxWidth = `${Math.max(width * 1.5, 320)}px`;
    const boxes = makeSvg("g", { class: "boxes" });
    for (const box of this.layout.boxes) {
      boxes.append(
        makeSvg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 14 }),
        makeSvg("text", { x: box.x + box.width / 2, y: box.below ? box.y + box.height + 17 : box.y - 8 }, box.label));
    }
    const links = makeSvg("g", { class: "links" });
    this.linkPaths = this.layout.curves.map((curve, at) => {
      const shape = `M${curve.p0.x} ${curve.p0.y}Q${curve.p1.x} ${curve.p1.y} ${curve.p2.x} ${curve.p2.y}`;
      const path = makeSvg("path", { d: shape, class: "link", "data-link": at });
      const touch = makeSvg("path", { d: shape, class: "touch" });
      touch.addEventListener("click", () => this.tellLink(at));
      const tip = pointOn(curve, 0.6);
      const head = makeSvg("path", { d: "M-7-7L7 0L-7 7Z", class: "head",
                                     transform: `translate(${tip.x} ${tip.y}) rotate(${slopeOn(curve, 0.6)}) scale(${this.layout.side / 5})` });
      const group = makeSvg("g", { class: "way" }, path, head, touch);
      links.append(group);
      return group;
    });
    const vertices = makeSvg("g", { class: "vertices" });
    this.vertexMarks = lesson.vertices.map((vertex, at) => {
      const mark = this.markOf(vertex, this.layout.at[at]);
      mark.addEventListener("click", () => this.tellVertex(at));
      vertices.append(mark);
      return mark;
    });
    this.flight = makeSvg("g", { class: "messages", "aria-hidden": "true" });
    this.svg.replaceChildren(boxes, links, vertices, this.flight);
  }

  markOf(vertex, place) {
    const group = makeSvg("g", { class: `vertex ${vertex.kind}`, transform: `translate(${place.x} ${place.y})` });
    const radius = radiusOf(vertex);
    if (vertex.kind === "gpu") {
      group.append(makeSvg("circle", { r: radius }));
      if (vertex.rank !== undefined) {
        const around = 2 * Math.PI * (radius - 2.5);
        group.append(
          makeSvg("circle", { class: "progress", r: radius - 2.5, transform: "rotate(-90)",
                              "stroke-dasharray": `0 ${around}` }),
          makeSvg("text", { class: "rank", dy: "0.35em" }, String(vertex.rank)),
          makeSvg("g", { class: "tick", transform: "translate(18 17)" }, makeSvg("circle", { r: 9 }),
                  makeSvg("path", { d: "M-4 0l3 3.2L4.5 -3.5" })));
      } else {
        group.classList.add("idle");
      }
    } else if (vertex.kind === "switch") {
      const half = halfOfSwitch(vertex);
      if (vertex.reduces) {
        group.append(makeSvg("rect", { x: -half - secondLine, y: -radius * 0.66 - secondLine, width: widthOf(vertex),
                                       height: 1.32 * radius + 2 * secondLine, rx: 8 }));
      }
      group.append(makeSvg("rect", { x: -half, y: -radius * 0.66, width: 2 * half, height: 1.32 * radius, rx: 5 }),
                   makeSvg("text", { dy: "0.35em" }, nameOnMark(vertex)));
    } else if (vertex.kind === "nic") {
      group.append(makeSvg("rect", { x: -radius, y: -radius, width: 2 * radius, height: 2 * radius, rx: 3,
                                     transform: "rotate(45) scale(0.8)" }));
    } else {
      group.append(makeSvg("rect", { x: -radius, y: -radius, width: 2 * radius, height: 2 * radius, rx: 3 }));
    }
    return group;
  }

  drawLegend() {
    const legend = element("legend");
    if (this.busiest > 0) {
      const swatches = [];
      for (let level = 1; level <= loadLevels; ++level) {
        const swatch = makeSvg("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" },
                               makeSvg("g", { class: `way lit load-${level}` }, makeSvg("path", { d: "M0 6H30", class: "link" })));
        swatches.push(swatch);
      }
      legend.append(make("span", { class: "legend-title" }, "How long a link is busy in a step"),
                    make("span", { class: "scale" }, make("span", {}, "0"), ...swatches,
                         make("span", {}, timeText(this.busiest))));
    }
    const kinds = new Set(lesson.vertices.map((vertex) => vertex.kind));
    const key = [];
    const entry = (kind, text) => {
      const vertex = { kind, name: kind, rank: kind === "gpu" ? "r" : undefined,
                       reduces: lesson.vertices.some((one) => one.reduces) };
      const sample = makeSvg("svg", { viewBox: "-27 -27 54 54", "aria-hidden": "true" }, this.markOf(vertex, { x: 0, y: 0 }));
      if (kind !== "gpu") sample.querySelector("text")?.remove();
      key.push(make("span", {}, sample, text));
    };
    entry("gpu", "GPU with its rank; the ring closes as its result is complete");
    if (kinds.has("switch")) {
      entry("switch", lesson.vertices.some((vertex) => vertex.reduces) ? "switch (double line: it can add up)" : "switch");
    }
    if (kinds.has("nic")) entry("nic", "network adapter");
    if (kinds.has("host")) entry("host", "host");
    legend.append(make("span", { class: "key" }, ...key));
  }

  /** Lights the links of a step, or none. */
  light(step) {
    for (const way of this.lit) way.setAttribute("class", "way");
    this.lit = [];
    if (step < 0) return;
    for (const load of lesson.steps[step].links) {
      const part = this.busiest > 0 ? this.secondsOf(load) / this.busiest : 1;
      const way = this.linkPaths[load.link];
      way.setAttribute("class", `way lit load-${Math.max(1, Math.ceil(part * loadLevels - 1e-9))}`);
      way.parentNode.append(way);  // above those that are not
      this.lit.push(way);
    }
  }

  trackOf(route, path) {
    const key = `${route} ${path}`;
    if (!this.tracks.has(key)) this.tracks.set(key, trackOf(this.layout, lesson.routes[route][path].links));
    return this.tracks.get(key);
  }

  /** Puts the messages of a step on the picture. */
  load(step) {
    this.flying = step;
    this.messages = [];
    this.flight.replaceChildren();
    if (step < 0) return;
    const moves = lesson.steps[step].moves.filter((move) => move.route !== undefined);
    const parts = moves.reduce((sum, move) => sum + lesson.routes[move.route].length, 0);
    const onlyFirst = parts > mostParts;
    const isSwitchedRoute = (route) => lesson.routes[route][0]?.leg !== "whole";
    const labels = moves.reduce((sum, move) => sum + (isSwitchedRoute(move.route) ? lesson.routes[move.route].length : 1), 0);
    this.isCrowded = labels > mostLabels;
    const ofSender = new Map();
    const ofRoute = new Map();
    // Those that share a link begin one after the other, so that they are seen side by side.
    const queue = (key, of) => {
      const turn = of.get(key) ?? 0;
      of.set(key, turn + 1);
      return turn;
    };
    for (const move of moves) {
      if (this.messages.length >= mostMessages) break;
      const sender = `rank ${move.from[0]}`;
      const isSwitched = isSwitchedRoute(move.route);
      const ofMove = isSwitched ? 0 : queue(sender, ofSender);
      const place = queue(move.route, ofRoute);
      lesson.routes[move.route].forEach((path, at) => {
        if (onlyFirst && at > 0 && !isSwitched) return;
        const key = isSwitched ? `${path.leg} ${path.links[0]}` : sender;
        const turn = isSwitched ? queue(key, ofSender) : ofMove;
        const mark = this.messageMark(move, !this.isCrowded && (at === 0 || isSwitched));
        this.flight.append(mark);
        this.messages.push({ mark, track: this.trackOf(move.route, at), leg: path.leg, sender: key, turn,
                             place: isSwitched ? turn : place });
      });
    }
    for (const message of this.messages) message.of = ofSender.get(message.sender);
  }

  messageMark(move, labelled) {
    const mark = makeSvg("g", { class: `message ${colourOfContent(move.contents[0] ?? 0)}` });
    if (!labelled) {
      mark.append(makeSvg("circle", { r: 4.5 }));
      return mark;
    }
    const label = lesson.op === "barrier" ? "" : labelOf(move.chunks);
    const width = Math.max(19, 9 + label.length * 7.4);
    mark.append(makeSvg("rect", { x: -width / 2, y: -9.5, width, height: 19, rx: 9.5 }),
                makeSvg("text", { dy: "0.35em" }, label));
    return mark;
  }

  /** Moves the messages to where they are after a part of their step. At its end a crowd is gone. */
  fly(part) {
    this.flight.setAttribute("visibility", this.isCrowded && part >= 1 ? "hidden" : "visible");
    for (const message of this.messages) {
      const late = message.of > 1 ? (0.3 * message.turn) / (message.of - 1) : 0;
      let own = Math.min(Math.max((part - late) / (1 - 0.3 * (message.of > 1)), 0), 1);
      if (message.leg === "to_switch") own = Math.min(own * 2, 1);
      if (message.leg === "from_switch") own = own * 2 - 1;
      const isHidden = own < 0 || (message.leg === "to_switch" && own >= 1);
      message.mark.setAttribute("visibility", isHidden ? "hidden" : "inherit");
      // Those of one route stand in a line where they end, not one upon the other.
      const end = 1 - Math.min(0.13 * message.place, 0.6);
      const eased = own < 0 ? 0 : own * own * (3 - 2 * own);
      const { x, y } = pointOfTrack(message.track, Math.min(eased, end));
      message.mark.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    }
  }

  /** Shows how far each rank's result is. */
  progress() {
    lesson.vertices.forEach((vertex, at) => {
      if (vertex.rank === undefined) return;
      const due = this.memory.due[vertex.rank];
      const part = due > 0 ? this.memory.done[vertex.rank] / due : 0;
      const ring = this.vertexMarks[at].querySelector(".progress");
      const around = 2 * Math.PI * (gpuRadius - 2.5);
      ring.setAttribute("stroke-dasharray", `${part * around} ${around}`);
      this.vertexMarks[at].classList.toggle("complete", due > 0 && part === 1);
    });
  }

  tellLink(at) {
    const link = lesson.links[at];
    const load = this.flying >= 0 && lesson.steps[this.flying].links.find((one) => one.link === at);
    const name = (vertex) => lesson.vertices[vertex].name;
    const busy = load ? `${bytesText(load.bytes)} cross it, which takes ${timeText(this.secondsOf(load))}` : "not used";
    element("detail").textContent =
      `${name(link.from)} → ${name(link.to)}: ${link.kind}, ${rateText(link.capacity_Bps)}, ` +
      `${timeText(link.latency_s)}; in this step: ${busy}.`;
  }

  tellVertex(at) {
    const vertex = lesson.vertices[at];
    const rank = vertex.rank;
    let text = `${vertex.name}: ${vertex.kind}${vertex.reduces ? " that can add up" : ""}`;
    if (rank !== undefined) {
      text = `Rank ${rank} is ${vertex.name}`;
      if (this.memory.due[rank] > 0) {
        text += `; ${this.memory.done[rank]} of ${counted(this.memory.due[rank], "chunk")} of its result are complete`;
      }
    }
    element("detail").textContent = `${text}.`;
  }
}
