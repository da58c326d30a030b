/* ---- formatted numbers ---- */

const known = (v) => typeof v === "number";
const grouped = (v) => v.toLocaleString("en").replaceAll(",", "\u202f");
/* Settings and scales: three digits without zeros behind them: 60, 2.84 M, 1 835, 0.0251. */
function short(v, digits = 3) {
  if (!known(v)) return "–";
  if (v === 0) return "0";
  if (Math.abs(v) < 1e-4) return v > 0 ? "<0.0001" : ">−0.0001";
  const rounded = Number(v.toPrecision(digits));
  for (const [factor, sign] of [[1e9, "G"], [1e6, "M"]]) {
    if (Math.abs(rounded) >= factor) return `${grouped(Number((rounded / factor).toPrecision(digits)))}\u00a0${sign}`;
  }
  const size = Math.abs(rounded);
  const text = size >= 1000 ? grouped(Math.round(size >= 10 ** digits ? v : rounded)) : String(rounded);
  return text.replace("-", "−");
}
/* Results: three digits, as `netflow run` prints them: 60.0, 2.84 M, 1 835, 0.0250. */
function digits(v) {
  const size = known(v) ? Math.abs(v) : 0;
  return size < 1e-4 || size >= 999.5 ? short(v) : v.toPrecision(3).replace("-", "−");
}
/* The same, or in the form that a scale passes. */
const plain = (v, form = digits) => form(v);
/* Packets, whole from one on. */
const count = (v) => (!known(v) ? "–" : Math.abs(v) < 0.9995 ? digits(v) : grouped(Math.round(v)));
const clock = (v) => (known(v) ? `${Number(v.toPrecision(6))}\u00a0s` : "–");
const percent = (v, form = digits) => (known(v) ? (v > 0 && v < 1e-5 ? "<0.001" : form(100 * v)) + "\u00a0%" : "–");
/* Adds the sign of an estimate, but not to zero, a bound or a missing value. */
const marked = (sign, text) => (/^(0(?![.\d])|[<–])/.test(text) ? text : (sign || "") + text);
/* The same for the queue of a link, or the delay of a connection. */
const signed = (it, text) => marked(it.sign, text);
/* The fraction of lost packets, with the sign of an estimate. */
const lossOf = (it) => marked(it.loss_sign, percent(it.loss));
const ms = (v, form = digits) => (known(v) ? form(1000 * v) : "–");
/* A setting or a run time, in a suitable unit. */
const period = (v, form = short) => (v < 1 ? `${ms(v, form)}\u00a0ms` : `${form(v)}\u00a0s`);
const packets = (v) => (known(v) ? count(v) + "\u00a0pkt" : "–");
function rate(bps, form = short) {
  if (!known(bps)) return "–";
  for (const [factor, unit] of [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]]) {
    if (Number(bps.toPrecision(3)) >= factor) return form(bps / factor) + "\u00a0" + unit;
  }
  return form(bps) + "\u00a0bit/s";
}
/* Packets are told as they are asked for: `window` is what files call that model. */
const byPackets = (run) => run.manifest.options.model === "packet";
const model = (run) => (byPackets(run) ? "packet model" : `${run.manifest.options.model} model`);
const plural = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
const bps = (c) => (known(c.goodput) && known(c.bytes) ? c.goodput * c.bytes * 8 : null);
const mega = (v) => (known(v) ? v / 1e6 : null);
/* The rate of delivery while the connection is active; in packets where their size is unknown. */
const delivered = (c) => (known(bps(c)) ? bps(c) * c.activity : c.goodput * c.activity);
const deliveredOf = (c) => marked(c.goodput_sign, known(bps(c)) ? digits(delivered(c) / 1e6) : `${digits(delivered(c))}\u00a0pkt/s`);
const notUsable = (connection) => (connection.profile_use === "unreliable" ? ", unreliable" : "");
const most = (items, value) => items.reduce((best, it) => (known(value(it)) && (!best || value(it) > value(best)) ? it : best), null);
