// What the page is about, as `lockstep explain --json` writes it, and how figures are put into words.

const lesson = JSON.parse(document.getElementById("data").textContent);
for (const step of lesson.steps) step.links = lesson.loads[step.load].map(([link, bytes]) => ({ link, bytes }));

/** Draws switches that join the very same things as one, where there would be more links than can be seen: the planes that
    traffic is striped over. What is told of a link is then of all that it stands for. */
function mergePlanes(most) {
  if (lesson.links.length <= most) return;
  const ends = lesson.vertices.map(() => new Set());
  for (const link of lesson.links) ends[link.from].add(link.to);
  const alike = new Map();
  const standsFor = lesson.vertices.map((vertex, at) => {
    if (vertex.kind !== "switch") return at;
    const key = `${vertex.node} ${[...ends[at]].sort((a, b) => a - b).join(" ")}`;
    if (!alike.has(key)) alike.set(key, []);
    alike.get(key).push(at);
    return alike.get(key)[0];
  });
  for (const members of alike.values()) {
    if (members.length > 1) lesson.vertices[members[0]].name = `${members.length} planes`;
  }
  const newVertex = new Map();
  lesson.vertices = lesson.vertices.filter((_, at) => {
    if (standsFor[at] === at) newVertex.set(at, newVertex.size);
    return standsFor[at] === at;
  });
  const byEnds = new Map();
  const links = [];
  const newLink = lesson.links.map((link) => {
    const from = newVertex.get(standsFor[link.from]);
    const to = newVertex.get(standsFor[link.to]);
    const isMerged = standsFor[link.from] !== link.from || standsFor[link.to] !== link.to;
    const key = `${from} ${to}`;
    if (isMerged && byEnds.has(key)) {
      const whole = links[byEnds.get(key)];
      whole.cables += link.cables;
      whole.capacity_Bps += link.capacity_Bps;
      return byEnds.get(key);
    }
    byEnds.set(key, links.length);
    links.push({ ...link, from, to });
    return links.length - 1;
  });
  lesson.links = links;
  lesson.routes = lesson.routes.map((paths) => {
    const merged = new Map();
    for (const path of paths) {
      const way = path.links.map((link) => newLink[link]);
      const key = `${path.leg} ${way.join(" ")}`;
      if (merged.has(key)) merged.get(key).share += path.share;
      else merged.set(key, { ...path, links: way });
    }
    return [...merged.values()];
  });
  for (const step of lesson.steps) {
    const loads = new Map();
    for (const { link, bytes } of step.links) loads.set(newLink[link], (loads.get(newLink[link]) ?? 0) + bytes);
    step.links = [...loads].map(([link, bytes]) => ({ link, bytes }));
  }
}

mergePlanes(400);
const stepCount = lesson.steps.length;
const lastNumber = stepCount > 0 ? lesson.steps[stepCount - 1].number : 0;

const element = (id) => document.getElementById(id);

/** An element with attributes and children. */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function makeSvg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Four digits and no more zeros than needed. */
const digits = (value) => String(Number(value.toPrecision(4)));

function scaled(value, factor, units) {
  let unit = 0;
  while (value >= factor && unit + 1 < units.length) {
    value /= factor;
    ++unit;
  }
  return `${digits(value)} ${units[unit]}`;
}

const bytesText = (bytes) =>
  bytes < 10240 && bytes % 1024 !== 0 ? `${digits(bytes)} B` : scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const rateText = (rate) => scaled(rate, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);

function timeText(seconds) {
  if (seconds === 0) return "0 s";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (seconds >= size) return `${digits(seconds / size)} ${unit}`;
  }
  return `${digits(seconds * 1e9)} ns`;
}

/** A sentence with the signs of print, where a terminal has those of a keyboard: n-1, log2 n, 5 us. */
const withSigns = (text) =>
  text
    .replace(/(?<=\b[a-z])-(?=\d\b)/g, "−")
    .replace(/(?<=, )-(?=\d)/g, "−")
    .replace(/\bceil\(([^()]*)\)/g, "⌈$1⌉")
    .replace(/\blog2\b/g, "log₂")
    .replace(/(?<=\d) us\b/g, " µs");

/** `0, 2–5 and 7`; where that takes more than `most` words, how many more there are. */
function listed(numbers, most = 6) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const words = [];
  for (let at = 0; at < sorted.length; ) {
    let end = at + 1;
    while (end < sorted.length && sorted[end] === sorted[end - 1] + 1) ++end;
    if (words.length + 1 >= most && end < sorted.length) {
      words.push(`${sorted.length - at} more`);
      break;
    }
    if (end - at > 2) {
      words.push(`${sorted[at]}–${sorted[end - 1]}`);
    } else {
      end = at + 1;
      words.push(String(sorted[at]));
    }
    at = end;
  }
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const chunksText = (chunks) => `chunk${chunks.length === 1 ? "" : "s"} ${listed(chunks)}`;

/** What a content is, in words. */
function contentText(at) {
  if (at === 0) return "nothing yet";
  const content = lesson.contents[at];
  if (!lesson.adds_up) return `chunk ${content.chunk} of rank ${content.ranks[0]}`;
  const missing = lesson.ranks - content.ranks.length;
  const whose = content.ranks.length === 1 ? "the contribution of rank" : "the contributions of ranks";
  const lack = missing > 0 ? `, ${missing} missing` : "";
  return `${whose} ${listed(content.ranks)}${content.doubled ? `, doubled: ${listed(content.doubled)}` : lack}`;
}

/** What all ranks hold, at any step: buffers by name, and in each the content and its state by rank and chunk. */
class Memory {
  constructor() {
    this.step = 0;
    this.buffers = new Map();
    for (const buffer of lesson.buffers) {
      const due = buffer.due.flat();
      this.buffers.set(buffer.name, {
        name: buffer.name,
        chunks: buffer.chunks,
        isDue: Uint8Array.from(due, (state) => (state > 0 ? 1 : 0)),
        content: Uint32Array.from(buffer.start.flat()),
        complete: Uint8Array.from(due, (state) => (state === 2 ? 1 : 0)),
      });
    }
    this.before = [];
    this.due = new Array(lesson.ranks).fill(0);
    this.done = new Array(lesson.ranks).fill(0);
    for (const buffer of this.buffers.values()) {
      for (let place = 0; place < buffer.content.length; ++place) {
        const rank = Math.floor(place / buffer.chunks);
        this.due[rank] += buffer.isDue[place];
        this.done[rank] += buffer.complete[place];
      }
    }
  }

  put(rank, buffer, place, content, complete) {
    this.done[rank] += complete - buffer.complete[place];
    buffer.content[place] = content;
    buffer.complete[place] = complete;
  }

  /** Goes to what is held after `step` steps. Returns: whether anything changed. */
  goTo(step) {
    const moved = step !== this.step;
    while (this.step < step) {
      const undo = [];
      for (const change of lesson.steps[this.step].changes) {
        const buffer = this.buffers.get(change.buffer);
        if (!buffer) continue;
        const place = change.rank * buffer.chunks + change.chunk;
        undo.push([change.rank, buffer, place, buffer.content[place], buffer.complete[place]]);
        this.put(change.rank, buffer, place, change.content, change.complete ? 1 : 0);
      }
      this.before.push(undo);
      ++this.step;
    }
    while (this.step > step) {
      for (const undo of this.before.pop().reverse()) this.put(...undo);
      --this.step;
    }
    return moved;
  }
}
