/* ---- what belongs to what ---- */

const runs = data.runs;
for (const run of runs) {
  run.linkAt = new Map(run.links.map((link, i) => [link.name, i]));
  run.connectionAt = new Map(run.connections.map((c, i) => [c.name, i]));
  run.turns = [...new Set(run.connections.flatMap((c) => (c.ways || []).map((way) => way.from_s)))].sort((a, b) => a - b);
  run.through = new Map();
  run.events = happenings(run);
  // Rates are means over the whole run; while a connection is active, its rate is this much higher.
  for (const c of run.connections) c.activity = c.active > 0 ? run.duration_s / c.active : 1;
}
const here = () => runs[state.run];
const linkOf = (run, name) => run.links[run.linkAt.get(name)];
const connectionOf = (run, name) => run.connections[run.connectionAt.get(name)];
const time = () => here().frames[state.frame];
/* What happened before the interval that ends at the slider's time was over. */
const passed = (at_s) => known(time()) && at_s < time();
/* How many times connections have changed their ways by now. */
const turn = () => here().turns.filter(passed).length;

/* The way of a connection at the slider's time. */
function wayOf(c) {
  let way = c;
  for (const later of c.ways || []) if (passed(later.from_s)) way = later;
  return way;
}
/* Connections over a link, there or back, at the slider's time. */
function through(link) {
  const run = here();
  const at = turn();
  if (!run.through.has(at)) {
    const all = run.links.map(() => []);
    run.connections.forEach((c, i) => {
      const way = wayOf(c);
      for (const one of new Set([...way.path, ...way.back])) if (all[one]) all[one].push(i);
    });
    run.through.set(at, all);
  }
  return run.through.get(at)[link] || [];
}
/* Names of links that are down at the slider's time. */
function down() {
  const names = new Set();
  for (const event of here().manifest.events || []) {
    if (!passed(event.at_s)) break;
    if (event.change === "down") names.add(event.link);
    if (event.change === "up") names.delete(event.link);
  }
  return names;
}
/* Events at one time, in words. */
function happenings(run) {
  const times = new Map();
  for (const event of run.manifest.events || []) {
    if (!times.has(event.at_s)) times.set(event.at_s, new Map());
    const what = event.change === "down" ? "down" : event.change === "up" ? "up"
      : event.change === "loss" ? `loss ${event.loss}`
      : event.change === "delay" ? `delay ${ms(event.delay_s, short)} ms` : `bandwidth ${rate(event.bandwidth_bps)}`;
    const link = run.links[run.linkAt.get(event.link)];
    const links = times.get(event.at_s);
    if (!links.has(what)) links.set(what, []);
    const isBack = (it) => it.from === link.to && it.to === link.from && circuit(it.name) === circuit(link.name);
    const back = link && links.get(what).findIndex((it) => it.link.name && isBack(it.link));
    if (known(back) && back >= 0) links.get(what)[back].text = `${link.to}–${link.from}${circuit(link.name)}`;
    else links.get(what).push({ link: link || {}, text: event.link });
  }
  return [...times].map(([at_s, links]) => ({
    at_s,
    fails: links.has("down"),
    text: [...links].map(([what, all]) => {
      const names = all.map((it) => it.text);
      return `${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""} ${what}`;
    }).join("; "),
  }));
}

/* Everything about the selection: names of links, links back, connections and nodes. */
function related() {
  const all = { links: new Set(), back: new Set(), connections: new Set(), nodes: new Set() };
  const run = here();
  const addConnections = (i) => {
    for (const c of through(i)) all.connections.add(run.connections[c].name);
  };
  if (state.kind === "link") {
    const i = run.linkAt.get(state.name);
    if (i === undefined) return all;
    all.nodes.add(run.links[i].from).add(run.links[i].to);
    addConnections(i);
  } else if (state.kind === "connection") {
    const c = connectionOf(run, state.name);
    if (!c) return all;
    const way = wayOf(c);
    for (const i of way.path) if (run.links[i]) all.links.add(run.links[i].name);
    for (const i of way.back) if (run.links[i]) all.back.add(run.links[i].name);
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
