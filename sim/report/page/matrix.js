// What each rank holds, chunk by chunk: a table for each buffer, of which wide ones show a part at a time.

const mostColumns = 64;
/** With many ranks a cell shows how many contributions are in, not whose. */
const isCounted = lesson.ranks > 12;

class Matrix {
  constructor(memory, buffer, isOnly) {
    this.memory = memory;
    this.buffer = buffer;
    this.changed = [];
    this.first = 0;
    this.columns = Math.min(buffer.chunks, this.pageSize());
    this.table = make("table", { class: "matrix" });
    const name = { data: "What each rank holds", received: "What each rank has received", scratch: "What each rank has set aside" };
    this.figure = make("figure", { class: "matrix-figure", "data-buffer": buffer.name });
    const caption = make("figcaption", {}, isOnly ? name.data : name[buffer.name]);
    this.figure.append(caption);
    if (buffer.chunks > this.columns) caption.append(this.pager());
    this.figure.append(this.table);
    this.build();
  }

  /** A channel's chunks where channels have parts of their own, else as many as can be seen. */
  pageSize() {
    const { chunks } = this.buffer;
    if (chunks <= 16) return chunks;
    const own = lesson.channels > 1 && chunks % lesson.channels === 0 ? chunks / lesson.channels : chunks;
    return own < chunks && own >= 4 && own <= mostColumns && chunks > 32 ? own : Math.min(chunks, mostColumns);
  }

  /** Whether the digits of all ranks fit into a cell. */
  fits(count) {
    const digit = 9.5;
    const cell = (element("matrices").clientWidth - 34) / count - 9;
    return lesson.ranks <= 10 && cell / lesson.ranks >= digit;
  }

  /** Builds the table anew where the width of the page has made room for digits, or taken it. */
  fit() {
    const count = Math.min(this.columns, this.buffer.chunks - this.first);
    if (lesson.adds_up && this.fits(count) !== this.spelt) {
      this.build();
      this.refresh();
    }
  }

  pager() {
    const select = make("select", { "aria-label": "Chunks shown" });
    for (let first = 0; first < this.buffer.chunks; first += this.columns) {
      const last = Math.min(first + this.columns, this.buffer.chunks) - 1;
      select.append(make("option", { value: first }, `chunks ${first}–${last}`));
    }
    select.addEventListener("change", () => {
      this.first = Number(select.value);
      this.build();
      this.refresh();
    });
    return select;
  }

  build() {
    const last = Math.min(this.first + this.columns, this.buffer.chunks);
    const count = last - this.first;
    const size = count > 32 || lesson.ranks > 32 ? "tiny" : count > 12 || lesson.ranks > 16 ? "small" : "large";
    this.size = size;
    // Digits, where each rank's fits into a cell.
    this.spelt = lesson.adds_up && this.fits(count);
    this.table.className = `matrix ${size}`;
    const head = make("tr", {}, make("th", { scope: "col" }, make("span", { class: "unseen" }, "rank")));
    const step = size === "tiny" ? 8 : size === "small" && count > 20 ? 4 : 1;
    for (let chunk = this.first; chunk < last; ++chunk) {
      const isNamed = (chunk - this.first) % step === 0;
      const hasColour = this.buffer.name !== "scratch" && lesson.op !== "send_recv";
      head.append(make("th", { scope: "col", class: hasColour ? colourOf(this.columnOf(chunk)) : "plain" },
                       make("span", { class: isNamed ? "" : "unseen" }, String(chunk))));
    }
    const body = make("tbody");
    this.cells = [];
    const rowStep = lesson.ranks > 32 ? 8 : 1;
    for (let rank = 0; rank < lesson.ranks; ++rank) {
      const row = make("tr", {}, make("th", { scope: "row" },
                                      make("span", { class: rank % rowStep === 0 ? "" : "unseen" }, String(rank))));
      for (let chunk = this.first; chunk < last; ++chunk) {
        const place = rank * this.buffer.chunks + chunk;
        const cell = make("td", { "data-place": place });
        this.cells[place] = cell;
        row.append(cell);
      }
      body.append(row);
    }
    this.table.replaceChildren(make("thead", {}, head), body);
    this.shown = new Map();
    this.changed = [];
    this.listen();
  }

  /** Which colour a column has: of what everybody has for everybody, whose data it is. */
  columnOf(chunk) {
    return lesson.op === "all_to_all" ? Math.floor(chunk / (this.buffer.chunks / lesson.ranks)) : chunk;
  }

  listen() {
    if (this.isListening) return;
    this.isListening = true;
    this.table.tabIndex = 0;
    this.table.addEventListener("click", (event) => {
      const cell = event.target.closest("td");
      if (cell) this.tell(Number(cell.dataset.place));
    });
  }

  tell(place) {
    const rank = Math.floor(place / this.buffer.chunks);
    const state = this.buffer.complete[place] ? "; complete" : this.buffer.isDue[place] ? "" : "; not part of its result";
    element("detail").textContent =
      `Rank ${rank}, chunk ${place % this.buffer.chunks}: ${contentText(this.buffer.content[place])}${state}.`;
  }

