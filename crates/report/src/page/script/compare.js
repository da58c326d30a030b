/* ---- comparison of results ---- */

/* One metric at a time: shares differ by percentage points, everything else by parts of the first. */
const METRICS = [
  { title: "goodput of connections", kind: "connection", value: (it) => it.goodput, text: (it) => goodput(it) },
  { title: "throughput lost to competition", kind: "connection", value: (it) => it.short, text: (it) => percent(it.short), share: true },
  { title: "mean delay of connections, ms", kind: "connection", value: (it) => it.delay, text: (it) => signed(it, ms(it.delay)) },
  { title: "99th percentile of the delay of connections, ms", kind: "connection", value: (it) => it.delay99, text: (it) => signed(it, ms(it.delay99)) },
  { title: "loss of connections", kind: "connection", value: (it) => it.loss, text: lossOf, share: true },
  { title: "utilization of links", kind: "link", value: (it) => it.utilization, text: (it) => percent(it.utilization), share: true },
  { title: "mean queue of links, pkt", kind: "link", value: (it) => it.mean_queue, text: (it) => signed(it, short(it.mean_queue)) },
  { title: "sojourn time of links, ms", kind: "link", value: (it) => it.queueing, text: (it) => signed(it, ms(it.queueing)) },
  { title: "loss of links", kind: "link", value: (it) => it.loss, text: lossOf, share: true },
];
let compared = 100;
/* The difference from the first result; null if either value is missing. */
function difference(metric, first, value) {
  if (!known(first) || !known(value)) return null;
  return metric.share ? value - first : first === 0 ? (value === 0 ? 0 : null) : value / first - 1;
}
function differs(metric, by) {
  if (!known(by)) return "–";
  if (Math.abs(by) < 5e-6) return "same";
  const text = short(Math.abs(100 * by));
  return `${by > 0 ? "+" : "−"}${text}\u00a0${metric.share ? "points" : "%"}`;
}
function prepareComparison() {
  $("compare").hidden = runs.length < 2;
  METRICS.forEach((metric, i) => {
    const option = el("option", metric.title);
    option.value = i;
    $("metric").append(option);
  });
  // The first in which the results have something in common.
  const tells = (metric) => {
    const [first, ...others] = runs.map((run) => (metric.kind === "link" ? run.links : run.connections));
    return others.some((all) => all.some((it) => first.some((one) => one.name === it.name && known(metric.value(one)) && known(metric.value(it)))));
  };
  if (runs.length > 1) $("metric").value = Math.max(0, METRICS.findIndex(tells));
  $("metric").addEventListener("change", () => { compared = 100; showComparison(); });
  $("compare").querySelector(".more").addEventListener("click", () => { compared += 500; showComparison(); });
}
function showComparison() {
  if (runs.length < 2) return;
  const metric = METRICS[Number($("metric").value)];
  const of = metric.kind === "link" ? linkOf : connectionOf;
  const names = [...new Set(runs.flatMap((run) => (metric.kind === "link" ? run.links : run.connections).map((it) => it.name)))];
  const rows = names.map((name) => {
    const all = runs.map((run) => of(run, name));
    const values = all.map((it) => (it ? metric.value(it) : null));
    const by = values.map((value) => difference(metric, values[0], value));
    return { name, all, by, most: Math.max(...by.map((it) => (known(it) ? Math.abs(it) : 0))) };
  });
  rows.sort((a, b) => b.most - a.most || a.name.localeCompare(b.name, "en", { numeric: true }));
  const titles = [metric.kind, runs[0].name, ...runs.slice(1).flatMap((run) => [run.name, "difference"])];
  const table = $("compare-table");
  fillTable(table, titles, rows.slice(0, compared).map(({ name, all, by }) => [
    name, ...all.flatMap((it, i) => [it ? metric.text(it) : "–", ...(i > 0 ? [differs(metric, by[i])] : [])]),
  ]));
  for (const row of table.tBodies[0].rows) {
    row.name = row.cells[0].textContent;
    row.kind = metric.kind;
    row.tabIndex = 0;
    row.addEventListener("click", () => select(row.kind, row.name));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") select(row.kind, row.name); });
  }
  const more = $("compare").querySelector(".more");
  more.hidden = rows.length <= compared;
  more.textContent = `Show more of ${plural(rows.length, metric.kind)}`;
  markCompared();
}
function markCompared() {
  for (const row of $("compare-table").tBodies[0].rows) {
    row.className = row.kind === state.kind && row.name === state.name ? "chosen" : "";
  }
}
