// The graph: positions come with the data. A module is open where its title can be read in the strip that is left for
// it at the top, and drawn closed otherwise, with its class and its main operators.
const TITLE = 14, READABLE = 7, NEAR = 6;
const view = { key: "", scale: 1, x: 0, y: 0, closed: new Set(), from: null, waiting: false, moved: false, boxes: [], labels: [], curves: [], lit: -1 };

const openScale = (module) => TITLE / module[6];

function fitGraph(box) {
  const canvas = byId("graph"), { clientWidth: width, clientHeight: height } = canvas, { graph } = method();
  const [x, y, w, h] = box || [0, 0, graph.width, graph.height];
  view.scale = Math.min((width - 40) / Math.max(w, 1), (height - 100) / Math.max(h, 1), 1.6);
  if (box) view.scale = Math.max(view.scale, openScale(box));
  view.x = width / 2 - (x + w / 2) * view.scale;
  view.y = (height + 30) / 2 - (y + h / 2) * view.scale;
  redraw();
}

function redraw() {
  if (view.waiting) return;
  view.waiting = true;
  requestAnimationFrame(() => { view.waiting = false; if (state.section === "graph") drawGraph(); });
}

// For each module the outermost closed one that it is in, itself included; -1 if all of them are open.
function closedModules(modules) {
  const found = new Int32Array(modules.length);
  modules.forEach((module, at) => {
    const outer = module[4] >= 0 ? found[module[4]] : -1;
    found[at] = outer >= 0 ? outer : view.closed.has(at) || view.scale < openScale(module) ? at : -1;
  });
  return found;
}

// For each module how often it calls each operator, all that is in it included; the most frequent first.
const operators = new WeakMap();
function operatorsOf(at) {
  const one = method();
  if (!operators.has(one)) {
    const { nodes, modules, labels } = one.graph, counts = modules.map(() => new Map());
    one.instructions.forEach((_, node) => {
      for (let home = nodes[node][4]; home >= 0; home = modules[home][4]) counts[home].set(labels[node], (counts[home].get(labels[node]) || 0) + 1);
    });
    operators.set(one, counts.map((found) => [...found].sort((a, b) => b[1] - a[1]).map(([name, count]) => (count > 1 ? `${name} ×${grouped(count)}` : name))));
  }
  return operators.get(one)[at];
}

// The last part of a module's path, with the one before a number: `layers.3`, not `3`.
function moduleName(path) {
  const parts = path.split(".");
  return parts.slice(/^\d+$/.test(parts[parts.length - 1]) ? -2 : -1).join(".");
}

// What stands on a closed module, in at most so many lines: its name and class, then its operators.
function closedLines(pen, at, room, most) {
  const path = method().graph.modules[at][5], name = moduleName(path), kind = method().classes[path] || "", fits = (text) => pen.measureText(text).width <= room;
  const numbered = /^\d+$/.test(path.split(".").pop()), short = path.split(".").pop();
  const whole = [kind && `${name}: ${kind}`, kind && `${short}: ${kind}`, !kind && name].find((text) => text && fits(text));
  const named = fits(name) ? name : short;
  const lines = whole ? [whole] : most > 1 && kind ? [named, kind] : [numbered && kind ? kind : named];
  for (const operator of operatorsOf(at)) {
    const last = lines.length - 1, joined = `${lines[last]}, ${operator}`;
    if (lines.begun && fits(joined)) lines[last] = joined;
    else if (lines.length < most) { lines.push(operator); lines.begun = true; }
    else break;
  }
  return lines;
}

// The parts of the curve from a box to one below it, or around to one above it, each with four points.
function curve(ax, ay, bx, by, scale) {
  if (by >= ay) { const bend = (by - ay) / 2; return [[ax, ay, ax, ay + bend, bx, by - bend, bx, by]]; }
  const bend = 18 * scale, mx = (ax + bx) / 2, my = (ay + by) / 2;
  return [[ax, ay, ax, ay + bend * 2, mx, ay + bend, mx, my], [mx, my, mx, by - bend, bx, by - bend * 2, bx, by]];
}

