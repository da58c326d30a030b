/* ---- tables ---- */

/* Columns that a phone hides, and also a narrow table, and also one of medium width. */
const kindOf = (column) => ["", "aside", "aside lesser", "aside minor"][column.aside || 0];

function list(id, kind, noun, rows, columns) {
  const root = $(id), head = root.querySelector("thead"), body = root.querySelector("tbody");
  const search = root.querySelector("input"), more = root.querySelector(".more");
  // The columns depend on the results, so the one that sorts has its title here.
  let sort = null, down = true, limit = 100, current = [], shown = [];
  const sorting = () => shown.find((it) => it.title === sort) || shown.find((it) => it.first);
  function header() {
    const row = el("tr");
    shown.forEach((column, i) => {
      const cell = el("th", null, kindOf(column));
      cell.scope = "col";
      cell.setAttribute("aria-sort", column === sorting() ? (down ? "descending" : "ascending") : "none");
      cell.append(button(column.title, () => {
        down = column === sorting() ? !down : i !== 0;
        sort = column.title;
        fill();
        head.querySelectorAll("button")[i].focus();
      }));
      row.append(cell);
    });
    head.replaceChildren(row);
  }
  function fill() {
    shown = columns();
    header();
    const column = sorting();
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
      shown.forEach((one, k) => {
        const cell = el("td", one.text ? one.text(it) : one.value(it), kindOf(one));
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
      const cell = el("td", rows().length === 0 ? `There are no ${noun}s.` : `No ${noun} matches.`, "none");
      cell.colSpan = shown.length;
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
/* The columns of `netflow run`; some only if a link or connection has such a value. */
const anyLink = (value) => here().links.some((it) => value(it) > 0);
const anyConnection = (value) => here().connections.some((it) => value(it) > 0);
const isPartlyActive = () => here().connections.some((it) => Math.abs(it.active - here().duration_s) > 1e-9);
const lists = [
  list("links", "link", "link", () => here().links, () => [
    { title: "link", value: (it) => it.name },
    { title: "throughput [Mbit/s]", value: (it) => it.throughput, text: (it) => marked(it.utilization_sign, digits(mega(it.throughput))), aside: 1 },
    { title: "utilization", value: (it) => it.utilization, text: (it) => marked(it.utilization_sign, percent(it.utilization)), first: true },
    { title: "peak", value: (it) => it.peak, text: (it) => marked(it.utilization_sign, percent(it.peak)), aside: 2 },
    ...(anyLink((it) => it.full) ? [{ title: "at capacity [s]", value: (it) => it.full, text: (it) => digits(it.full), aside: 3 }] : []),
    { title: "queue [pkt]", value: (it) => it.mean_queue, text: (it) => signed(it, digits(it.mean_queue)) },
    { title: "max [pkt]", value: (it) => it.max_queue, text: (it) => signed(it, count(it.max_queue)), aside: 1 },
    { title: "sojourn [ms]", value: (it) => it.queueing, text: (it) => signed(it, ms(it.queueing)), aside: 1 },
    { title: "loss", value: (it) => it.loss, text: lossOf, aside: 1 },
    ...(anyLink((it) => it.link_lost) ? [{ title: "lost in transit [pkt]", value: (it) => it.link_lost, text: (it) => count(it.link_lost), aside: 2 }] : []),
    ...(anyLink((it) => it.marked) ? [{ title: "marked [pkt]", value: (it) => it.marked, text: (it) => count(it.marked), aside: 2 }] : []),
  ]),
  list("connections", "connection", "connection", () => here().connections, () => [
    { title: "connection", value: (it) => it.name, text: (it) => (it.count > 1 ? `${it.name} ×${it.count}` : it.name) },
    ...(isPartlyActive() ? [{ title: "active [s]", value: (it) => it.active, text: (it) => digits(it.active), aside: 1 }] : []),
    { title: "delivered [Mbit/s]", value: delivered, text: deliveredOf, first: true },
    { title: "lost to competition", value: (it) => it.short, text: (it) => percent(it.short) },
    { title: "loss", value: (it) => it.loss, text: lossOf, aside: 1 },
    { title: "one-way delay [ms]", value: (it) => it.delay, text: (it) => signed(it, ms(it.delay)), aside: 1 },
    { title: "p99 [ms]", value: (it) => it.delay99, text: (it) => signed(it, ms(it.delay99)), aside: 1 },
    { title: "RTT [ms]", value: (it) => it.rtt, text: (it) => signed(it, ms(it.rtt)), aside: 1 },
    ...(anyConnection((it) => (it.count > 1 ? it.mean_finished : 0)) ? [{ title: "mean finish [s]", value: (it) => it.mean_finished, text: (it) => digits(it.mean_finished), aside: 3 }] : []),
    ...(anyConnection((it) => it.finished) ? [{ title: "finish [s]", value: (it) => it.finished, text: (it) => digits(it.finished), aside: 1 }] : []),
    ...(anyConnection((it) => it.outside) ? [{ title: "extrapolated", value: (it) => it.outside, text: (it) => percent(it.outside) + notUsable(it), aside: 1 }] : []),
  ]),
];
