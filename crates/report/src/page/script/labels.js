/* ---- where labels go ---- */

const pen = document.createElement("canvas").getContext("2d");
function wide(text) {
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
const TALL = 14;
const NEAR = 8;
const meets = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
/* Whether a line goes through a box (Liang and Barsky). */
function crosses(box, [ax, ay, bx, by]) {
  let from = 0, to = 1;
  for (const [step, low, high] of [[bx - ax, box.x - ax, box.x + box.w - ax], [by - ay, box.y - ay, box.y + box.h - ay]]) {
    if (step === 0) {
      if (low > 0 || high < 0) return false;
      continue;
    }
    from = Math.max(from, Math.min(low / step, high / step));
    to = Math.min(to, Math.max(low / step, high / step));
    if (from > to) return false;
  }
  return true;
}
/* Boxes around a point, the best first. */
function around(x, y, w, gap) {
  const boxes = [];
  for (const far of [gap, gap + 9, gap + 20]) {
    for (const [dx, dy] of [[0, -1], [1, -0.7], [-1, -0.7], [1, 0], [-1, 0], [0, 1], [1, 0.7], [-1, 0.7]]) {
      boxes.push({ x: x + dx * far + (dx > 0 ? 0 : dx < 0 ? -w : -w / 2), y: y + dy * far + (dy < 0 ? -TALL : dy > 0 ? 0 : -TALL / 2), w, h: TALL });
    }
  }
  return boxes;
}
/* Beside a line, on its own side of it and then on the other. */
function beside([ax, ay, bx, by], w, gap) {
  const far = Math.hypot(bx - ax, by - ay) || 1;
  const boxes = [];
  for (const side of [1, -1]) {
    for (const part of [0.5, 0.38, 0.62, 0.26, 0.74]) {
      const nx = (-(by - ay) / far) * side, ny = ((bx - ax) / far) * side;
      const off = gap + Math.abs(nx) * w / 2 + Math.abs(ny) * TALL / 2;
      boxes.push({ x: ax + part * (bx - ax) + nx * off - w / 2, y: ay + part * (by - ay) + ny * off - TALL / 2, w, h: TALL });
    }
  }
  return boxes;
}
/* Places labels one after the other: each where it meets no other label and no node, and crosses the fewest
   lines; one that has no such place is left out. `labels` have `boxes` and, of a node,
   its place as `own`, and get `box`. */
function place(labels, nodes, lines, W, H) {
  const taken = [];
  for (const label of labels) {
    let best = null, least = Infinity;
    label.boxes.forEach((box, i) => {
      if (box.x < 0 || box.y < 0 || box.x + box.w > W || box.y + box.h > H) return;
      if (taken.some((other) => meets(box, other)) || nodes.some((node) => meets(box, node))) return;
      // Beside another node it would look like its name.
      const near = { x: box.x - NEAR, y: box.y - NEAR, w: box.w + 2 * NEAR, h: box.h + 2 * NEAR };
      const close = nodes.filter((node, k) => k !== label.own && meets(near, node)).length;
      const cost = 4 * lines.filter((line) => crosses(box, line)).length + 12 * close + i / 4;
      if (cost < least) [best, least] = [box, cost];
    });
    label.box = best;
    if (best) taken.push(best);
  }
}