function drawGraph() {
  const canvas = byId("graph");
  if (!canvas) return;
  const [pen, width, height] = canvasOf(canvas);
  const one = method(), { nodes, modules, labels } = one.graph, closed = closedModules(modules);
  const { scale, x: left, y: top } = view;
  const shown = (box) => left + box[0] * scale < width && left + (box[0] + box[2]) * scale > 0 &&
    top + box[1] * scale < height && top + (box[1] + box[3]) * scale > 0;
  const rectangle = (box) => [left + box[0] * scale, top + box[1] * scale, box[2] * scale, box[3] * scale];
  const text = style("--text"), line = style("--line"), accent = style("--accent");
  const up = state.node >= 0 ? reached(state.node, neighbours().above) : new Set();
  const down = state.node >= 0 ? reached(state.node, neighbours().below) : new Set();
  const font = (size) => { pen.font = `${size}px system-ui, "DejaVu Sans", sans-serif`; };
  // Text within a box, from `x` and around `y`; `labels` keeps where it is, for tests.
  const write = (label, x, y, size, box) => {
    font(size);
    const cut = fitted(pen, label, box[0] + box[2] - x - 2);
    if (!cut) return;
    pen.fillStyle = text;
    pen.fillText(cut, x, y);
    view.labels.push({ text: cut, whole: label, x, y: y - size * 0.6, width: pen.measureText(cut).width, height: size * 1.2, box });
  };
  pen.textBaseline = "middle";
  view.boxes = [];
  view.labels = [];
  view.curves = [];
  const titled = [];
  modules.forEach((module, at) => {
    if (closed[at] >= 0 && closed[at] !== at || !shown(module)) return;
    const box = rectangle(module), [x, y, w, h] = box, folded = closed[at] === at;
    view.boxes.push([x, y, w, h, -1, at]);
    pen.beginPath();
    pen.roundRect(x, y, w, h, Math.min(8, w / 4, h / 4));
    pen.fillStyle = folded ? color(one.classes[module[5]] || module[5].replace(/\d+/g, ""), 0.5) : style("--group");
    pen.fill();
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    pen.stroke();
    if (!folded) { titled.push([module, box]); return; }
    const size = Math.min(12, h * 0.7), step = size * 1.3, margin = Math.min(6, w * 0.08);
    if (size < READABLE) return;
    font(size);
    const lines = closedLines(pen, at, w - 2 * margin - 2, Math.max(1, Math.floor((h - 4) / step)));
    lines.forEach((label, row) => write(label, x + margin, y + h / 2 + (row - (lines.length - 1) / 2) * step, size, box));
  });
  const stand = (node) => {
    const home = nodes[node][4];
    return home >= 0 && closed[home] >= 0 ? modules[closed[home]] : nodes[node];
  };
  const pass = (wanted, paint, thick) => {
    pen.beginPath();
    one.edges.forEach(([from, to], at) => {
      if (wanted && !wanted(from, to, at)) return;
      const a = stand(from), b = stand(to);
      if (a === b) return;
      const ax = left + (a[0] + a[2] / 2) * scale, ay = top + (a[1] + a[3]) * scale;
      const bx = left + (b[0] + b[2] / 2) * scale, by = top + b[1] * scale;
      if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > width || Math.max(ay, by) < 0 || Math.min(ay, by) > height) return;
      const parts = curve(ax, ay, bx, by, scale);
      if (!wanted) view.curves.push([at, parts]);
      pen.moveTo(ax, ay);
      for (const [, , ...points] of parts) pen.bezierCurveTo(...points);
    });
    pen.strokeStyle = paint;
    pen.lineWidth = thick;
    pen.stroke();
  };
  pen.globalAlpha = state.node >= 0 ? 0.35 : 0.8;
  pass(null, style("--edge"), Math.min(1.2, Math.max(0.4, scale)));
  pen.globalAlpha = 1;
  if (state.node >= 0) {
    pass((from, to) => to === state.node || up.has(to) && up.has(from), style("--up"), 1.8);
    pass((from, to) => from === state.node || down.has(from) && down.has(to), style("--down"), 1.8);
  }
  if (view.lit >= 0) pass((from, to, at) => at === view.lit, accent, 2.4);
  nodes.forEach((node, at) => {
    if (node[4] >= 0 && closed[node[4]] >= 0 || !shown(node)) return;
    const box = rectangle(node), [x, y, w, h] = box, lit = at === state.node || up.has(at) || down.has(at);
    view.boxes.push([x, y, w, h, at, -1]);
    pen.globalAlpha = state.node >= 0 && !lit ? 0.4 : 1;
    pen.beginPath();
    pen.roundRect(x, y, w, h, Math.min(5 * scale, h / 2));
    pen.fillStyle = at < one.instructions.length ? color(labels[at]) : style("--panel");
    pen.fill();
    if (lit || at >= one.instructions.length) {
      pen.strokeStyle = at === state.node ? accent : up.has(at) ? style("--up") : down.has(at) ? style("--down") : text;
      pen.lineWidth = at === state.node ? 3 : 1.5;
      pen.stroke();
    }
    const size = Math.min(15, h / 2);
    if (size >= READABLE) write(labels[at], x + Math.min(8, h / 4), y + h / 2, size, box);
    pen.globalAlpha = 1;
  });
  // Titles come last: edges cross the strip that they stand in.
  for (const [module, box] of titled) {
    const [x, y, w] = box, strip = module[6] * scale, size = Math.min(14, Math.max(9, strip * 0.6)), middle = y + Math.min(strip, 26) / 2;
    const kind = method().classes[module[5]], name = moduleName(module[5]), room = w - 10;
    font(size);
    const label = [kind && `${module[5]}: ${kind}`, kind && `${name}: ${kind}`, module[5]].find((each) => each && pen.measureText(each).width <= room) || name;
    pen.globalAlpha = 0.75;
    pen.fillStyle = style("--panel");
    pen.fillRect(x + 4, middle - size * 0.6, Math.min(room, pen.measureText(label).width) + 4, size * 1.2);
    pen.globalAlpha = 1;
    write(label, x + 6, middle, size, box);
  }
}

