/* ---- curves ---- */

let charts = [];
function alpha(hex, part) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r},${g},${b},${part})`;
}
/* A line across a chart at a time, with a mark on top of it. */
function upright(u, at_s, colour, dash, marked) {
  const { ctx, bbox } = u;
  const x = Math.round(u.valToPos(at_s, "x", true));
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  if (marked) {
    const size = 5 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x - size, bbox.top - size);
    ctx.lineTo(x + size, bbox.top - size);
    ctx.lineTo(x, bbox.top + size / 2);
    ctx.fill();
  }
  ctx.restore();
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
    axes: [{ ...axis, size: 30, values: (u, ticks) => ticks.map((v) => v + " s") }, { ...axis, size: 62, values: (u, ticks) => ticks.map((v) => form(v)) }],
    legend: { live: true },
    cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
    hooks: {
      draw: [(u) => {
        for (const event of here().events) upright(u, event.at_s, event.fails ? css("--warn") : css("--soft"), [], true);
        if (known(time())) upright(u, time(), css("--ink"), [4, 4], false);
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
    chart("Sojourn time (ms)", overlay(of("queueing"), "sojourn time"), ms);
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
      ...(runs.length > 1 ? [] : overlay((run) => run.whole.ninth, "90th percentile", 1, DASH)),
      ...(runs.length > 1 ? [] : overlay((run) => run.whole.median, "median", 2, [2, 3])),
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
