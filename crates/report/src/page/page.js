
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const state = { run: 0, frame: 0, kind: null, name: null };

  /* ---- small things ---- */

  // Names reach the page here and nowhere else: as text.
  function el(tag, text, className) {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    if (className) node.className = className;
    return node;
  }
  function shape(tag, attributes, className) {
    const node = document.createElementNS(SVG, tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    if (className) node.setAttribute("class", className);
    return node;
  }
  function button(text, action, className) {
    const node = el("button", text, className);
    node.type = "button";
    node.addEventListener("click", action);
    return node;
  }
  const known = (v) => typeof v === "number";
  function short(v, digits = 3) {
    if (!known(v)) return "–";
    if (v === 0) return "0";
    const size = Math.abs(v);
    if (size >= 1e6 || size < 1e-4) return v.toExponential(1).replace("e+", "e");
    if (size >= 10 ** digits) return Math.round(v).toLocaleString("en").replaceAll(",", "\u202f");
    return v.toPrecision(digits);
  }
  const clock = (v) => (known(v) ? `${Number(v.toPrecision(6))}\u00a0s` : "–");
  const percent = (v) => (known(v) ? short(100 * v) + "\u00a0%" : "–");
  /* With the sign of an estimate where the link's queue, or one on the connection's way, is one. */
  const signed = (it, text) => (it.sign || "") + text;
  const notUsable = (connection) => (connection.profile_use === "not usable" ? ", not usable" : "");
  const ms = (v) => (known(v) ? short(1000 * v) : "–");
  const packets = (v) => (known(v) ? short(v) + "\u00a0pkt" : "–");
  function rate(bps) {
    if (!known(bps)) return "–";
    for (const [factor, unit] of [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]]) {
      if (bps >= factor) return short(bps / factor) + "\u00a0" + unit;
    }
    return short(bps) + "\u00a0bit/s";
  }
  const plural = (n, noun) => `${n.toLocaleString("en").replaceAll(",", "\u202f")} ${noun}${n === 1 ? "" : "s"}`;
  const mbps = (c) => (known(c.goodput) && known(c.bytes) ? (c.goodput * c.bytes * 8) / 1e6 : null);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /* ---- what belongs to what ---- */

  const runs = data.runs;
  for (const run of runs) {
    run.linkAt = new Map(run.links.map((link, i) => [link.name, i]));
    run.connectionAt = new Map(run.connections.map((c, i) => [c.name, i]));
    run.through = run.links.map(() => []);
    run.connections.forEach((c, i) => {
      for (const link of new Set([...c.path, ...c.back])) {
        if (run.through[link]) run.through[link].push(i);
      }
    });
  }
  const here = () => runs[state.run];
  const linkOf = (run, name) => run.links[run.linkAt.get(name)];
  const connectionOf = (run, name) => run.connections[run.connectionAt.get(name)];
  const time = () => here().frames[state.frame];

  /* Everything about the selection: names of links, links back, connections and nodes. */
  function related() {
    const all = { links: new Set(), back: new Set(), connections: new Set(), nodes: new Set() };
    const run = here();
    const addConnections = (i) => {
      for (const c of run.through[i] || []) all.connections.add(run.connections[c].name);
    };
    if (state.kind === "link") {
      const i = run.linkAt.get(state.name);
      if (i === undefined) return all;
      all.nodes.add(run.links[i].from).add(run.links[i].to);
      addConnections(i);
    } else if (state.kind === "connection") {
      const c = connectionOf(run, state.name);
      if (!c) return all;
      for (const i of c.path) if (run.links[i]) all.links.add(run.links[i].name);
      for (const i of c.back) if (run.links[i]) all.back.add(run.links[i].name);
      all.nodes.add(c.from).add(c.to);
    } else if (state.kind === "node") {
      run.links.forEach((link, i) => {
        if (link.from !== state.name && link.to !== state.name) return;
        all.links.add(link.name);
        addConnections(i);
      });
    }
    return all;
  }

  /* ---- the map ---- */

  let drawn = { links: [], nodes: [] };
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
  function drawMap() {
    const box = $("map");
    const { nodes, links } = data.map;
    box.replaceChildren();
    drawn = { links: [], nodes: [] };
    if (nodes.length === 0) {
      box.append(el("p", "There are no links.", "none"));
      return;
    }
    const picture = shape("svg", { role: "img", "aria-label": `Map of ${plural(nodes.length, "node")} and ${plural(links.length, "link")}; the tables below have the same in words` });
    box.append(picture);
    const W = Math.max(200, picture.clientWidth || 600);
    const H = Math.max(160, picture.clientHeight || 400);
    picture.setAttribute("viewBox", `0 0 ${W} ${H}`);
    if (nodes.length > 45) picture.classList.add("dense");
    const span = (key) => {
      const values = nodes.map((n) => n[key]);
      const low = values.reduce((a, b) => Math.min(a, b), Infinity);
      const high = values.reduce((a, b) => Math.max(a, b), -Infinity);
      return [low, Math.max(high - low, 0)];
    };
    const [x0, dx] = span("x");
    const [y0, dy] = span("y");
    const padX = 34, padY = 28;
    let sx = dx > 0 ? (W - 2 * padX) / dx : 1;
    let sy = dy > 0 ? (H - 2 * padY) / dy : 1;
    // A layout by forces may be stretched a little to fill its place; positions of a scenario not.
    const most = data.map.placed ? 1 : 1.8;
    if (dx > 0 && dy > 0) {
      sx = Math.min(sx, sy * most);
      sy = Math.min(sy, sx * most);
    }
    const X = (n) => W / 2 + (n.x - x0 - dx / 2) * sx;
    const Y = (n) => H / 2 + (n.y - y0 - dy / 2) * sy;
    const radius = nodes.length > 400 ? 2.5 : nodes.length > 60 ? 4 : 7;
    const thick = widths(links);
    const wires = shape("g"), tops = shape("g");
    links.forEach((link, i) => {
      if (link.from === link.to) return;
      const a = nodes[link.from], b = nodes[link.to];
      let [ax, ay, bx, by] = [X(a), Y(a), X(b), Y(b)];
      const far = Math.hypot(bx - ax, by - ay) || 1;
      const [ux, uy] = [(bx - ax) / far, (by - ay) / far];
      // Each direction on its right side.
      const aside = thick[i] / 2 + 0.8;
      [ax, ay, bx, by] = [ax - uy * aside, ay + ux * aside, bx - uy * aside, by + ux * aside];
      const ends = { x1: ax.toFixed(1), y1: ay.toFixed(1), x2: bx.toFixed(1), y2: by.toFixed(1) };
      const group = shape("g", {}, "link");
      const halo = shape("line", { ...ends, "stroke-width": thick[i] + 5 }, "halo");
      const wire = shape("line", { ...ends, "stroke-width": thick[i] }, "wire");
      const hit = shape("line", { ...ends, "stroke-width": Math.max(9, thick[i] + 3) }, "hit");
      const title = shape("title");
      hit.append(title);
      hit.addEventListener("click", () => select("link", link.name));
      group.append(halo, wire, hit);
      wires.append(group);
      // The queue is where the link begins.
      const back = Math.min(far * 0.3, radius + 9);
      const hot = shape("circle", { cx: (ax + ux * back).toFixed(1), cy: (ay + uy * back).toFixed(1), r: 0 }, "hot");
      tops.append(hot);
      drawn.links.push({ name: link.name, group, wire, hot, title, hit });
    });
    const dots = shape("g");
    nodes.forEach((node) => {
      const group = shape("g", { transform: `translate(${X(node).toFixed(1)} ${Y(node).toFixed(1)})` }, "node");
      group.append(shape("circle", { r: radius }));
      const label = shape("text", { y: -radius - 5, "text-anchor": "middle" });
      const text = node.label || node.name;
      label.textContent = text.length > 26 ? text.slice(0, 25) + "…" : text;
      const wide = Math.min(text.length, 26) * 3.6;
      if (X(node) < wide) label.setAttribute("text-anchor", "start");
      else if (X(node) > W - wide) label.setAttribute("text-anchor", "end");
      const title = shape("title");
      title.textContent = node.label ? `${node.label} (${node.name})` : node.name;
      group.append(label, title);
      group.addEventListener("click", () => select("node", node.name));
      dots.append(group);
      drawn.nodes.push({ name: node.name, group });
    });
    picture.append(wires, dots, tops);
    markMap();
    paintMap();
  }
  /* How full a queue is: of its room, or of 100 packets where that is not known. */
  const fullness = (link, queue) => (known(queue) ? queue / (known(link.room) && link.room > 0 ? link.room : 100) : 0);
  function paintMap() {
    const run = here();
    const size = drawn.links.length > 600 ? 4 : 8;
    for (const it of drawn.links) {
      const link = linkOf(run, it.name);
      const curves = link && link.curves;
      const utilization = curves ? curves.frame_utilization[state.frame] : link && link.utilization;
      const queue = curves ? curves.frame_queue[state.frame] : link && link.mean_queue;
      it.wire.setAttribute("stroke", colour(utilization));
      const full = link ? fullness(link, queue) : 0;
      it.hot.setAttribute("r", full >= 0.25 ? (size * Math.sqrt(Math.min(1, full))).toFixed(1) : 0);
      it.title.textContent = `${it.name}: ${percent(utilization)} utilized, queue up to ${packets(queue)}`;
      it.hit.setAttribute("data-utilization", known(utilization) ? utilization : "");
    }
  }
  function markMap() {
    const all = related();
    const any = state.kind !== null;
    for (const it of drawn.links) {
      const chosen = state.kind === "link" && it.name === state.name;
      const lit = chosen || all.links.has(it.name) || all.back.has(it.name);
      it.group.setAttribute("class", "link" + (chosen ? " chosen" : "") + (all.links.has(it.name) ? " related" : "") +
        (all.back.has(it.name) ? " back" : "") + (any && !lit ? " dim" : ""));
    }
    for (const it of drawn.nodes) {
      const chosen = state.kind === "node" && it.name === state.name;
      it.group.setAttribute("class", "node" + (chosen ? " chosen" : "") + (all.nodes.has(it.name) ? " related" : ""));
    }
  }
  function drawLegend() {
    const box = $("legend");
    box.replaceChildren();
    const scale = shape("svg", { width: 110, height: 10, "aria-hidden": "true" });
    for (let i = 0; i < 22; i += 1) scale.append(shape("rect", { x: i * 5, y: 0, width: 5, height: 10, fill: colour(i / 21) }));
    const utilization = el("span", "utilization 0");
    utilization.append(scale, "100 %");
    const dot = shape("svg", { width: 12, height: 12, "aria-hidden": "true" });
    dot.append(shape("circle", { cx: 6, cy: 6, r: 5 }, "hot"));
    const hot = el("span");
    hot.append(dot, "queue a quarter full or more");
    box.append(utilization, el("span", "thicker: more bandwidth"), hot);
    if (data.map.left_out > 0) {
      box.append(el("strong", `${plural(data.map.links.length, "busiest link")} drawn, ${plural(data.map.left_out, "other")} left out`));
    }
  }

  /* ---- time ---- */

  let playing = null;
  function setFrame(frame) {
    const last = Math.max(0, here().frames.length - 1);
    state.frame = Math.min(last, Math.max(0, Math.round(frame)));
    $("slider").value = state.frame;
    showTime();
  }
  function nearest(times, seconds) {
    let low = 0, high = times.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] < seconds) low = middle;
      else high = middle;
    }
    return Math.abs(times[low] - seconds) <= Math.abs(times[high] - seconds) ? low : high;
  }
  const setTime = (seconds) => setFrame(nearest(here().frames, seconds));
  function showTime() {
    const text = known(time()) ? clock(time()) : "no samples";
    $("clock").textContent = text;
    $("slider").setAttribute("aria-valuetext", text);
    paintMap();
    for (const chart of charts) {
      chart.redraw(false, false);
      chart.setLegend({ idx: nearest(chart.data[0], time()) }, false);
    }
  }
  function play(on) {
    clearInterval(playing);
    playing = null;
    if (on) {
      if (state.frame >= here().frames.length - 1) setFrame(0);
      playing = setInterval(() => (state.frame >= here().frames.length - 1 ? play(false) : setFrame(state.frame + 1)), 80);
    }
    $("play").textContent = on ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", on ? "Pause" : "Play");
  }
  function prepareTime() {
    const n = here().frames.length;
    $("slider").max = Math.max(0, n - 1);
    $("slider").disabled = n < 2;
    $("play").disabled = n < 2;
  }

  /* ---- curves ---- */

  let charts = [];
  function alpha(hex, part) {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${part})`;
  }
  /* Curves: { label, x, y, colour, dash, band: { low, high } }. */
  function chart(title, curves, form) {
    const box = el("div", null, "chart");
    box.append(el("h3", title));
    $("charts").append(box);
    curves = curves.filter((curve) => curve && curve.x.length > 0 && curve.y.length > 0);
    if (curves.length === 0) {
      box.append(el("p", "No samples.", "none"));
      return;
    }
    const tables = [], series = [{ label: "time", value: (u, v) => { return clock(known(v) ? v : time()); } }], bands = [];
    for (const curve of curves) {
      const table = [curve.x];
      if (curve.band) {
        const edge = { label: curve.label + " band", stroke: "transparent", width: 0, points: { show: false }, cursor: false };
        series.push({ ...edge }, { ...edge });
        bands.push({ series: [series.length - 1, series.length - 2], fill: alpha(curve.colour, curve.wide ? 0.28 : 0.18) });
        table.push(curve.band.low, curve.band.high);
      }
      table.push(curve.y);
      series.push({
        label: curve.label, stroke: curve.colour, width: 1.6, dash: curve.dash,
        value: (u, v, i) => { const it = known(v) ? v : u.data[i] && u.data[i][nearest(u.data[0], time())]; return known(it) ? form(it) : "–"; },
        points: { show: curve.x.length < 3 },
      });
      tables.push(table);
    }
    const axis = { stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid"), width: 1 }, font: "11px system-ui, sans-serif" };
    const options = {
      width: Math.max(220, box.clientWidth), height: 150, series, bands,
      scales: {
        x: { time: false },
        y: { range: (u, low, high) => (known(high) ? [Math.min(0, low), high > 0 ? high * 1.08 : 1] : [0, 1]) },
      },
      axes: [{ ...axis, size: 30, values: (u, ticks) => ticks.map((v) => v + " s") }, { ...axis, size: 62, values: (u, ticks) => ticks.map((v) => form(v).replace(/\.0+(?=\D|$)/, "").replace(/(\.\d*?)0+(?=\D|$)/, "$1")) }],
      legend: { live: true },
      cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
      hooks: {
        draw: [(u) => {
          if (!known(time())) return;
          const x = u.valToPos(time(), "x", true);
          if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
          u.ctx.save();
          u.ctx.strokeStyle = css("--ink");
          u.ctx.lineWidth = devicePixelRatio;
          u.ctx.setLineDash([4, 4]);
          u.ctx.beginPath();
          u.ctx.moveTo(x, u.bbox.top);
          u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
          u.ctx.stroke();
          u.ctx.restore();
        }],
      },
    };
    const made = new uPlot(options, uPlot.join(tables), box);
    let pressed = 0;
    made.over.addEventListener("mousedown", (event) => { pressed = event.clientX; });
    made.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressed) < 4) setTime(made.posToVal(event.offsetX, "x"));
    });
    // Edges of bands say nothing in a legend.
    made.root.querySelectorAll(".u-series").forEach((row, i) => {
      if (series[i].label.endsWith(" band") && series[i].cursor === false) row.hidden = true;
    });
    charts.push(made);
  }
  const DASH = [6, 4];
  /* A curve for every run: of what `pick` finds in it. */
  function overlay(pick, label, at = 0, dash) {
    return runs.map((run, i) => {
      const curve = pick(run);
      if (!curve) return null;
      const many = runs.length > 1;
      const drawn = Array.isArray(curve) ? { y: curve } : curve;
      return {
        x: run.x, y: drawn.y, band: drawn.band, label: many ? `${label}, ${run.name}` : label,
        colour: css("--c" + ((many ? i : at) % 5)), dash: many && at > 0 ? DASH : dash,
      };
    });
  }
  function reference(kind, name, quantity, label) {
    const table = data.against && data.against[kind];
    const found = table && table.of.find((it) => it.name === name);
    if (!found || !found.curves[quantity]) return [];
    const curve = found.curves[quantity];
    if (curve.y.every((v) => v === null)) return [];
    return [{ x: table.x, y: curve.y, band: curve.band, wide: true, label: `${label}, ${data.against.referee}`, colour: css("--band"), dash: [2, 3] }];
  }
  function drawCharts() {
    for (const old of charts) old.destroy();
    charts = [];
    $("charts").replaceChildren();
    const name = state.name;
    if (state.kind === "link") {
      const of = (key) => (run) => { const it = linkOf(run, name); return it && it.curves && it.curves[key]; };
      if (!runs.some(of("queue"))) return noCurves("links", here().with_curves[0]);
      chart("Queue (pkt)", [...reference("links", name, 0, "queue"), ...overlay(of("queue"), "queue")], (v) => short(v));
      chart("Queueing delay (ms)", overlay(of("queueing"), "queueing delay"), ms);
      chart("Loss probability", overlay(of("loss"), "loss"), percent);
      chart("Utilization", [...reference("links", name, 1, "utilization"), ...overlay(of("utilization"), "utilization")], percent);
    } else if (state.kind === "connection") {
      const of = (key) => (run) => { const it = connectionOf(run, name); return it && it.curves && it.curves[key]; };
      if (!runs.some(of("send"))) return noCurves("connections", here().with_curves[1]);
      chart("Rate (pkt/s)", [
        ...reference("connections", name, 1, "goodput"),
        ...overlay(of("send"), "sent", 1, DASH), ...overlay(of("goodput"), "goodput"),
      ], (v) => short(v));
      const answered = overlay(of("rtt"), "rtt");
      if (answered.some((it) => it && it.y.some(known))) chart("Round-trip time (ms)", answered, ms);
      chart("One-way delay (ms)", overlay(of("delay"), "delay"), ms);
    } else {
      chart("Utilization of the links", [
        ...overlay((run) => run.whole.highest, "highest"),
        ...(runs.length > 1 ? [] : overlay((run) => run.whole.ninth, "90 % are below", 1, DASH)),
        ...(runs.length > 1 ? [] : overlay((run) => run.whole.median, "half are below", 2, [2, 3])),
      ], percent);
      chart("Packets in all queues", overlay((run) => run.whole.queue, "queued"), (v) => short(v));
      chart("All connections (pkt/s)", [
        ...overlay((run) => run.whole.send, "sent", 1, DASH), ...overlay((run) => run.whole.goodput, "goodput"),
      ], (v) => short(v));
    }
  }
  function noCurves(what, n) {
    $("charts").append(el("p", `Only the ${plural(n, "busiest of the " + what).replace(/s$/, "")} have curves in a report of this size.`, "none"));
  }

  /* ---- what is selected ---- */

  function select(kind, name) {
    state.kind = kind;
    state.name = name;
    showSelection();
  }
  function chips(title, kind, names) {
    if (names.length === 0) return;
    const box = el("div", null, "chips");
    for (const name of names.slice(0, 300)) box.append(button(name, () => select(kind, name)));
    if (names.length > 300) box.append(el("span", `… and ${names.length - 300} more`));
    $("related").append(el("h3", title), box);
  }
  function showSelection() {
    const run = here();
    const all = related();
    $("clear").hidden = state.kind === null;
    $("related").replaceChildren();
    let title = "Whole network", about = `${plural(run.links.length, "link")} and ${plural(run.connections.length, "connection")}. Select one anywhere to see all about it.`;
    if (state.kind === "link") {
      title = `Link ${state.name}`;
      const link = linkOf(run, state.name);
      about = link ? [
        known(link.bps) ? rate(link.bps) : null, known(link.delay) ? `${ms(link.delay)} ms` : null,
        known(link.room) ? `room for ${packets(link.room)}` : null,
        `${percent(link.utilization)} utilized`, `mean queue ${signed(link, packets(link.mean_queue))}`, `longest ${signed(link, packets(link.max_queue))}`, `queueing delay ${signed(link, ms(link.queueing))} ms`,
        `loss ${percent(link.loss)}`,
      ].filter(Boolean).join(" · ") : "These results have no such link.";
      chips(plural(all.connections.size, "connection") + " through it", "connection", [...all.connections]);
    } else if (state.kind === "connection") {
      title = `Connection ${state.name}`;
      const c = connectionOf(run, state.name);
      about = c ? [
        c.from ? `${c.from} to ${c.to}` : null, c.source || null, c.count > 1 ? `×${c.count}` : null,
        `goodput ${short(c.goodput)} pkt/s` + (known(mbps(c)) ? ` = ${short(mbps(c))} Mbit/s` : ""),
        `delay ${signed(c, ms(c.delay))} ms`, `rtt ${signed(c, ms(c.rtt))} ms`, `loss ${percent(c.loss)}`, `outside its profile ${percent(c.outside)} of the time${notUsable(c)}`,
      ].filter(Boolean).join(" · ") : "These results have no such connection.";
      if (c) {
        chips("its path", "link", c.path.map((i) => run.links[i]).filter(Boolean).map((it) => it.name));
        chips("and back", "link", c.back.map((i) => run.links[i]).filter(Boolean).map((it) => it.name));
      }
    } else if (state.kind === "node") {
      title = `Node ${state.name}`;
      about = `${plural(all.links.size, "link")}, ${plural(all.connections.size, "connection")} through it`;
      chips("links", "link", [...all.links]);
      chips("connections", "connection", [...all.connections]);
    }
    $("details-title").textContent = title;
    $("about").textContent = about;
    markMap();
    drawCharts();
    for (const list of lists) list.mark(all);
  }

  /* ---- tables ---- */

  function list(id, kind, noun, rows, columns) {
    const root = $(id), head = root.querySelector("thead"), body = root.querySelector("tbody");
    const search = root.querySelector("input"), more = root.querySelector(".more");
    let sort = 1, down = true, limit = 100, current = [];
    function header() {
      const row = el("tr");
      columns().forEach((column, i) => {
        const cell = el("th");
        cell.scope = "col";
        cell.setAttribute("aria-sort", i === sort ? (down ? "descending" : "ascending") : "none");
        cell.append(button(column.title, () => {
          down = i === sort ? !down : i !== 0;
          sort = i;
          fill();
          head.querySelectorAll("button")[i].focus();
        }));
        row.append(cell);
      });
      head.replaceChildren(row);
    }
    function fill() {
      header();
      const column = columns()[Math.min(sort, columns().length - 1)];
      const wanted = search.value.trim().toLowerCase();
      const text = (row) => [row.name, row.from, row.to, row.source].join(" ").toLowerCase();
      current = rows().filter((row) => wanted === "" || text(row).includes(wanted));
      const order = (a, b) => {
        const [x, y] = [column.value(a), column.value(b)];
        if (typeof x === "string") return x.localeCompare(y, "en", { numeric: true });
        return (known(x) ? x : -Infinity) - (known(y) ? y : -Infinity);
      };
      current.sort((a, b) => (down ? order(b, a) : order(a, b)) || a.name.localeCompare(b.name, "en", { numeric: true }));
      body.replaceChildren();
      current.slice(0, limit).forEach((it, i) => {
        const row = el("tr");
        row.tabIndex = i === 0 ? 0 : -1;
        row.name = it.name;
        columns().forEach((one, k) => {
          const cell = el("td", one.text ? one.text(it) : one.value(it));
          if (k === 0) cell.title = it.name;
          row.append(cell);
        });
        row.addEventListener("click", () => select(kind, it.name));
        row.addEventListener("keydown", (event) => {
          const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
          if (event.key === "Enter" || event.key === " ") select(kind, it.name);
          else if (next) next.focus();
          else return;
          event.preventDefault();
          event.stopPropagation();
        });
        body.append(row);
      });
      if (current.length === 0) {
        const cell = el("td", rows().length === 0 ? `There are no ${noun}s.` : `No ${noun} is called so.`, "none");
        cell.colSpan = columns().length;
        const row = el("tr");
        row.append(cell);
        body.append(row);
      }
      more.hidden = current.length <= limit;
      more.textContent = `Show more of ${plural(current.length, noun)}`;
      mark(related());
    }
    function mark(all) {
      for (const row of body.rows) {
        const chosen = state.kind === kind && row.name === state.name;
        const lit = kind === "link" ? all.links.has(row.name) || all.back.has(row.name) : all.connections.has(row.name);
        row.className = chosen ? "chosen" : lit ? "related" : "";
        row.setAttribute("aria-selected", chosen);
      }
    }
    search.addEventListener("input", () => { limit = 100; fill(); });
    more.addEventListener("click", () => { limit += 500; fill(); });
    return { fill, mark, search };
  }
  const others = (of, title, value, text) => runs.map((run, i) => ({ run, i })).filter(({ i }) => i !== state.run).map(({ run }) => ({
    title: `${title}, ${run.name}`, value: (row) => { const it = of(run, row.name); return it ? value(it) : null; }, text: (row) => { const it = of(run, row.name); return it ? text(it) : "–"; },
  }));
  const lists = [
    list("links", "link", "link", () => here().links, () => [
      { title: "link", value: (it) => it.name },
      { title: "utilization", value: (it) => it.utilization, text: (it) => percent(it.utilization) },
      ...others(linkOf, "utilization", (it) => it.utilization, (it) => percent(it.utilization)),
      { title: "mean queue pkt", value: (it) => it.mean_queue, text: (it) => signed(it, short(it.mean_queue)) },
      ...others(linkOf, "mean queue", (it) => it.mean_queue, (it) => signed(it, short(it.mean_queue))),
      { title: "max queue pkt", value: (it) => it.max_queue, text: (it) => signed(it, short(it.max_queue)) },
      { title: "queueing ms", value: (it) => it.queueing, text: (it) => signed(it, ms(it.queueing)) },
      { title: "loss", value: (it) => it.loss, text: (it) => percent(it.loss) },
      { title: "lost pkt", value: (it) => it.lost, text: (it) => (it.link_lost === undefined ? short(it.lost) : `${short(it.lost)} + ${short(it.link_lost)} on the way`) },
      { title: "bandwidth", value: (it) => it.bps, text: (it) => rate(it.bps) },
    ]),
    list("connections", "connection", "connection", () => here().connections, () => [
      { title: "connection", value: (it) => it.name, text: (it) => (it.count > 1 ? `${it.name} ×${it.count}` : it.name) },
      { title: "goodput pkt/s", value: (it) => it.goodput, text: (it) => short(it.goodput) },
      ...others(connectionOf, "goodput", (it) => it.goodput, (it) => short(it.goodput)),
      { title: "Mbit/s", value: mbps, text: (it) => short(mbps(it)) },
      { title: "delay ms", value: (it) => it.delay, text: (it) => signed(it, ms(it.delay)) },
      { title: "p99 ms", value: (it) => it.delay99, text: (it) => signed(it, ms(it.delay99)) },
      { title: "rtt ms", value: (it) => it.rtt, text: (it) => signed(it, ms(it.rtt)) },
      { title: "loss", value: (it) => it.loss, text: (it) => percent(it.loss) },
      { title: "delivered pkt", value: (it) => it.delivered, text: (it) => short(it.delivered) },
      { title: "outside profile", value: (it) => it.outside, text: (it) => percent(it.outside) + notUsable(it) },
    ]),
  ];

  /* ---- the run ---- */

  function tile(number, text, action) {
    const box = action ? button(null, action, "tile") : el("div", null, "tile");
    box.append(el("b", number), el("span", text));
    $("headline").append(box);
  }
  const most = (items, value) => items.reduce((best, it) => (known(value(it)) && (!best || value(it) > value(best)) ? it : best), null);
  function showRun() {
    const run = here();
    $("title").textContent = run.manifest.scenario.split(/[\\/]/).pop();
    $("subtitle").textContent = `${run.manifest.options.model} model · ${short(run.end_s)} s of network time · ` +
      `${plural(data.map.left_out ? new Set(run.links.flatMap((l) => [l.from, l.to])).size : data.map.nodes.length, "node")}, ${plural(run.links.length, "link")}, ${plural(run.connections.length, "connection")}` +
      (run.manifest.seeds > 1 ? ` · mean of ${run.manifest.seeds} seeds, bands: 95 % confidence of the mean` : "") +
      (run.duration_s < run.end_s ? ` · tables of ${short(run.from_s)} s to ${short(run.from_s + run.duration_s)} s` : "") +
      (data.against ? ` · grey: ${data.against.referee}, mean ± one standard deviation (${data.against.name})` : "");
    const stopped = run.manifest.reason;
    $("alarm").hidden = run.manifest.complete;
    $("alarm").textContent = run.manifest.complete ? "" : `This run did not come to its end: ${stopped || "no reason is known"}.`;
    $("estimate").hidden = !run.estimate;
    $("estimate").textContent = run.estimate || "";
    $("headline").replaceChildren();
    const busy = most(run.links, (it) => it.utilization);
    if (busy) tile(percent(busy.utilization), `busiest link: ${busy.name}`, () => select("link", busy.name));
    const long = most(run.links, (it) => it.mean_queue);
    if (long) tile(signed(long, packets(long.mean_queue)), `longest mean queue: ${long.name}`, () => select("link", long.name));
    const t = run.totals;
    tile(t.offered_pkts > 0 ? percent(t.lost_pkts / t.offered_pkts) : "–", "of the packets sent were lost");
    tile(run.duration_s > 0 ? `${short(t.delivered_pkts / run.duration_s)} pkt/s` : "–", "delivered by all connections");
    const outside = most(run.connections, (it) => it.outside);
    if (outside) tile(percent(outside.outside), outside.outside > 0 ? `of its time outside its profile: ${outside.name}` : "of the time outside a profile's domain", outside.outside > 0 ? () => select("connection", outside.name) : null);
  }
  function showRuns() {
    const box = $("runs");
    box.replaceChildren();
    if (runs.length < 2) return;
    runs.forEach((run, i) => {
      const one = button(null, () => { state.run = i; showAll(); });
      const swatch = el("span", null, "swatch");
      swatch.style.borderTopColor = css("--c" + (i % 5));
      one.append(swatch, run.name);
      one.setAttribute("aria-pressed", i === state.run);
      box.append(one);
    });
  }
  function showFacts() {
    const step = (s) => (s.auto ? `at most ${s.auto.longest_s} s, ${s.auto.per_round_trip} in a round trip` : s.fixed ? `${s.fixed.step_s} s` : s.adaptive ? `adaptive, tolerance ${s.adaptive.tolerance}, ${s.adaptive.min_s} s to ${s.adaptive.max_s} s` : "–");
    const outside = (run) => {
      const some = run.connections.filter((c) => c.outside > 0);
      const worst = most(some, (c) => c.outside);
      return worst ? `${plural(some.length, "connection")}; most ${worst.name}, ${percent(worst.outside)}${notUsable(worst)}` : "none";
    };
    const rows = [
      ["scenario", (r) => r.manifest.scenario], ["digest", (r) => r.manifest.digest],
      ["changed settings", (r) => r.manifest.overrides.join(", ") || "none"],
      ["model", (r) => r.manifest.options.model], ["step", (r) => step(r.manifest.options.step)],
      ["duration", (r) => `${r.end_s} s, recorded every ${r.manifest.every_s} s`],
      ["seed", (r) => (r.manifest.seeds > 1 ? `${r.manifest.seed} and the ${r.manifest.seeds - 1} after it` : String(r.manifest.seed))],
      ["packets", (r) => { const t = r.totals; return `${t.before_pkts ? `${short(t.before_pkts)} under way before + ` : ""}${short(t.offered_pkts, 5)} offered = ${short(t.delivered_pkts, 5)} delivered + ${short(t.lost_pkts)} lost + ${short(t.queued_pkts)} queued + ${short(t.in_flight_pkts)} in flight`; }],
      ["time outside profiles", outside],
      ["steps", (r) => plural(r.manifest.steps, "step")], ["took", (r) => `${short(r.manifest.wall_time_s)} s on ${plural(r.manifest.threads, "thread")}`],
      ["netflow", (r) => r.manifest.version],
      ["curves", (r) => (r.thinned ? `smallest and largest values of ${plural(r.x.length / 2, "stretch").replace("stretchs", "stretches")} of ${plural(r.samples, "interval")}` : `all of ${plural(r.samples, "interval")}`)],
      ["ended", (r) => (r.manifest.complete ? "as planned" : `early: ${r.manifest.reason || ""}`)],
    ];
    for (const name of new Set(runs.flatMap((run) => run.aggregates.map((it) => it.aggregate)))) {
      rows.push([`aggregate ${name}`, (r) => {
        const it = r.aggregates.find((one) => one.aggregate === name);
        return it ? `${rate(it.mean_goodput_bps)} delivered; marked DP0 to DP2: ${it.fractions.map(percent).join(", ")}; loss ${percent(it.loss_probability)}` : "–";
      }]);
    }
    const waits = (r) => r.workloads.flatMap((w) => w.waits.map((it) => [`${w.workload}: ${it.wait}`, it]));
    for (const name of new Set(runs.flatMap((run) => waits(run).map(([name]) => name)))) {
      rows.push([`users of ${name}`, (r) => {
        const it = (waits(r).find(([one]) => one === name) || [])[1];
        if (!it) return "–";
        const steps = it.steps.map((step) => `${step.round_trips}: ${percent(step.share)}`).slice(0, 5).join(", ");
        return `${plural(it.count, "wait")}; mean ${ms(it.mean_s)}, median ${ms(it.median_s)}, 95 % up to ${ms(it.p95_s)}, 99 % up to ${ms(it.p99_s)} ms` +
          (steps ? `; whole round trips ${steps}` : "");
      }]);
    }
    const head = $("fact-table").tHead, body = $("fact-table").tBodies[0];
    head.replaceChildren();
    body.replaceChildren();
    const top = el("tr");
    top.append(el("th"));
    for (const run of runs) top.append(el("th", run.name));
    head.append(top);
    for (const [title, text] of rows) {
      const row = el("tr");
      row.append(el("td", title));
      for (const run of runs) row.append(el("td", text(run)));
      body.append(row);
    }
    $("warnings").replaceChildren();
    for (const run of runs) {
      for (const warning of run.warnings) $("warnings").append(el("li", runs.length > 1 ? `${run.name}: ${warning}` : warning));
    }
  }
  /* The distributions of waits, a picture for every workload. */
  function showUsers() {
    const waits = here().waits;
    $("users").hidden = waits.length === 0;
    $("waits").replaceChildren();
    for (const name of new Set(waits.map((it) => it.workload))) {
      const figure = el("div");
      figure.append(el("h3", `${name}: share of all waits up to a time`), cdf(waits.filter((it) => it.workload === name), name));
      $("waits").append(figure);
    }
  }
  function cdf(curves, name) {
    const width = 520, height = 260, left = 44, right = 12, top = 8, bottom = 36;
    const all = curves.flatMap((it) => it.times).filter((t) => t > 0);
    const low = Math.log10(Math.min(...all)) - 0.02, high = Math.max(Math.log10(Math.max(...all)), low + 0.5);
    const x = (t) => left + (width - left - right) * (Math.log10(t) - low) / (high - low);
    const y = (share) => top + (height - top - bottom) * (1 - share);
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Distributions of what users of ${name} waited` });
    const label = (text, at) => {
      const node = shape("text", at);
      node.textContent = text;
      svg.append(node);
    };
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(shape("line", { x1: left, x2: width - right, y1: y(share), y2: y(share) }, "grid"));
      label(`${100 * share} %`, { x: left - 6, y: y(share) + 4, "text-anchor": "end" });
    }
    // Of many decades only whole ones are written.
    const steps = high - low > 2.5 ? [1] : [1, 2, 5];
    for (let decade = Math.floor(low); decade <= high; decade += 1) {
      for (const step of steps) {
        const t = step * 10 ** decade;
        if (Math.log10(t) < low || Math.log10(t) > high) continue;
        svg.append(shape("line", { x1: x(t), x2: x(t), y1: y(1), y2: y(0) }, "grid"));
        label(`${Number((1000 * t).toPrecision(2))}`, { x: x(t), y: height - bottom + 16, "text-anchor": "middle" });
      }
    }
    label("ms", { x: width - right, y: height - 4, "text-anchor": "end" });
    curves.forEach((it, i) => {
      let path = `M${x(it.times[0]).toFixed(1)} ${y(0).toFixed(1)}`;
      it.times.forEach((t, k) => {
        path += `H${x(t).toFixed(1)}V${y((k + 1) / it.times.length).toFixed(1)}`;
      });
      const curve = shape("path", { d: path }, "cdf");
      curve.style.stroke = `var(--c${i % 5})`;
      svg.append(curve);
      const key = shape("text", { x: left + 8 + 90 * i, y: height - 4 });
      key.textContent = `— ${it.wait}`;
      key.style.fill = `var(--c${i % 5})`;
      svg.append(key);
    });
    return svg;
  }
  function showAll() {
    const at = time();
    showRuns();
    showRun();
    prepareTime();
    for (const one of lists) one.fill();
    showSelection();
    showUsers();
    if (known(at)) setTime(at);
    else setFrame(0);
  }
  function recolour() {
    readColours();
    drawLegend();
    drawMap();
    showRuns();
    drawCharts();
  }

  /* ---- begin ---- */

  readColours();
  drawLegend();
  drawMap();
  showFacts();
  showAll();
  // Where the queues are longest there is most to see.
  if (here().frames.length > 0) {
    let best = 0, highest = -1;
    here().frames.forEach((t, i) => {
      let sum = 0;
      for (const link of here().links) if (link.curves) sum += link.curves.frame_queue[i] || 0;
      if (sum > highest) [best, highest] = [i, sum];
    });
    setFrame(best);
  }
  $("slider").addEventListener("input", (event) => { play(false); setFrame(Number(event.target.value)); });
  $("play").addEventListener("click", () => play(playing === null));
  $("clear").addEventListener("click", () => select(null, null));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (event.key === "Escape") {
      if (target.type === "search" && target.value !== "") return;
      target.blur();
      select(null, null);
    } else if (target.tagName === "INPUT" && target.type === "search") {
      return;
    } else if (event.key === "/") {
      lists[0].search.focus();
      event.preventDefault();
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (target === $("slider")) return;
      play(false);
      setFrame(state.frame + (event.key === "ArrowRight" ? 1 : -1));
      event.preventDefault();
    } else if (event.key === " " && target.tagName !== "BUTTON") {
      play(playing === null);
      event.preventDefault();
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); recolour(); });
  addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); recolour(); });
  let width = document.documentElement.clientWidth, later = 0;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => {
      if (document.documentElement.clientWidth === width) return;
      width = document.documentElement.clientWidth;
      drawMap();
      drawCharts();
    }, 120);
  });
  document.documentElement.dataset.ready = "yes";
})();