function zoomGraph(factor, x, y) {
  const scale = Math.min(6, Math.max(0.002, view.scale * factor));
  view.x = x - (x - view.x) * scale / view.scale;
  view.y = y - (y - view.y) * scale / view.scale;
  view.scale = scale;
  redraw();
}

// Nodes are drawn after modules, and inner modules after outer ones.
function boxAt(event) {
  const place = byId("graph").getBoundingClientRect(), x = event.clientX - place.left, y = event.clientY - place.top;
  return (view.boxes || []).findLast(([left, top, w, h]) => x >= left && x <= left + w && y >= top && y <= top + h);
}

// The edge at a place, with all others that have its ends, which are those of closed modules.
function edgesAt(event) {
  const place = byId("graph").getBoundingClientRect(), x = event.clientX - place.left, y = event.clientY - place.top;
  let least = NEAR, found = null;
  for (const [at, parts] of view.curves) {
    for (const [ax, ay, bx, by, cx, cy, dx, dy] of parts) {
      if (Math.min(ax, bx, cx, dx) > x + NEAR || Math.max(ax, bx, cx, dx) < x - NEAR || Math.min(ay, by, cy, dy) > y + NEAR || Math.max(ay, by, cy, dy) < y - NEAR) continue;
      const steps = Math.min(400, Math.max(16, Math.ceil(Math.hypot(dx - ax, dy - ay) / 3)));
      for (let step = 0; step <= steps; step++) {
        const t = step / steps, s = 1 - t, p = s * s * s, q = 3 * s * s * t, r = 3 * s * t * t, u = t * t * t;
        const distance = Math.hypot(p * ax + q * bx + r * cx + u * dx - x, p * ay + q * by + r * cy + u * dy - y);
        if (distance < least) { least = distance; found = parts; }
      }
    }
  }
  if (!found) return [];
  const ends = (parts) => [parts[0][0], parts[0][1], ...parts[parts.length - 1].slice(6)].join();
  return view.curves.filter(([, parts]) => ends(parts) === ends(found)).map(([at]) => at);
}

function edgeTip(edges) {
  const one = method(), shapes = edges.map((at) => { const [from, to, register] = one.edges[at]; return `${nodeTitle(from)} → ${nodeTitle(to)}\n    ${register < 0 ? "jump" : `%${register}  ${one.values[register].text}`}`; });
  return [...shapes.slice(0, 8), shapes.length > 8 ? `and ${grouped(shapes.length - 8)} more` : ""].filter(Boolean).join("\n");
}

