/* ---- the run ---- */

function showFacts() {
  const step = (s) => (s.auto ? `at most ${s.auto.longest_s} s, ${s.auto.per_round_trip} per round-trip time` : s.fixed ? `${s.fixed.step_s} s` : s.adaptive ? `adaptive, tolerance ${s.adaptive.tolerance}, ${s.adaptive.min_s} s to ${s.adaptive.max_s} s` : "–");
  const outside = (run) => {
    const some = run.connections.filter((c) => c.outside > 0);
    const worst = most(some, (c) => c.outside);
    return worst ? `${plural(some.length, "connection")}; longest: ${worst.name}, ${percent(worst.outside)}${notUsable(worst)}` : "none";
  };
  const rows = [
    ["scenario", (r) => r.manifest.scenario], ["digest", (r) => r.manifest.digest],
    ["changed settings", (r) => r.manifest.overrides.join(", ") || "none"],
    ["model", model], ["step", (r) => (byPackets(r) ? "packet by packet" : step(r.manifest.options.step))],
    ["duration", (r) => `${r.end_s} s, recorded every ${r.manifest.interval_s} s`],
    ["seed", (r) => (r.manifest.seeds > 1 ? `${r.manifest.seed} and the next ${r.manifest.seeds - 1}` : String(r.manifest.seed))],
    ["packets", (r) => { const t = r.totals; return `${t.before_pkts ? `${short(t.before_pkts)} in flight before + ` : ""}${short(t.offered_pkts, 5)} sent = ${short(t.delivered_pkts, 5)} delivered + ${short(t.lost_pkts)} lost + ${short(t.queued_pkts)} queued + ${short(t.in_flight_pkts)} in flight`; }],
    ["extrapolated time", outside],
    ["steps", (r) => plural(r.manifest.steps, byPackets(r) ? "packet-hop" : "step")], ["run time", (r) => `${short(r.manifest.wall_time_s)} s on ${plural(r.manifest.threads, "thread")}`],
    ["netflow", (r) => r.manifest.version],
    ["curves", (r) => (r.thinned ? `minimum and maximum in ${plural(r.x.length / 2, "group")} of ${plural(r.samples, "interval")}` : `all of ${plural(r.samples, "interval")}`)],
    ["ended", (r) => (r.manifest.complete ? "as planned" : `early: ${r.manifest.reason || ""}`)],
  ];
  fillTable($("fact-table"), ["", ...runs.map((run) => run.name)], rows.map(([title, text]) => [title, ...runs.map(text)]));
  $("warnings").replaceChildren();
  for (const run of runs) {
    for (const warning of run.warnings) $("warnings").append(el("li", runs.length > 1 ? `${run.name}: ${warning}` : warning));
  }
}
