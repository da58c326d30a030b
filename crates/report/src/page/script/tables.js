/* ---- tables ---- */

function list(id, kind, noun, rows, columns) {
  const root = $(id), head = root.querySelector("thead"), body = root.querySelector("tbody");
  const search = root.querySelector("input"), more = root.querySelector(".more");
  let sort = 1, down = true, limit = 100, current = [];
  function header() {
    const row = el("tr");
    columns().forEach((column, i) => {
      const cell = el("th", null, column.aside ? "aside" : "");
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
        const cell = el("td", one.text ? one.text(it) : one.value(it), one.aside ? "aside" : "");
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
const anyOutside = () => here().connections.some((it) => it.outside > 0);
const lists = [
  list("links", "link", "link", () => here().links, () => [
    { title: "link", value: (it) => it.name },
    { title: "utilization", value: (it) => it.utilization, text: (it) => percent(it.utilization) },
    { title: "queue [pkt]", value: (it) => it.mean_queue, text: (it) => signed(it, short(it.mean_queue)) },
    { title: "max [pkt]", value: (it) => it.max_queue, text: (it) => signed(it, short(it.max_queue)), aside: true },
    { title: "sojourn [ms]", value: (it) => it.queueing, text: (it) => signed(it, ms(it.queueing)), aside: true },
    { title: "loss", value: (it) => it.loss, text: lossOf, aside: true },
    { title: "bandwidth", value: (it) => it.bps, text: (it) => rate(it.bps), aside: true },
  ]),
  list("connections", "connection", "connection", () => here().connections, () => [
    { title: "connection", value: (it) => it.name, text: (it) => (it.count > 1 ? `${it.name} ×${it.count}` : it.name) },
    { title: "goodput", value: (it) => bps(it) ?? it.goodput, text: goodput },
    { title: "lost to competition", value: (it) => it.short, text: (it) => percent(it.short) },
    { title: "delay [ms]", value: (it) => it.delay, text: (it) => signed(it, ms(it.delay)), aside: true },
    { title: "p95 [ms]", value: (it) => it.delay95, text: (it) => signed(it, ms(it.delay95)), aside: true },
    { title: "p99 [ms]", value: (it) => it.delay99, text: (it) => signed(it, ms(it.delay99)), aside: true },
    { title: "loss", value: (it) => it.loss, text: lossOf, aside: true },
    ...(anyOutside() ? [{ title: "extrapolated", value: (it) => it.outside, text: (it) => percent(it.outside) + notUsable(it), aside: true }] : []),
  ]),
];
