/* ---- time ---- */

let playing = null;
function setFrame(frame) {
  const last = Math.max(0, here().frames.length - 1);
  state.frame = Math.min(last, Math.max(0, Math.round(frame)));
  $("slider").value = state.frame;
  showTime();
}
function nearest(times, seconds) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] < seconds) low = middle;
    else high = middle;
  }
  return Math.abs(times[low] - seconds) <= Math.abs(times[high] - seconds) ? low : high;
}
const setTime = (seconds) => setFrame(nearest(here().frames, seconds));
/* The first interval in which something that happened shows. */
const after = (at_s) => { const i = here().frames.findIndex((t) => t > at_s); return i < 0 ? here().frames.length - 1 : i; };
let turned = 0;
function showTime() {
  const text = known(time()) ? clock(time()) : "no samples";
  $("clock").textContent = text;
  $("slider").setAttribute("aria-valuetext", text);
  paintMap();
  if (turn() !== turned) {
    turned = turn();
    if (state.kind !== null) showRelated();
  }
  for (const chart of charts) {
    chart.redraw(false, false);
    chart.setLegend({ idx: nearest(chart.data[0], time()) }, false);
  }
}
function play(on) {
  clearInterval(playing);
  playing = null;
  if (on) {
    if (state.frame >= here().frames.length - 1) setFrame(0);
    playing = setInterval(() => (state.frame >= here().frames.length - 1 ? play(false) : setFrame(state.frame + 1)), 80);
  }
  $("play").textContent = on ? "❚❚" : "▶";
  $("play").setAttribute("aria-label", on ? "Pause" : "Play");
}
function prepareTime() {
  const n = here().frames.length;
  $("slider").max = Math.max(0, n - 1);
  $("slider").disabled = n < 2;
  $("play").disabled = n < 2;
  showEvents();
}
/* A mark under the slider for each time at which something happens, and what that is. */
function showEvents() {
  const { events, frames } = here();
  $("marks").replaceChildren();
  $("events").replaceChildren();
  $("events").hidden = events.length === 0;
  if (frames.length < 2) return;
  events.forEach((event, i) => {
    const at = after(event.at_s);
    const mark = el("span", null, event.fails ? "mark fails" : "mark");
    // The middle of the slider's button is half of its width inside of the ends.
    mark.style.left = `calc(8px + (100% - 16px) * ${(at / (frames.length - 1)).toFixed(5)})`;
    mark.title = `${clock(event.at_s)}: ${event.text}`;
    $("marks").append(mark);
    if (i < 40) $("events").append(button(`${clock(event.at_s)}: ${event.text}`, () => { play(false); setFrame(at); }));
  });
  if (events.length > 40) $("events").append(el("span", `… and ${events.length - 40} more`));
}