  /** Brings all cells up to what is held, and marks those that the last step changed. */
  refresh() {
    for (const cell of this.changed) cell.classList.remove("changed");
    this.changed = [];
    for (const place in this.cells) this.fill(this.cells[place], Number(place));
    if (this.memory.step > 0) {
      for (const change of lesson.steps[this.memory.step - 1].changes) {
        if (change.buffer !== this.buffer.name) continue;
        const cell = this.cells[change.rank * this.buffer.chunks + change.chunk];
        if (cell) {
          cell.classList.add("changed");
          this.changed.push(cell);
        }
      }
    }
  }

  fill(cell, place) {
    const content = this.buffer.content[place];
    const complete = this.buffer.complete[place];
    const key = content * 2 + complete;
    if (this.shown.get(place) === key) return;
    this.shown.set(place, key);
    cell.classList.toggle("complete", complete === 1);
    cell.classList.toggle("empty", content === 0);
    cell.classList.toggle("aside", this.buffer.isDue[place] === 0);
    if (lesson.adds_up) {
      this.fillSum(cell, content, complete);
    } else {
      this.fillMoved(cell, content, complete);
    }
  }

  fillSum(cell, content, complete) {
    const { ranks } = lesson.contents[content];
    if (this.spelt) {
      const within = new Set(ranks);
      const marks = [];
      for (let rank = 0; rank < lesson.ranks; ++rank) {
        marks.push(make("i", { class: within.has(rank) ? "in" : "out" }, within.has(rank) ? String(rank) : "·"));
      }
      cell.replaceChildren(make("span", { class: "ranks" }, ...marks));
      return;
    }
    const part = 100 / lesson.ranks;
    const stops = [];
    if (isCounted && ranks.length > 0) {
      const to = Math.max(ranks.length * part, 6).toFixed(2);  // one in 64 is to be seen, too
      stops.push(`var(--held) 0 ${to}%, transparent ${to}%`);
    }
    for (let at = isCounted ? ranks.length : 0; at < ranks.length; ) {  // runs of ranks that follow each other
      let end = at + 1;
      while (end < ranks.length && ranks[end] === ranks[end - 1] + 1) ++end;
      const from = (ranks[at] * part).toFixed(2);
      const to = ((ranks[end - 1] + 1) * part).toFixed(2);
      stops.push(`transparent ${from}%, var(--held) ${from}% ${to}%, transparent ${to}%`);
      at = end;
    }
    cell.style.backgroundImage = complete || stops.length === 0 ? "" : `linear-gradient(90deg, ${stops.join(", ")})`;
    const isNumbered = isCounted && this.size === "large" && !complete && ranks.length > 0;
    cell.textContent = isNumbered ? String(ranks.length) : "";
  }

  fillMoved(cell, content) {
    if (content === 0) {
      cell.textContent = "";
      cell.className = cell.className.replace(/ ?chunk-\d/, "");
      return;
    }
    const { chunk, ranks } = lesson.contents[content];
    cell.className = `${cell.className.replace(/ ?chunk-\d/, "")} ${colourOfContent(content)}`;
    const names = lesson.op === "all_to_all" || lesson.op === "all_to_all_v" || this.buffer.name === "scratch";
    cell.textContent = this.size === "tiny" ? "" : names && this.size === "large" ? `${ranks[0]}.${chunk}` : String(ranks[0]);
  }
}

/** All tables, and how to read them. */
class Matrices {
  constructor(memory) {
    const buffers = [...memory.buffers.values()];
    this.all = buffers.map((buffer) => new Matrix(memory, buffer, buffers.length === 1));
    this.legend = make("p", { class: "how" });
    element("matrices").append(...this.all.map((matrix) => matrix.figure), this.legend);
    this.writeLegend();
    let waiting = null;
    window.addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        for (const matrix of this.all) matrix.fit();
        this.writeLegend();
      }, 150);
    });
  }

  writeLegend() {
    const how = lesson.adds_up
      ? this.all.some((matrix) => matrix.spelt)
        ? "A row for each rank, a column for each chunk. In a cell stand the ranks whose contribution is in."
        : isCounted
          ? "A row for each rank, a column for each chunk. A cell is filled as far as contributions are in."
          : "A row for each rank, a column for each chunk. A cell is filled where the contributions of ranks are in, rank 0 at its left."
      : this.all.some((matrix) => matrix.size === "large" && lesson.op.startsWith("all_to_all"))
        ? "A row for each rank, a column for each chunk. In a cell stand whose data it is and which chunk of it: 2.1 is chunk 1 of rank 2."
        : "A row for each rank, a column for each chunk. In a cell stands whose data it is.";
    this.legend.replaceChildren(`${how} `, make("span", { class: "sample changed" }), " changed in this step, ",
                                make("span", { class: "sample complete" }), " as it is due at the end.");
  }

  refresh() {
    for (const matrix of this.all) matrix.refresh();
  }
}
