// Where the parts of the fabric stand in the picture. Lengths are in units of the picture, which is scaled to fit.

const gpuRadius = 24;

/** Who is linked to whom, by vertex. */
function neighboursOf(vertices, links) {
  const neighbours = vertices.map(() => new Set());
  for (const link of links) {
    neighbours[link.from].add(link.to);
    neighbours[link.to].add(link.from);
  }
  return neighbours;
}

const indices = (vertices, wanted) => vertices.flatMap((vertex, at) => (wanted(vertex, at) ? [at] : []));

/** GPUs in rank order, those without a rank behind them. */
function gpusInOrder(vertices, of) {
  const rank = (at) => vertices[at].rank ?? Infinity;
  return of.filter((at) => vertices[at].kind === "gpu").sort((a, b) => rank(a) - rank(b) || a - b);
}

/** Round a circle, the first at the top; `middle` in a square block in it. */
function onCircle(around, middle, at) {
  const columns = Math.ceil(Math.sqrt(middle.length));
  const gap = 78;
  const inner = columns > 1 ? (columns - 1) * gap * 0.71 + 60 : 60;
  const radius = Math.max(150, inner + 90, (around.length * gpuRadius * 2.7) / (2 * Math.PI));
  around.forEach((vertex, i) => {
    const angle = (2 * Math.PI * i) / around.length - Math.PI / 2;
    at[vertex] = { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  });
  const rows = Math.ceil(middle.length / Math.max(columns, 1));
  middle.forEach((vertex, i) => {
    const row = Math.floor(i / columns);
    const inRow = Math.min(columns, middle.length - row * columns);
    at[vertex] = { x: ((i % columns) - (inRow - 1) / 2) * gap, y: (row - (rows - 1) / 2) * gap };
  });
}

/** As the points of a grid: two dimensions flat, the third into the depth, further ones side by side. */
function onGrid(vertices, at) {
  const gpus = indices(vertices, (vertex) => vertex.grid);
  const size = vertices[gpus[0]].grid.map((_, d) => 1 + Math.max(...gpus.map((gpu) => vertices[gpu].grid[d])));
  const depth = size[2] ?? 1;
  const part = 0.9 / Math.max(depth - 1, depth > 2 ? 3 : 2);  // of a step: how far right the next point in the depth is
  const rise = 0.73;
  // So large a step that points of different depth do not meet.
  let nearest = 1;
  for (let z = 1; z < depth; ++z) {
    for (let x = 0; x < size[0]; ++x) {
      for (let y = 0; y < size[1]; ++y) nearest = Math.min(nearest, Math.hypot(x - z * part, y - z * part * rise));
    }
  }
  const unit = Math.max(112, 56 / nearest);
  const block = (size[0] + 1.2) * unit;
  for (const gpu of gpus) {
    const place = vertices[gpu].grid;
    const further = place.slice(3).reduce((number, c, d) => number * size[d + 3] + c, 0);
    at[gpu] = {
      x: further * block + (place[0] + (place[2] ?? 0) * part) * unit,
      y: ((place[1] ?? 0) - (place[2] ?? 0) * part * rise) * unit,
    };
  }
}

/** Moves things of a row apart so that none is nearer to the next than `gap`, each as little as possible. */
function spread(row, gap, at) {
  row.sort((a, b) => at[a].x - at[b].x || a - b);
  const blocks = [];
  for (const vertex of row) {
    blocks.push({ members: [vertex], centre: at[vertex].x });
    while (blocks.length > 1) {
      const [left, right] = blocks.slice(-2);
      const needed = ((left.members.length + right.members.length) / 2) * gap;
      if (right.centre - left.centre >= needed) break;
      const members = left.members.concat(right.members);
      const centre = (left.centre * left.members.length + right.centre * right.members.length) / members.length;
      blocks.splice(-2, 2, { members, centre });
    }
  }
  for (const { members, centre } of blocks) {
    members.forEach((vertex, i) => {
      at[vertex].x = centre + (i - (members.length - 1) / 2) * gap;
    });
  }
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

/** The rows of a machine, from its switches between GPUs up to what leads out of it. */
function rowsOfMachine(vertices, links, neighbours, members) {
  const own = new Set(members);
  const gpus = gpusInOrder(vertices, members);
  const scaleUp = new Set(
    links.filter((link) => link.tier === "scale-up").flatMap((link) => [link.from, link.to]));
  const between = members.filter((at) => vertices[at].kind !== "gpu" && scaleUp.has(at));
  const rows = [];
  if (between.length > 0) rows.push(between);
  const perRow = gpus.length <= 9 ? gpus.length : Math.ceil(gpus.length / Math.ceil(gpus.length / 8));
  for (let first = 0; first < gpus.length; first += perRow) rows.push(gpus.slice(first, first + perRow));
  const placed = new Set([...gpus, ...between]);
  let reached = gpus;
  while (placed.size < members.length) {
    let next = [...new Set(reached.flatMap((at) => [...neighbours[at]]))].filter((v) => own.has(v) && !placed.has(v));
    if (next.length === 0) next = members.filter((v) => !placed.has(v));
    next.sort((a, b) => a - b);
    next.forEach((v) => placed.add(v));
    rows.push(next);
    reached = next;
  }
  return rows;
}

/** Sets out one machine with its lower left corner at the origin. Returns: its width and height. */
function setOut(vertices, links, neighbours, members, at) {
  const pitch = 62;
  const rowHeight = 74;
  const rows = rowsOfMachine(vertices, links, neighbours, members);
  const heights = [0];  // more between GPUs and the switches that join them, where links cross
  for (let r = 1; r < rows.length; ++r) {
    const crosses = vertices[rows[r - 1][0]].kind !== "gpu" && vertices[rows[r][0]].kind === "gpu";
    heights.push(heights[r - 1] + (crosses ? 112 : rowHeight));
  }
  const placed = new Set();
  const gpuRows = rows.filter((row) => vertices[row[0]].kind === "gpu");
  for (const row of [...gpuRows, ...rows.filter((row) => !gpuRows.includes(row))]) {
    const isGpus = gpuRows.includes(row);
    row.forEach((vertex, i) => {
      const known = [...neighbours[vertex]].filter((other) => placed.has(other));
      at[vertex] = {
        x: isGpus || known.length === 0 ? (i - (row.length - 1) / 2) * pitch : mean(known.map((v) => at[v].x)),
        y: -heights[rows.indexOf(row)],
      };
    });
    if (!isGpus) spread(row, Math.max(pitch * 0.9, ...row.map((vertex) => widthOf(vertices[vertex]) + 5)), at);
    row.forEach((vertex) => placed.add(vertex));
  }
  const left = Math.min(...members.map((v) => at[v].x)) - 46;
  const right = Math.max(...members.map((v) => at[v].x)) + 46;
  members.forEach((vertex) => {
    at[vertex].x -= left;
    at[vertex].y -= 44;
  });
  return { width: right - left, height: heights[rows.length - 1] + 88 };
}

/** Machines, and GPUs that share their first switch, as groups of vertices. */
function groupsOf(vertices, neighbours) {
  const groups = new Map();
  const inNode = (node) => indices(vertices, (vertex) => vertex.node === node).length;
  vertices.forEach((vertex, at) => {
    let key = null;
    if (vertex.node !== undefined && inNode(vertex.node) > 1) {
      key = `node ${vertex.node}`;
    } else if (vertex.kind === "gpu" || vertex.kind === "nic") {
      key = `switch ${Math.min(...neighbours[at])}`;
    }
    if (key !== null) {
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(at);
    }
  });
  const first = (group) => Math.min(...group.members.map((at) => vertices[at].rank ?? Infinity));
  return [...groups]
    .map(([key, members]) => ({ members, isMachine: key.startsWith("node") }))
    .sort((a, b) => first(a) - first(b));
}

/** How far above the groups each switch of the fabric is: 1 is next to them. */
function levelsOf(vertices, neighbours, groups) {
  const level = new Map();
  groups.forEach((group) => group.members.forEach((at) => level.set(at, 0)));
  for (let reached = [...level.keys()], height = 1; reached.length > 0; ++height) {
    reached = [...new Set(reached.flatMap((at) => [...neighbours[at]]))].filter((at) => !level.has(at));
    reached.forEach((at) => level.set(at, height));
  }
  return level;
}

/** Whether the switches of the fabric are all next to GPUs and linked among each other, as in a dragonfly. */
function isWheel(vertices, links, level, groups) {
  const switches = indices(vertices, (_, at) => level.get(at) > 0);
  const inside = new Set(switches);
  return switches.length > 2 && switches.every((at) => level.get(at) === 1) && !groups.some((g) => g.isMachine) &&
    links.some((link) => inside.has(link.from) && inside.has(link.to));
}

/** Switches round a circle, their GPUs outside. */
function onWheel(vertices, neighbours, level, at) {
  const hubs = indices(vertices, (_, v) => level.get(v) === 1);
  const gpusOf = (hub) => gpusInOrder(vertices, [...neighbours[hub]]);
  const gpus = hubs.reduce((sum, hub) => sum + gpusOf(hub).length, 0);
  const radius = Math.max(170, (gpus * gpuRadius * 2.5) / (2 * Math.PI) - 90, (hubs.length * 56) / (2 * Math.PI));
  const outer = radius + 92;
  let before = 0;
  for (const hub of hubs) {
    const own = gpusOf(hub);
    const angleOf = (number) => (2 * Math.PI * number) / Math.max(gpus, 1) - Math.PI / 2;
    own.forEach((gpu, i) => {
      at[gpu] = { x: outer * Math.cos(angleOf(before + i)), y: outer * Math.sin(angleOf(before + i)) };
    });
    const angle = angleOf(before + (own.length - 1) / 2);
    at[hub] = { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
    before += own.length;
  }
}

/** Groups side by side, the switches of the fabric above them, or between two rows of groups where one is too long. */
function inLayers(vertices, links, neighbours, groups, level, at) {
  const gap = 34;
  const leastRow = 104;  // between rows of switches
  const widest = 1.7;  // of one row of groups, in its heights
  groups.forEach((group) => Object.assign(group, setOut(vertices, links, neighbours, group.members, at)));
  const length = (list) => list.reduce((sum, group) => sum + group.width + gap, -gap);
  const fabric = indices(vertices, (_, v) => level.get(v) > 0);
  const tallest = Math.max(...groups.map((group) => group.height));
  const levels = Math.max(0, ...fabric.map((v) => level.get(v)));
  const two = fabric.length > 0 && groups.length > 1 && length(groups) > widest * (tallest + (levels + 0.3) * leastRow);
  const split = two ? Math.ceil(groups.length / 2) : groups.length;
  const bands = [groups.slice(0, split), groups.slice(split)];
  const bandOf = new Map();  // 0: lower, 1: upper
  const sides = fabric.map(() => new Set());
  bands.forEach((band, b) => band.forEach((group) => group.members.forEach((v) => bandOf.set(v, b))));
  // A switch belongs to a row of groups if it reaches no other going down.
  const reach = new Map();
  const reachOf = (v) => {
    if (bandOf.has(v)) return new Set([bandOf.get(v)]);
    if (!reach.has(v)) {
      reach.set(v, new Set());
      const below = [...neighbours[v]].filter((other) => level.get(other) < level.get(v));
      reach.set(v, new Set(below.flatMap((other) => [...reachOf(other)])));
    }
    return reach.get(v);
  };
  fabric.forEach((v, i) => reachOf(v).forEach((side) => sides[i].add(side)));
  const rows = new Map();  // by where they stand between the two rows of groups, from below
  fabric.forEach((v, i) => {
    const key = sides[i].size === 2 ? 1000 + level.get(v) : sides[i].has(1) ? 3000 - level.get(v) : level.get(v);
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(v);
  });
  const heights = bands.map((band) => Math.max(0, ...band.map((group) => group.height)));
  const keys = [...rows.keys()].sort((a, b) => a - b);
  // Wide pictures get more height, so that links are not flat.
  const spare = Math.max(...bands.map(length)) * 0.62 - heights[0] - heights[1];
  const rowHeight = Math.min(Math.max(spare / (keys.length + 0.3), leastRow), 190);
  const fabricHeight = keys.length * rowHeight + 34;
  const boxes = [];
  bands.forEach((band, b) => {
    let x = -length(band) / 2;
    for (const group of band) {
      const base = b === 0 ? 0 : -heights[0] - fabricHeight - heights[1];
      for (const v of group.members) {
        at[v].x += x;
        at[v].y = b === 0 ? at[v].y + (group.height - heights[0]) : base - at[v].y - (group.height - heights[1]);
      }
      if (group.isMachine) {
        const name = vertices[group.members[0]].name.split(".")[0];
        boxes.push({ x, y: b === 0 ? -heights[0] : base + heights[1] - group.height, width: group.width,
                     height: group.height, label: name, below: b === 0 });
      }
      x += group.width + gap;
    }
  });
  const done = new Set(groups.flatMap((group) => group.members));
  const full = Math.max(...bands.map(length), 1);
  keys.forEach((key, i) => {
    const row = rows.get(key);
    for (const v of row) {
      const known = [...neighbours[v]].filter((other) => done.has(other) && level.get(other) < level.get(v));
      at[v] = { x: known.length > 0 ? mean(known.map((other) => at[other].x)) : 0,
                y: -heights[0] - 34 - i * rowHeight - 35 };
    }
    const most = full / Math.max(row.length, 1);
    spread(row, Math.max(56, Math.min(150, most)), at);
    row.forEach((v) => done.add(v));
  });
  return boxes;
}

/** Where each vertex stands, the machines drawn as boxes, and which links bend round what is in
    their way: all, those along rows, none. */
function placesOf(vertices, links) {
  const at = new Array(vertices.length);
  const neighbours = neighboursOf(vertices, links);
  const gpus = gpusInOrder(vertices, vertices.map((_, v) => v));
  const others = indices(vertices, (vertex) => vertex.kind !== "gpu");
  const grid = vertices.every((vertex) => vertex.grid) && vertices[0].grid.length > 1;
  if (grid) {
    onGrid(vertices, at);
    return { at, boxes: [], bends: "all" };
  }
  if (others.every((other) => vertices[other].kind === "switch" && gpus.every((gpu) => neighbours[other].has(gpu)))) {
    onCircle(gpus, others, at);
    return { at, boxes: [], bends: "none" };
  }
  const groups = groupsOf(vertices, neighbours);
  const level = levelsOf(vertices, neighbours, groups);
  if (isWheel(vertices, links, level, groups)) {
    onWheel(vertices, neighbours, level, at);
    return { at, boxes: [], bends: "none" };
  }
  return { at, boxes: inLayers(vertices, links, neighbours, groups, level, at), bends: "rows" };
}
