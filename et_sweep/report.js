"use strict";

const facts = JSON.parse(document.getElementById("data").textContent);
const COLUMNS = [
  ["model"], ["backend"], ["target"], ["level"], ["quantize"], ["load"], ["options"], ["threads"], ["compiled"],
  ["delegated_share", (value) => `${(100 * value).toFixed(1)} %`], ["partitions"], ["file_bytes"], ["arena_bytes"],
  ["arena_bound_bytes"], ["peak_bytes"], ["error"], ["sqnr"], ["compile_seconds", time], ["min_seconds", time],
  ["median_seconds", time], ["spread_seconds", time], ["relative_seconds"], ["noise_met"],
  ["message"],
];

function time(seconds) {
  const [scale, unit] = seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${(seconds * scale).toPrecision(3)} ${unit}`;
}

function shown(value, format) {
  if (value === null || value === undefined || value === "none") return "";
  if (typeof value !== "number") return String(value);
  if (format) return format(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(3);
}

function element(name, attributes, ...children) {
  const svg = ["svg", "circle", "polyline", "text", "title"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const used = COLUMNS.filter(([name]) => facts.rows.some((row) => shown(row[name]) !== ""));
let order = { name: null, sign: 1 };

function compared(one, other) {
  const [a, b] = [one[order.name], other[order.name]];
  const gone = (value) => value === null || value === undefined;
  if (gone(a) || gone(b)) return gone(a) - gone(b); // what there is not comes last
  if (typeof a === "number" && typeof b === "number") return order.sign * (a - b);
  return order.sign * String(a).localeCompare(String(b));
}

function showTable() {
  const wanted = document.getElementById("search").value.toLowerCase();
  const rows = facts.rows.filter((row) => `${row.key} ${row.message || ""}`.toLowerCase().includes(wanted));
  if (order.name) rows.sort(compared);
  const head = element("tr", {});
  for (const [name] of used) {
    const cell = element("th", { scope: "col", tabindex: 0 }, name.replaceAll("_", " "));
    if (order.name === name) cell.setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
    const sort = () => {
      order = { name, sign: order.name === name ? -order.sign : 1 };
      showTable();
    };
    cell.addEventListener("click", sort);
    cell.addEventListener("keydown", (event) => event.key === "Enter" && sort());
    head.append(cell);
  }
  const body = rows.map((row) => element("tr", { class: row.compiled ? "" : "failed", title: row.command },
    ...used.map(([name, format]) =>
      element("td", { class: typeof row[name] === "number" ? "number" : "" }, shown(row[name], format)))));
  document.getElementById("table").replaceChildren(
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

// The points that no other is at most as large as on both axes.
function front(points) {
  const found = [];
  for (const point of [...points].sort((a, b) => a.x - b.x || a.y - b.y))
    if (!found.length || point.y < found[found.length - 1].y) found.push(point);
  return found;
}

function plot(rows, xName, yName) {
  const points = rows.map((row) => ({ x: row[xName], y: row[yName], key: row.key }))
    .filter(({ x, y }) => typeof x === "number" && typeof y === "number");
  const [width, height, margin] = [420, 280, 40];
  const drawing = element("svg", { width, height, role: "img", "aria-label": `${yName} by ${xName}` });
  const scale = (values, from, to) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (value) => from + (high > low ? (value - low) / (high - low) : 0.5) * (to - from);
  };
  if (points.length) {
    const x = scale(points.map((one) => one.x), margin, width - margin);
    const y = scale(points.map((one) => one.y), height - margin, margin);
    const best = front(points);
    drawing.append(element("polyline", { points: best.map((one) => `${x(one.x)},${y(one.y)}`).join(" ") }));
    for (const one of points)
      drawing.append(element("circle", { cx: x(one.x), cy: y(one.y), r: 5, class: best.includes(one) ? "front" : "" },
        element("title", {}, `${one.key}\n${xName} ${shown(one.x)}\n${yName} ${shown(one.y)}`)));
  }
  const label = `${yName.replaceAll("_", " ")} by ${xName.replaceAll("_", " ")}`;
  drawing.append(element("text", { x: margin, y: height - 12 }, points.length ? label : `${label}: no points`));
  return drawing;
}

function showPlots() {
  const model = document.getElementById("model").value;
  const rows = facts.rows.filter((row) => row.model === model);
  document.getElementById("plots").replaceChildren(
    plot(rows, "median_seconds", "file_bytes"), plot(rows, "median_seconds", "error"), plot(rows, "file_bytes", "error"));
}

function showDifferences() {
  const place = document.getElementById("differences");
  if (facts.differences === null) return;
  place.append(element("h2", {}, "Differences to the baseline"));
  if (!facts.differences.length) place.append(element("p", {}, "None beyond noise."));
  const rows = facts.differences.map((one) => element("tr", {},
    ...[one.key, one.column.replaceAll("_", " "), one.before, one.after, one.ratio, one.bound]
      .map((value) => element("td", {}, shown(value)))));
  const names = ["cell", "column", "before", "after", "ratio", "noise bound"];
  const head = element("tr", {}, ...names.map((name) => element("th", {}, name)));
  if (rows.length) place.append(element("table", {}, head, ...rows));
}

function showFailures() {
  const place = document.getElementById("failures");
  if (!facts.failures.length) return;
  place.append(element("h2", {}, "Failures"));
  for (const { message, cells } of facts.failures) {
    const lines = cells.map((one) => element("li", {}, element("code", {}, one.command),
      facts.reduced[one.key] ? ` (reduced: ${facts.reduced[one.key]})` : ""));
    place.append(element("h3", {}, `${cells.length} × ${message}`), element("ul", {}, ...lines));
  }
}

document.title = document.getElementById("title").textContent = `Sweep ${facts.name}`;
const models = document.getElementById("model");
for (const name of new Set(facts.rows.map((row) => row.model))) models.append(element("option", {}, name));
models.addEventListener("change", showPlots);
document.getElementById("search").addEventListener("input", showTable);
showTable();
showPlots();
showDifferences();
showFailures();
