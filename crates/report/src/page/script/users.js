/* ---- users, and aggregates ---- */

/* The distributions of response times: a figure for every workload, and their numbers. */
function showUsers() {
  const waits = here().waits;
  const rows = runs.flatMap((run) => run.workloads.flatMap((of) => of.waits.map((wait) => ({ run, of, wait }))));
  $("users").hidden = rows.length === 0;
  $("waits").replaceChildren();
  const figures = [...new Set(waits.map((it) => it.workload))].map((name) => [name, el("div")]);
  $("waits").append(...figures.map(([, figure]) => figure));
  for (const [name, figure] of figures) {
    figure.append(el("h3", `${name}: cumulative distribution of response times`), cdf(waits.filter((it) => it.workload === name), name, figure.clientWidth));
  }
  // The three largest clusters.
  const steps = (it) => [...it.clusters].sort((a, b) => b.share - a.share).slice(0, 3).sort((a, b) => a.round_trips - b.round_trips)
    .map((step) => `${step.round_trips}: ${percent(step.share)}`).join(", ");
  const several = runs.length > 1;
  const titles = ["users", ...(several ? ["results"] : []), "event", "count", "mean [ms]", "median [ms]", "p90 [ms]", "p95 [ms]", "p99 [ms]", "duration in RTTs"];
  fillTable($("wait-table"), titles, rows.map(({ run, of, wait }) => [
    of.workload, ...(several ? [run.name] : []), wait.wait, count(wait.count),
    ...["mean_s", "median_s", "p90_s", "p95_s", "p99_s"].map((key) => ms(wait[key])), steps(wait) || "–",
  ]), several ? 3 : 2);
  $("arrivals").replaceChildren(...runs.flatMap((run) => run.workloads.map((of) =>
    el("p", `${several ? `${run.name}, ` : ""}${of.workload}: ${plural(of.arrived, "user")} arrived, ${count(of.finished)} finished`))));
}
/* Conditioned aggregates by drop precedence. */
function showAggregates() {
  const rows = runs.flatMap((run) => run.aggregates.map((it) => ({ run, it })));
  $("aggregates").hidden = rows.length === 0;
  const several = runs.length > 1;
  const titles = ["aggregate", ...(several ? ["results"] : []), "delivered [Mbit/s]", "DP0", "DP1", "DP2", "loss", "loss DP0", "loss DP1", "loss DP2"];
  fillTable($("aggregate-table"), titles, rows.map(({ run, it }) => [
    it.aggregate, ...(several ? [run.name] : []), digits(mega(it.mean_goodput_bps)),
    ...it.fractions.map((share) => percent(share)), percent(it.loss_probability),
    ...it.sent_pkts.map((sent, dp) => percent(sent > 0 ? it.lost_pkts[dp] / sent : null)),
  ]), several ? 2 : 1);
}
function cdf(curves, name, wanted) {
  const width = Math.max(300, wanted), height = 260, left = 44, right = 12, top = 8, bottom = 36;
  const all = curves.flatMap((it) => it.times).filter((t) => t > 0);
  const low = Math.log10(Math.min(...all)) - 0.02, high = Math.max(Math.log10(Math.max(...all)), low + 0.5);
  const x = (t) => left + (width - left - right) * (Math.log10(t) - low) / (high - low);
  const y = (share) => top + (height - top - bottom) * (1 - share);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Distributions of the response times of users of ${name}` });
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
    const dash = shape("line", { x1: left + 90 * i, x2: left + 90 * i + 14, y1: height - 8, y2: height - 8 }, "cdf");
    dash.style.stroke = `var(--c${i % 5})`;
    svg.append(dash);
    label(it.wait, { x: left + 90 * i + 19, y: height - 4 });
  });
  return svg;
}
