// The picture as geometry: where things stand, how links run between them, and where a message is on its way.

const radiusOf = (vertex) => ({ gpu: gpuRadius, switch: 21, nic: 11, host: 13 })[vertex.kind] ?? 12;
const nameOnMark = (vertex) => vertex.name.split(".").pop();
/** Half of a switch's mark, which its name has to fit into, without the second line of one that can add up. */
const halfOfSwitch = (vertex) => Math.max(radiusOf(vertex), nameOnMark(vertex).length * 3.1 + 5);
const secondLine = 3.5;
/** How wide a mark is. */
const widthOf = (vertex) =>
  2 * (vertex.kind === "switch" ? halfOfSwitch(vertex) + (vertex.reduces ? secondLine : 0) : radiusOf(vertex));
/** How near to the middle of a vertex its links end: under its mark, which is drawn over them, whatever side they come from. */
const coveredBy = (vertex) => (vertex.kind === "gpu" ? gpuRadius : radiusOf(vertex) * 0.5);

/** Whether a straight line from a to b would run through another vertex. */
function isBlocked(places, vertices, from, to) {
  const a = places[from];
  const b = places[to];
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const square = dx * dx + dy * dy;
  return places.some((p, v) => {
    if (v === from || v === to) return false;
    const along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / square;
    if (along <= 0.02 || along >= 0.98) return false;
    return Math.hypot(a.x + along * dx - p.x, a.y + along * dy - p.y) < radiusOf(vertices[v]) * 0.8;
  });
}

/** One direction of a link as a curve: three points of Bézier, its length. ra and rb: how much of the ends is covered. */
function curveOf(a, b, bend, ra, rb, side) {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const nx = -(b.y - a.y) / length;
  const ny = (b.x - a.x) / length;
  // Traffic keeps to the right by `side`, so that both directions are seen.
  const start = { x: a.x + nx * side, y: a.y + ny * side };
  const end = { x: b.x + nx * side, y: b.y + ny * side };
  const control = { x: (start.x + end.x) / 2 + nx * bend, y: (start.y + end.y) / 2 + ny * bend };
  const towards = (p, q, by) => {
    const far = Math.hypot(q.x - p.x, q.y - p.y) || 1;
    return { x: p.x + ((q.x - p.x) * by) / far, y: p.y + ((q.y - p.y) * by) / far };
  };
  const p0 = towards(start, control, Math.min(ra, length / 3));
  const p2 = towards(end, control, Math.min(rb, length / 3));
  const through = Math.hypot(control.x - p0.x, control.y - p0.y) + Math.hypot(p2.x - control.x, p2.y - control.y);
  return { p0, p1: control, p2, length: (through + Math.hypot(p2.x - p0.x, p2.y - p0.y)) / 2 };
}

/** Which way a curve runs at a part of it, in degrees. */
function slopeOn(curve, t) {
  const dx = (1 - t) * (curve.p1.x - curve.p0.x) + t * (curve.p2.x - curve.p1.x);
  const dy = (1 - t) * (curve.p1.y - curve.p0.y) + t * (curve.p2.y - curve.p1.y);
  return (Math.atan2(dy, dx) * 180) / Math.PI;
}

function pointOn(curve, t) {
  const u = 1 - t;
  return {
    x: u * u * curve.p0.x + 2 * u * t * curve.p1.x + t * t * curve.p2.x,
    y: u * u * curve.p0.y + 2 * u * t * curve.p1.y + t * t * curve.p2.y,
  };
}

/** Everything that the stage draws: places, boxes, curves by link, and the frame around all of it. */
function layOut(vertices, links) {
  const { at, boxes, bends } = placesOf(vertices, links);
  // In rows of things only links along a row can have something in their way.
  const mayBend = (a, b) => bends === "all" || (bends === "rows" && Math.abs(a.y - b.y) < 8);
  const side = links.length > 150 ? 3 : links.length > 60 ? 4 : 5;
  const seen = new Map();
  const curves = links.map((link) => {
    const pair = `${link.from} ${link.to}`;
    const parallel = seen.get(pair) ?? 0;
    seen.set(pair, parallel + 1);
    const a = at[link.from];
    const b = at[link.to];
    const far = Math.hypot(b.x - a.x, b.y - a.y);
    let bend = parallel * 26;
    if (mayBend(a, b) && isBlocked(at, vertices, link.from, link.to)) bend += Math.min(90, 26 + far * 0.16);
    // Both directions of a cable bend to the same side.
    const turned = link.from < link.to ? bend : -bend;
    return curveOf(a, b, turned, coveredBy(vertices[link.from]), coveredBy(vertices[link.to]), side);
  });
  const xs = [];
  const ys = [];
  const include = (x, y, margin) => {
    xs.push(x - margin, x + margin);
    ys.push(y - margin, y + margin);
  };
  at.forEach((p, v) => include(p.x, p.y, radiusOf(vertices[v]) + 16));
  curves.forEach((curve) => {
    const middle = pointOn(curve, 0.5);
    include(middle.x, middle.y, 14);
  });
  boxes.forEach((box) => {
    include(box.x, box.y, 8);
    include(box.x + box.width, box.y + box.height, 8);
    include(box.x, box.below ? box.y + box.height + 20 : box.y - 20, 8);
  });
  const left = Math.min(...xs);
  const top = Math.min(...ys);
  return { at, boxes, curves, side, left, top, width: Math.max(...xs) - left, height: Math.max(...ys) - top };
}

/** How a path runs: its curves one behind the other. */
function trackOf(layout, links) {
  const curves = links.map((link) => layout.curves[link]);
  return { curves, length: curves.reduce((sum, curve) => sum + curve.length, 0) };
}

/** Where one is on a track after a part of it. */
function pointOfTrack(track, part) {
  let left = Math.min(Math.max(part, 0), 1) * track.length;
  for (const curve of track.curves) {
    if (left <= curve.length || curve === track.curves[track.curves.length - 1]) {
      return pointOn(curve, curve.length > 0 ? Math.min(left / curve.length, 1) : 0);
    }
    left -= curve.length;
  }
  return { x: 0, y: 0 };
}
