/* ---- begin ---- */

function showAll() {
  const at = time();
  showRuns();
  showRun();
  prepareTime();
  drawLegend();
  for (const one of lists) one.fill();
  showSelection();
  showComparison();
  showAggregates();
  showUsers();
  if (known(at)) setTime(at);
  else setFrame(0);
}
function recolour() {
  readColours();
  drawLegend();
  drawMap();
  showRuns();
  drawCharts();
}

readColours();
prepareComparison();
drawMap();
showFacts();
showAll();
// The worst moment is where there is most to see.
if (here().worst) setTime(here().worst.at_s);
// The connections are below the shorter column.
const left = document.querySelector(".column");
if (left.scrollHeight < $("details").scrollHeight) left.append($("connections"));
$("slider").addEventListener("input", (event) => { play(false); setFrame(Number(event.target.value)); });
$("play").addEventListener("click", () => play(playing === null));
$("clear").addEventListener("click", () => select(null, null));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (event.key === "Escape") {
    if (target.type === "search" && target.value !== "") return;
    target.blur();
    select(null, null);
  } else if (target.tagName === "SELECT" || (target.tagName === "INPUT" && target.type === "search")) {
    return;
  } else if (event.key === "/") {
    lists[0].search.focus();
    event.preventDefault();
  } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    if (target === $("slider")) return;
    play(false);
    setFrame(state.frame + (event.key === "ArrowRight" ? 1 : -1));
    event.preventDefault();
  } else if (event.key === " " && target.tagName !== "BUTTON") {
    play(playing === null);
    event.preventDefault();
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); recolour(); });
addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); recolour(); });
let width = document.documentElement.clientWidth, later = 0;
addEventListener("resize", () => {
  clearTimeout(later);
  later = setTimeout(() => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    drawMap();
    drawCharts();
    showUsers();
  }, 120);
});
document.documentElement.dataset.ready = "yes";
