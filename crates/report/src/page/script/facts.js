/* ---- the run ---- */

function showFacts() {
  const step = (s) => (s.auto ? `automatic, at most ${period(s.auto.longest_s)}` : s.fixed ? period(s.fixed.step_s) : "–");
  const outside = (run) => {
    const some = run.connections.filter((c) => c.outside > 0);
    const worst = most(some, (c) => c.outside);
    return worst ? `${plural(some.length, "connection")}; longest: ${worst.name}, ${percent(worst.outside)}${notUsable(worst)}` : null;
  };
  const rows = [
    ["scenario", (r) => r.manifest.scenario], ["digest", (r) => r.manifest.digest],
    ["changed settings", (r) => r.manifest.overrides.join(", ") || "none"],
    ["model", model],
    ["time steps", (r) => (byPackets(r) ? plural(r.manifest.steps, "packet-hop") : `${step(r.manifest.options.step)}; ${plural(r.manifest.steps, "step")}`)],
    ["duration", (r) => `${clock(r.end_s)}, recorded every ${period(r.manifest.interval_s)}`],
    ["seed", (r) => (r.manifest.seeds > 1 ? `${r.manifest.seed} and the next ${r.manifest.seeds - 1}` : String(r.manifest.seed))],
    ["packets", (r) => { const t = r.totals; return `${t.before_pkts ? `${count(t.before_pkts)} in flight before + ` : ""}${count(t.offered_pkts)} sent = ${count(t.delivered_pkts)} delivered + ${count(t.lost_pkts)} lost${t.unrouted_pkts ? ` + ${count(t.unrouted_pkts)} without a route` : ""} + ${count(t.queued_pkts + t.in_flight_pkts)} in queues and in flight`; }],
    ["extrapolated time", outside],
    ["run time", (r) => `${period(r.manifest.wall_time_s, digits)} on ${plural(r.manifest.threads, "thread")}`],
    ["netflow", (r) => r.manifest.version],
    ["curves", (r) => (r.thinned ? `minimum and maximum in ${plural(r.x.length / 2, "group")} of ${plural(r.samples, "interval")}` : `all ${plural(r.samples, "interval")}`)],
    ["ended", (r) => (r.manifest.complete ? null : `early: ${r.manifest.reason || ""}`)],
  ];
  const cells = rows.map(([title, text]) => [title, ...runs.map(text)]);
  fillTable($("fact-table"), ["", ...runs.map((run) => run.name)], cells.filter((row) => row.slice(1).some((cell) => cell !== null)));
  $("fact-table").className = runs.length > 1 ? "" : "single";
  writeOnce($("warnings"), (run) => run.warnings);
  writeOnce($("note-list"), (run) => run.estimate);
  $("notes").hidden = $("note-list").children.length === 0;
}
/* Each text once, with the names of its results if it does not apply to all. */
function writeOnce(list, pick) {
  const texts = new Set(runs.flatMap(pick));
  list.replaceChildren(...[...texts].map((text) => {
    const of = runs.filter((run) => pick(run).includes(text)).map((run) => run.name);
    return el("li", of.length === runs.length ? text : `${of.join(", ")}: ${text}`);
  }));
}
