/* ---- formatted numbers ---- */

const known = (v) => typeof v === "number";
const grouped = (v) => v.toLocaleString("en").replaceAll(",", "\u202f");
/* 60, 2.84 M, 1 835, 0.0251: three digits that say something, and no zeros behind them. */
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
const clock = (v) => (known(v) ? `${Number(v.toPrecision(6))}\u00a0s` : "–");
const percent = (v) => (known(v) ? (v > 0 && v < 1e-5 ? "<0.001" : short(100 * v)) + "\u00a0%" : "–");
/* Adds the sign of an estimate if the link's queue, or a queue on the connection's path, is an estimate. */
const signed = (it, text) => (it.sign || "") + text;
/* The fraction of lost packets, with the sign of an estimate. */
const lossOf = (it) => (it.loss_sign || "") + percent(it.loss);
const ms = (v) => (known(v) ? short(1000 * v) : "–");
const packets = (v) => (known(v) ? short(v) + "\u00a0pkt" : "–");
function rate(bps) {
  if (!known(bps)) return "–";
  for (const [factor, unit] of [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]]) {
    if (bps >= factor) return short(bps / factor) + "\u00a0" + unit;
  }
  return short(bps) + "\u00a0bit/s";
}
/* Packets are told as they are asked for: `window` is what files call that model. */
const byPackets = (run) => run.manifest.options.model === "packet";
const model = (run) => (byPackets(run) ? "packet model" : `${run.manifest.options.model} model`);
const plural = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
const bps = (c) => (known(c.goodput) && known(c.bytes) ? c.goodput * c.bytes * 8 : null);
const goodput = (c) => (c.goodput_sign || "") + (known(bps(c)) ? rate(bps(c)) : `${short(c.goodput)}\u00a0pkt/s`);
const notUsable = (connection) => (connection.profile_use === "unreliable" ? ", unreliable" : "");
const most = (items, value) => items.reduce((best, it) => (known(value(it)) && (!best || value(it) > value(best)) ? it : best), null);
