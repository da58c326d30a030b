/* ---- the map ---- */

/* Above so many nodes only the busiest have their names on the map. */
const MANY_NAMES = 45;
const BUSIEST = 5;
let drawn = { links: [], nodes: [], pairs: [] };
let scaleColours = [];
const STOPS = [0, 0.25, 0.5, 0.8, 1];
function readColours() {
  scaleColours = [0, 1, 2, 3, 4].map((i) => {
    const hex = css("--u" + i).slice(1);
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  });
}
function colour(utilization) {
  const u = Math.min(1, Math.max(0, known(utilization) ? utilization : 0));
  let i = 0;
  while (i < 3 && u > STOPS[i + 1]) i += 1;
  const part = (u - STOPS[i]) / (STOPS[i + 1] - STOPS[i]);
  const mix = scaleColours[i].map((a, k) => Math.round(a + part * (scaleColours[i + 1][k] - a)));
  return `rgb(${mix.join(",")})`;
}
function widths(links) {
  const logs = links.map((link) => (link.bps > 0 ? Math.log10(link.bps) : null));
  const have = logs.filter(known);
  const low = have.reduce((a, b) => Math.min(a, b), Infinity);
  const high = have.reduce((a, b) => Math.max(a, b), -Infinity);
  const thick = links.length > 600 ? 4 : links.length > 120 ? 6 : 8;
  return logs.map((log) => (known(log) ? thick - ((thick - 2) * (high - log)) / Math.max(high - low, 1) : thick * 0.6));
}
const cut = (text) => (text.length > 26 ? text.slice(0, 25) + "…" : text);
/* The first of those that something has the most of. */
function busiest(items, value) {
  return [...items].filter((it) => value(it) > 0).sort((a, b) => value(b) - value(a)).slice(0, BUSIEST);
}
function drawMap() {
  const box = $("map");
  const { nodes, links } = data.map;
  box.replaceChildren();
  drawn = { links: [], nodes: [], pairs: [] };
  if (nodes.length === 0) {
    box.append(el("p", "There are no links.", "none"));
    return;
  }
  const picture = shape("svg", { role: "group", "aria-label": `Map of ${plural(nodes.length, "node")} and ${plural(links.length, "link")}. Arrow keys move from node to node, with Shift they select the link to it.` });
  box.append(picture);
  const span = (key) => {
    const values = nodes.map((n) => n[key]);
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    return [low, Math.max(high - low, 0)];
  };
  const [x0, dx] = span("x");
  const [y0, dy] = span("y");
  const padX = 40, padY = 30;
  const W = Math.max(200, box.clientWidth || 600);
  // A small network has a low map.
  const tallest = Math.min(picture.clientHeight || 400, 140 + 30 * nodes.length);
  // No taller than necessary.
  const needed = dx > 0 ? ((W - 2 * padX) * dy) / dx + 2 * padY : tallest;
  const H = Math.round(Math.min(tallest, Math.max(needed, 110)));
  picture.style.height = `${H}px`;
  picture.setAttribute("viewBox", `0 0 ${W} ${H}`);
  let sx = dx > 0 ? (W - 2 * padX) / dx : 1;
  let sy = dy > 0 ? (H - 2 * padY) / dy : 1;
  // A layout by forces may be stretched a little to fill its place; positions of a scenario not.
  const stretch = data.map.placed ? 1 : 1.8;
  if (dx > 0 && dy > 0) {
    sx = Math.min(sx, sy * stretch);
    sy = Math.min(sy, sx * stretch);
  }
  const X = (n) => W / 2 + (n.x - x0 - dx / 2) * sx;
  const Y = (n) => H / 2 + (n.y - y0 - dy / 2) * sy;
  const radius = nodes.length > 400 ? 2.5 : nodes.length > 60 ? 4 : 7;
  const thick = widths(links);
  const wires = shape("g"), tops = shape("g"), crossings = shape("g");
  const pairs = new Map();
  // How wide the links are together that lead the same way and are drawn already.
  const before = new Map();
  links.forEach((link, i) => {
    if (link.from === link.to) return;
    const a = nodes[link.from], b = nodes[link.to];
    let [ax, ay, bx, by] = [X(a), Y(a), X(b), Y(b)];
    const middle = [(ax + bx) / 2, (ay + by) / 2];
    const far = Math.hypot(bx - ax, by - ay) || 1;
    const [ux, uy] = [(bx - ax) / far, (by - ay) / far];
    // Each direction on its right side, each circuit beside the last.
    const way = [link.from, link.to].join(" ");
    const first = before.get(way) || 0;
    const aside = first + thick[i] / 2 + 0.8;
    before.set(way, aside + thick[i] / 2);
    [ax, ay, bx, by] = [ax - uy * aside, ay + ux * aside, bx - uy * aside, by + ux * aside];
    const ends = { x1: ax.toFixed(1), y1: ay.toFixed(1), x2: bx.toFixed(1), y2: by.toFixed(1) };
    const group = shape("g", {}, "link");
    const halo = shape("line", { ...ends, "stroke-width": thick[i] + 5 }, "halo");
    const wire = shape("line", { ...ends, "stroke-width": thick[i] }, "wire");
    const hit = shape("line", { ...ends, "stroke-width": Math.max(9, thick[i] + 3), "data-name": link.name }, "hit");
    hit.addEventListener("click", () => select("link", link.name));
    group.append(halo, wire, hit);
    wires.append(group);
    // The queue is where the link begins.
    const back = Math.min(far * 0.3, radius + 9);
    const hot = shape("circle", { cx: (ax + ux * back).toFixed(1), cy: (ay + uy * back).toFixed(1), r: 0 }, "hot");
    tops.append(hot);
    const key = [Math.min(link.from, link.to), Math.max(link.from, link.to), circuit(link.name)].join(" ");
    if (!pairs.has(key)) {
      const off = first > 0 ? aside : 0;
      const [mx, my] = [middle[0] - uy * off, middle[1] + ux * off];
      const arm = radius < 5 ? 4 : 7;
      const cross = shape("path", { d: `M-${arm} -${arm}L${arm} ${arm}M-${arm} ${arm}L${arm} -${arm}`, transform: `translate(${mx.toFixed(1)} ${my.toFixed(1)})` }, "cross");
      crossings.append(cross);
      pairs.set(key, { cross, names: [] });
    }
    pairs.get(key).names.push(link.name);
    const it = { name: link.name, group, wire, hot, hit, line: [ax, ay, bx, by], thick: thick[i], label: null };
    drawn.links.push(it);
    pointing(hit, () => it.told, () => beside(it.line, wide(it.told), it.thick / 2 + 4), W, H);
  });
  drawn.pairs = [...pairs.values()];
  const dots = shape("g");
  nodes.forEach((node, i) => {
    const name = node.label ? `${node.label} (${node.name})` : node.name;
    const [x, y] = [X(node), Y(node)];
    const group = shape("g", { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, tabindex: i === 0 ? 0 : -1, role: "button", "aria-label": `Node ${name}` }, "node");
    group.append(shape("circle", { r: radius }));
    group.addEventListener("click", () => select("node", node.name));
    group.addEventListener("keydown", (event) => walk(event, i));
    dots.append(group);
    drawn.nodes.push({ name: node.name, text: cut(node.label || node.name), group, x, y, at: i });
    pointing(group, () => name, () => around(x, y, wide(name), radius + 4), W, H);
  });
  picture.append(wires, dots, tops, crossings);
  writeNames(picture, radius, W, H);
  markMap();
  paintMap();
}
/* Names of nodes, and how busy the busiest links are. */
function writeNames(picture, radius, W, H) {
  const run = here();
  const carried = new Map();
  for (const link of run.links) {
    const bits = (link.utilization || 0) * (link.bps || 1);
    for (const end of [link.from, link.to]) carried.set(end, (carried.get(end) || 0) + bits);
  }
  const few = drawn.nodes.length <= MANY_NAMES;
  const named = few ? drawn.nodes : busiest(drawn.nodes, (it) => carried.get(it.name) || 0);
  const links = busiest(drawn.links, (it) => { const link = linkOf(run, it.name); return (link && link.utilization) || 0; });
  const labels = [
    ...named.map((it) => ({ text: it.text, kind: "name", own: it.at, boxes: around(it.x, it.y, wide(it.text), radius + 3) })),
    ...links.map((it) => ({ text: "100 %", kind: "load", link: it, boxes: beside(it.line, wide("100 %") + 4, it.thick / 2 + 3) })),
  ];
  const discs = drawn.nodes.map((it) => ({ x: it.x - radius, y: it.y - radius, w: 2 * radius, h: 2 * radius }));
  place(labels, discs, drawn.links.map((it) => it.line), W, H);
  for (const label of labels) {
    if (!label.box) continue;
    const text = shape("text", { x: (label.box.x + label.box.w / 2).toFixed(1), y: (label.box.y + 11).toFixed(1), "text-anchor": "middle" }, label.kind);
    text.textContent = label.text;
    if (label.link) label.link.label = text;
    picture.append(text);
  }
  const pointed = shape("g", {}, "pointed");
  pointed.append(shape("rect", { rx: 3, height: TALL + 4 }), shape("text", { y: 13, x: 4 }));
  picture.append(pointed);
}
/* While something is pointed at, or has the focus, it says what it is. */
function pointing(target, text, boxes, W, H) {
  const show = () => {
    const pointed = $("map").querySelector(".pointed");
    const [rect, words] = pointed.children;
    words.textContent = text();
    const w = wide(words.textContent) + 8;
    const box = boxes()[0];
    rect.setAttribute("width", w);
    pointed.setAttribute("transform", `translate(${Math.max(0, Math.min(W - w, box.x - 4)).toFixed(1)} ${Math.max(0, Math.min(H - TALL - 4, box.y - 2)).toFixed(1)})`);
    pointed.classList.add("shown");
  };
  const hide = () => $("map").querySelector(".pointed").classList.remove("shown");
  target.addEventListener("pointerenter", show);
  target.addEventListener("focus", () => { if (target.matches(":focus-visible")) show(); });
  for (const end of ["pointerleave", "blur"]) target.addEventListener(end, hide);
}
/* The keys of a node on the map: arrows to the next node, with Shift to the link, Enter to select. */
function walk(event, from) {
  const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
  const node = drawn.nodes[from];
  if (event.key === "Enter" || event.key === " ") {
    select("node", node.name);
  } else if (way) {
    const linked = new Map(data.map.links.filter((it) => it.from === from).map((it) => [it.to, it.name]));
    let next = null, least = Infinity;
    for (const other of drawn.nodes) {
      if (event.shiftKey && !linked.has(other.at)) continue;
      const [ox, oy] = [other.x - node.x, other.y - node.y];
      const along = ox * way[0] + oy * way[1], far = Math.hypot(ox, oy);
      if (other === node || along < 0.38 * far) continue;
      const cost = event.shiftKey ? -along / far : far * (2 - along / far);
      if (cost < least) [next, least] = [other, cost];
    }
    if (next && event.shiftKey) select("link", linked.get(next.at));
    else if (next) {
      node.group.setAttribute("tabindex", -1);
      next.group.setAttribute("tabindex", 0);
      next.group.focus();
    }
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
/* How full a queue is: of its room, or of 100 packets where that is not known. */
const fullness = (link, queue) => (known(queue) ? queue / (known(link.room) && link.room > 0 ? link.room : 100) : 0);
function paintMap() {
  const run = here();
  const gone = down();
  const size = drawn.links.length > 600 ? 4 : 8;
  for (const it of drawn.links) {
    const link = linkOf(run, it.name);
    const curves = link && link.curves;
    const utilization = curves ? curves.frame_utilization[state.frame] : link && link.utilization;
    const queue = curves ? curves.frame_queue[state.frame] : link && link.mean_queue;
    it.wire.setAttribute("stroke", colour(utilization));
    it.group.classList.toggle("down", gone.has(it.name));
    const full = link ? fullness(link, queue) : 0;
    it.hot.setAttribute("r", full >= 0.25 ? (size * Math.sqrt(Math.min(1, full))).toFixed(1) : 0);
    it.told = gone.has(it.name) ? `${it.name} is down` : `${it.name}: ${percent(utilization)} utilized, queue up to ${packets(queue)}`;
    it.hit.setAttribute("aria-label", it.told);
    it.hit.setAttribute("data-utilization", known(utilization) ? utilization : "");
    if (it.label) it.label.textContent = gone.has(it.name) ? "down" : known(utilization) ? `${Math.round(100 * utilization)} %` : "";
  }
  for (const { cross, names } of drawn.pairs) cross.classList.toggle("shown", names.some((name) => gone.has(name)));
}
function markMap() {
  const all = related();
  const any = state.kind !== null;
  const gone = down();
  for (const it of drawn.links) {
    const chosen = state.kind === "link" && it.name === state.name;
    const lit = chosen || all.links.has(it.name) || all.back.has(it.name);
    it.group.setAttribute("class", "link" + (chosen ? " chosen" : "") + (all.links.has(it.name) ? " related" : "") +
      (all.back.has(it.name) ? " back" : "") + (any && !lit ? " dim" : "") + (gone.has(it.name) ? " down" : ""));
  }
  for (const it of drawn.nodes) {
    const chosen = state.kind === "node" && it.name === state.name;
    it.group.setAttribute("class", "node" + (chosen ? " chosen" : "") + (all.nodes.has(it.name) ? " related" : ""));
  }
}
function drawLegend() {
  const box = $("legend");
  box.replaceChildren();
  const scale = shape("svg", { width: 80, height: 10, "aria-hidden": "true" });
  for (let i = 0; i < 16; i += 1) scale.append(shape("rect", { x: i * 5, y: 0, width: 5, height: 10, fill: colour(i / 15) }));
  const utilization = el("span", "utilization 0\u00a0%");
  utilization.append(scale, "100 %");
  const dot = shape("svg", { width: 12, height: 12, "aria-hidden": "true" });
  dot.append(shape("circle", { cx: 6, cy: 6, r: 5 }, "hot"));
  const hot = el("span");
  hot.append(dot, "queue at least 25\u00a0% full");
  box.append(utilization, el("span", "line width: bandwidth"), hot);
  if (here().events.some((it) => it.fails)) {
    const mark = shape("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" });
    mark.append(shape("line", { x1: 0, y1: 6, x2: 26, y2: 6, "stroke-width": 3 }, "wire gone"), shape("path", { d: "M8 1L18 11M8 11L18 1" }, "cross shown"));
    const failed = el("span");
    failed.append(mark, "down");
    box.append(failed);
  }
  if (data.map.left_out > 0) {
    box.append(el("strong", `${plural(data.map.links.length, "busiest link")} shown, ${plural(data.map.left_out, "other")} omitted`));
  }
}
