"use strict";
// Facts, state and small pieces. All text of programs goes through textContent: names are never markup.
const facts = JSON.parse(document.getElementById("data").textContent);
const state = { program: 0, method: 0, section: "overview", node: -1, op: null };

const program = () => facts.programs[state.program];
const method = () => program().methods[state.method];
const byId = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const grouped = (number) => Number(number).toLocaleString("en-US");

function bytes(number) {
  for (const [unit, scale] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (number >= scale) return `${Number((number / scale).toPrecision(3))} ${unit}`;
  }
  return `${number} B`;
}

function short(number) {
  return typeof number === "number" ? Number(number.toPrecision(3)).toString() : String(number);
}

// The number of a fact, which tests compare with the data.
function fact(path, tag = "b", show = grouped) {
  let value = facts;
  for (const part of path.split("/")) value = value[part];
  return make(tag, { "data-fact": path, "data-value": value, class: tag === "td" ? "number" : null, title: grouped(value) }, show(value));
}

// The same name has the same color everywhere; neighbours on the circle of hues are far apart.
const hues = new Map();
function hue(name) {
  if (!hues.has(name)) {
    let hash = 2166136261;
    for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0), 16777619) >>> 0;
    hues.set(name, Math.floor((hash * 0.6180339887) % 360));
  }
  return hues.get(name);
}
const dark = () => document.documentElement.dataset.theme === "dark";
const color = (name, strength = 1) => `hsl(${hue(name)} ${(dark() ? 45 : 55) * strength}% ${dark() ? 31 : 74}%)`;
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const plainName = (op) => op.replace(/^.*::/, "");
const fileName = (path) => path.replace(/^.*[\\/]/, "");

function source(instruction) {
  const frame = instruction.frames && instruction.frames[instruction.frames.length - 1];
  return frame ? `${fileName(frame[0])}:${frame[1]}` : "";
}

function showTip(event, text) {
  const tip = byId("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? Math.max(4, event.clientY - height - 10) : event.clientY + 18}px`;
}

// A text in which names break after their dots before they break anywhere else; numbers do not.
const dotted = (text) => make("span", {}, ...text.split(/(\s+)/).flatMap((word) => (/^[^\w]*[A-Za-z_]/.test(word) ? word.split(/(?<=[.:/])(?=\w)/) : [word]).flatMap((part, at) => (at ? [make("wbr", {}), part] : [part]))));

// A text cut to a width on a canvas, with an ellipsis; empty where not even two characters fit.
function fitted(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let least = 0, most = text.length - 1;
  while (least < most) {
    const middle = (least + most + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= room) least = middle; else most = middle - 1;
  }
  return least >= 2 ? `${text.slice(0, least)}…` : "";
}

function table(heads, rows, numbers = []) {
  const align = (at) => (numbers.includes(at) ? "number" : "wide");
  return make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head, at) => make("th", { class: align(at) }, head)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, at) => make("td", { class: align(at) }, typeof cell === "string" && align(at) === "wide" ? dotted(cell) : cell))))));
}

// Bars of one line with a legend of the largest parts, for shares of a whole.
function stack(parts, show = bytes) {
  const total = parts.reduce((sum, part) => sum + part[1], 0) || 1;
  const tip = ([name, value]) => `${name}: ${show(value)} (${(100 * value / total).toFixed(1)} %)`;
  const cut = (name) => (name.length > 56 ? `${name.slice(0, 36)}…${name.slice(-16)}` : name);
  const named = parts.filter((part) => part[1]).sort((a, b) => b[1] - a[1]), rest = named.slice(10);
  const entry = (part) => make("span", { class: "entry" }, make("span", { class: "key", style: `background: ${color(part[0])}` }), tip([cut(part[0]), part[1]]));
  return make("div", {},
    make("div", { class: "stack" }, ...parts.filter((part) => part[1]).map((part) => make("i", {
      style: `flex: ${part[1]}; background: ${color(part[0])}`,
      onmousemove: (event) => showTip(event, tip(part)), onmouseleave: (event) => showTip(event, ""),
    }))),
    make("div", { class: "soft" }, ...named.slice(0, 10).map(entry),
      rest.length ? make("span", { class: "entry" }, tip([`${grouped(rest.length)} more`, rest.reduce((sum, part) => sum + part[1], 0)])) : null),
  );
}

// Links: #section=graph&node=PROGRAM.METHOD.INSTRUCTION, #section=levels&op=PROGRAM.LEVEL.OP
const nodeLink = (node) => `#section=${state.section}&node=${state.program}.${encodeURIComponent(method().name)}.${node}`;

function canvasOf(canvas) {
  const scale = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width * scale)), height = Math.max(1, Math.round(box.height * scale));
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  return [context, box.width, box.height];
}
