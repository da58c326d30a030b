/* ---- the page and its data ---- */

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const state = { run: 0, frame: 0, kind: null, name: null };

// Names reach the page here and nowhere else: as text.
function el(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  if (className) node.className = className;
  return node;
}
function shape(tag, attributes, className) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (className) node.setAttribute("class", className);
  return node;
}
function button(text, action, className) {
  const node = el("button", text, className);
  node.type = "button";
  node.addEventListener("click", action);
  return node;
}
/* A table: a head of titles, and rows of cells, of which the first are words. */
function fillTable(table, titles, rows, words = 1) {
  const line = (cells, tag) => {
    const row = el("tr");
    cells.forEach((cell, i) => row.append(el(tag, cell, i < words ? "words" : "")));
    return row;
  };
  const head = line(titles, "th");
  for (const cell of head.cells) cell.scope = "col";
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...rows.map((row) => line(row, "td")));
}
/* What tells a link from others between the same nodes, as its name ends: `#2`, or nothing. */
const circuit = (name) => (/#[^#>]*$/.exec(name) || [""])[0];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
