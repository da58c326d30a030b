/* ---- selection ---- */

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
/* The selection, in words. */
function described() {
  const run = here();
  if (state.kind === "link") {
    const link = linkOf(run, state.name);
    return link ? [
      known(link.bps) ? rate(link.bps) : null, known(link.delay) ? `${ms(link.delay)} ms` : null,
      known(link.room) ? `buffer ${packets(link.room)}` : null,
      `${percent(link.utilization)} utilized`, `mean queue ${signed(link, packets(link.mean_queue))}`, `maximum ${signed(link, packets(link.max_queue))}`,
      `sojourn time ${signed(link, ms(link.queueing))} ms`,
      `loss ${lossOf(link)}: ${short(link.lost)} of ${packets(link.offered)}`,
      known(link.link_lost) ? `${short(link.link_lost)} lost in transit` : null,
      known(link.marked) ? `${short(link.marked)} marked` : null,
    ].filter(Boolean).join(" · ") : "This link is not in these results.";
  }
  if (state.kind === "connection") {
    const c = connectionOf(run, state.name);
    if (!c) return "This connection is not in these results.";
    const parts = [["median", c.delay50], ["p95", c.delay95], ["p99", c.delay99], ["p99.9", c.delay999]].filter(([, v]) => known(v));
    return [
      c.from ? `${c.from} to ${c.to}` : null, c.source || null, c.count > 1 ? `×${c.count}` : null,
      `goodput ${c.goodput_sign || ""}${short(c.goodput)} pkt/s` + (known(bps(c)) ? ` = ${rate(bps(c))}` : ""),
      known(c.short) ? `throughput lost to competition ${percent(c.short)}` : null,
      `delay ${signed(c, ms(c.delay))} ms` + (parts.length > 0 ? ` (${parts.map(([part, v]) => `${part} ${signed(c, ms(v))}`).join(", ")})` : ""),
      known(c.jitter) ? `jitter ${signed(c, ms(c.jitter))} ms` : null,
      `rtt ${signed(c, ms(c.rtt))} ms`, `loss ${lossOf(c)}`,
      c.profile_use ? `outside the measured range of its profile for ${percent(c.outside)} of the time${notUsable(c)}` : null,
    ].filter(Boolean).join(" · ");
  }
  if (state.kind === "node") {
    const all = related();
    return `${plural(all.links.size, "link")}, ${plural(all.connections.size, "connection")} through it`;
  }
  return `${plural(run.links.length, "link")} and ${plural(run.connections.length, "connection")}. Select one on the map or in a table to see its details.`;
}
/* What belongs to the selection at the slider's time, as buttons, on the map and in the tables. */
function showRelated() {
  const run = here();
  const all = related();
  $("related").replaceChildren();
  if (state.kind === "link") {
    chips(plural(all.connections.size, "connection") + " through it", "connection", [...all.connections]);
  } else if (state.kind === "connection") {
    const c = connectionOf(run, state.name);
    const way = c ? wayOf(c) : { path: [], back: [] };
    const names = (path) => path.map((i) => run.links[i]).filter(Boolean).map((it) => it.name);
    const when = c && c.ways ? ` at ${clock(time())}` : "";
    if (c && c.ways && way.path.length === 0) $("related").append(el("p", `It has no route${when}.`, "none"));
    chips(`path${when}`, "link", names(way.path));
    chips("return path", "link", names(way.back));
  } else if (state.kind === "node") {
    chips("links", "link", [...all.links]);
    chips("connections", "connection", [...all.connections]);
  }
  markMap();
  for (const list of lists) list.mark(all);
  markCompared();
}
function showSelection() {
  $("clear").hidden = state.kind === null;
  $("details-title").textContent = { link: `Link ${state.name}`, connection: `Connection ${state.name}`, node: `Node ${state.name}` }[state.kind] || "Whole network";
  $("about").textContent = described();
  showRelated();
  drawCharts();
}