function moduleTip(at) {
  const path = method().graph.modules[at][5], kind = method().classes[path];
  const inside = method().instructions.filter((one) => one.module === path || one.module.startsWith(`${path}.`)).length;
  const named = operatorsOf(at);
  return `${path}${kind ? `: ${kind}` : ""}\n${grouped(inside)} instructions: ${named.slice(0, 8).join(", ")}${named.length > 8 ? ", …" : ""}\nclick: open or close, double click: zoom`;
}

// A module that is closed since it is far away opens by coming near.
function toggleModule(at) {
  const module = method().graph.modules[at];
  if (!view.closed.delete(at) && view.scale >= openScale(module)) view.closed.add(at);
  if (!view.closed.has(at) && view.scale < openScale(module)) fitGraph(module); else redraw();
}

// Bring a node into view, with the modules around it open.
function centerNode(node) {
  const { nodes, modules } = method().graph, canvas = byId("graph"), box = nodes[node];
  let least = 0.7;
  for (let at = box[4]; at >= 0; at = modules[at][4]) {
    view.closed.delete(at);
    least = Math.max(least, openScale(modules[at]));
  }
  view.scale = Math.max(view.scale, least);
  view.x = canvas.clientWidth / 2 - (box[0] + box[2] / 2) * view.scale;
  view.y = canvas.clientHeight / 2 - (box[1] + box[3] / 2) * view.scale;
  redraw();
}

function graphSection(main) {
  main.className = "full";
  const one = method(), key = `${state.program}.${state.method}`;
  const canvas = make("canvas", { id: "graph", tabindex: "0", "aria-label": "Graph of the method" });
  const setAll = (on) => { view.closed = new Set(on ? one.graph.modules.keys() : []); redraw(); };
  main.append(canvas, make("div", { class: "tools" },
    make("button", { onclick: () => fitGraph() }, "Fit (0)"),
    one.graph.modules.length ? make("button", { onclick: () => setAll(true) }, "Close modules") : null,
    one.graph.modules.length ? make("button", { onclick: () => setAll(false) }, "Open modules") : null),
    make("div", { class: "legend" }, one.modules_from === "map" ? "modules: from the debug map"
      : one.graph.modules.length ? "modules: from names of weights (--debug-map has them all)" : "no modules known: give --debug-map"));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomGraph(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    view.from = [event.clientX - view.x, event.clientY - view.y, event.clientX, event.clientY];
    view.moved = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!view.from) {
      const hit = boxAt(event), open = !hit || hit[4] < 0 && closedModules(method().graph.modules)[hit[5]] < 0;
      const edges = open ? edgesAt(event) : [], lit = edges.length ? edges[0] : -1;
      if (lit !== view.lit) { view.lit = lit; redraw(); }
      showTip(event, edges.length ? edgeTip(edges) : !hit ? "" : hit[4] >= 0 ? nodeTip(hit[4]) : moduleTip(hit[5]));
      return;
    }
    showTip(event, "");
    view.moved ||= Math.hypot(event.clientX - view.from[2], event.clientY - view.from[3]) > 4;
    view.x = event.clientX - view.from[0];
    view.y = event.clientY - view.from[1];
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    view.from = null;
    const hit = view.moved ? null : boxAt(event);
    if (view.moved) return;
    if (hit && hit[4] >= 0) choose(hit[4]);
    else if (hit && event.detail < 2) toggleModule(hit[5]);
    else if (!hit) choose(-1);
  });
  canvas.addEventListener("pointerleave", (event) => { showTip(event, ""); if (view.lit >= 0) { view.lit = -1; redraw(); } });
  canvas.addEventListener("dblclick", (event) => {
    const hit = boxAt(event);
    if (hit && hit[5] >= 0) { view.closed.delete(hit[5]); fitGraph(method().graph.modules[hit[5]]); }
  });
  view.lit = -1;
  if (view.key !== key) { view.key = key; view.closed.clear(); fitGraph(); }
  if (state.node >= 0) centerNode(state.node);
  drawGraph();
}

function nodeTip(node) {
  const instruction = method().instructions[node];
  if (!instruction) return method().graph.labels[node];
  const shapes = (title, registers) => registers.map((register) => `${title} %${register}  ${method().values[register].text}`);
  return [`${node}: ${instruction.text}`, ...shapes("reads", instruction.reads), ...shapes("writes", instruction.writes), instruction.module, source(instruction)].filter(Boolean).join("\n");
}
