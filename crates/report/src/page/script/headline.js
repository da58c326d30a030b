/* ---- headline: the most important results ---- */

function tile(number, text, action) {
  const box = action ? button(null, action, "tile") : el("div", null, "tile");
  box.append(el("b", number), el("span", text));
  $("headline").append(box);
}
function showTiles() {
  const run = here();
  $("headline").replaceChildren();
  const bad = run.worst;
  if (bad) {
    const lasts = bad.to_s - bad.from_s;
    const full = bad.utilization >= 0.99;
    const show = () => { select("link", bad.link); setTime(bad.at_s); };
    const loses = bad.loss > 0 ? `, loss up to ${percent(bad.loss)}` : ", no loss";
    if (full) tile(`100\u00a0% from ${clock(bad.from_s)}`, `worst moment: ${bad.link} is 100\u00a0% utilized for ${clock(lasts)}${loses}`, show);
    else if (bad.loss > bad.utilization) tile(`${percent(bad.loss)} lost at ${clock(bad.at_s)}`, `worst moment: loss at ${bad.link}, ${percent(bad.utilization)} utilized`, show);
    else tile(`${percent(bad.utilization)} at ${clock(bad.at_s)}`, `worst moment: utilization of ${bad.link}${loses}`, show);
  } else tile("–", "nothing was sent");
  const hurt = most(run.connections, (it) => it.short);
  if (hurt && hurt.short >= 0.0005) {
    const others = run.connections.filter((it) => it !== hurt && it.short >= hurt.short / 2).length;
    tile(percent(hurt.short), `largest throughput loss to competition: ${hurt.name}${others > 0 ? `; at least half as much: ${plural(others, "other")}` : ""}`, () => select("connection", hurt.name));
  } else tile(hurt ? (hurt.short > 0 ? "<0.05\u00a0%" : "0\u00a0%") : "–", hurt ? "largest throughput loss to competition" : "no connections");
  const slow = most(run.connections, (it) => it.delay99) || most(run.connections, (it) => it.delay);
  if (slow) {
    const tail = known(slow.delay99);
    tile(`${signed(slow, ms(tail ? slow.delay99 : slow.delay))}\u00a0ms`, `largest one-way delay: ${slow.name}, ${tail ? `99th percentile; mean ${ms(slow.delay)}\u00a0ms` : "mean"}`, () => select("connection", slow.name));
  } else tile("–", "no packet arrived");
  const t = run.totals;
  const bits = run.connections.map(bps);
  const total = bits.every(known) && bits.length > 0 ? rate(bits.reduce((a, b) => a + b, 0), digits) : `${digits(run.duration_s > 0 ? t.delivered_pkts / run.duration_s : null)}\u00a0pkt/s`;
  tile(total, `delivered by all connections; ${t.lost_pkts > 0 ? `${percent(t.lost_pkts / t.offered_pkts)} of the packets` : "no packets"} lost`);
  const outside = most(run.connections, (it) => it.outside);
  if (outside && outside.outside > 0.01) tile(percent(outside.outside), `of the active time outside the measured range of the profile${notUsable(outside)}: ${outside.name}`, () => select("connection", outside.name));
}
function showRun() {
  const run = here();
  const file = run.manifest.scenario.split(/[\\/]/).pop();
  $("title").textContent = run.title || file;
  $("subtitle").textContent = (run.title ? `${file} · ` : "") + `${model(run)} · ${short(run.end_s)} s of simulated time · ` +
    `${plural(data.map.left_out ? new Set(run.links.flatMap((l) => [l.from, l.to])).size : data.map.nodes.length, "node")}, ${plural(run.links.length, "link")}, ${plural(run.connections.length, "connection")}` +
    (run.manifest.seeds > 1 ? ` · mean of ${run.manifest.seeds} seeds, bands: 95 % confidence intervals` : "") +
    (data.against ? ` · grey: ${data.against.referee}, mean ± one standard deviation (${data.against.name})` : "");
  const whole = run.duration_s >= run.end_s;
  const scope = whole ? "means over the whole run" : `means from ${clock(run.from_s)} to ${clock(run.from_s + run.duration_s)}`;
  for (const note of document.querySelectorAll(".scope")) note.textContent = scope;
  const stopped = run.manifest.reason;
  $("alarm").hidden = run.manifest.complete;
  $("alarm").textContent = run.manifest.complete ? "" : `This run is incomplete: ${stopped || "unknown reason"}.`;
  showTiles();
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
