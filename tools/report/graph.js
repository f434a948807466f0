// The graph: positions come with the data; modules too small to read are drawn closed.
const CLOSED_BELOW = 64;
const view = { key: "", scale: 1, x: 0, y: 0, closed: new Set(), from: null, waiting: false, moved: false };

function fitGraph(box) {
  const canvas = byId("graph"), { clientWidth: width, clientHeight: height } = canvas, { graph } = method();
  const [x, y, w, h] = box || [0, 0, graph.width, graph.height];
  view.scale = Math.min((width - 40) / Math.max(w, 1), (height - 100) / Math.max(h, 1), 1.6);
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
  modules.forEach(([, , w, h, parent], at) => {
    const outer = parent >= 0 ? found[parent] : -1;
    found[at] = outer >= 0 ? outer : view.closed.has(at) || Math.min(w, h) * view.scale < CLOSED_BELOW ? at : -1;
  });
  return found;
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
  const write = (label, x, y, room, size) => {
    pen.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
    const most = Math.floor(room / (size * 0.56));
    if (most >= 2) pen.fillText(label.length > most ? `${label.slice(0, most - 1)}…` : label, x, y);
  };
  pen.textBaseline = "middle";
  view.boxes = [];
  const titles = [], titled = [];
  modules.forEach((box, at) => {
    if (closed[at] >= 0 && closed[at] !== at || !shown(box)) return;
    const [x, y, w, h] = rectangle(box), folded = closed[at] === at;
    view.boxes.push([x, y, w, h, -1, at]);
    pen.beginPath();
    pen.roundRect(x, y, w, h, Math.min(8, w / 4, h / 4));
    pen.fillStyle = folded ? color(box[5].replace(/\d+/g, ""), 0.5) : style("--group");
    pen.fill();
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    pen.stroke();
    const name = folded ? box[5].split(".").pop() : box[5], size = Math.min(13, Math.max(9, 14 * scale));
    const middle = folded ? y + h / 2 : y + Math.max(13 * scale, 8), outer = box[4] >= 0 ? titles[box[4]] : undefined;
    pen.fillStyle = text;
    if (folded && h > 11) write(name, x + 6, middle, w - 8, Math.min(12, h * 0.7));
    // A title that would cover that of the module around it is left out.
    if (!folded && h > 20 && (outer === undefined || middle - outer >= 11)) { titled.push([name, x + 6, middle, w - 8, size]); titles[at] = middle; }
    else titles[at] = outer;
  });
  const stand = (node) => {
    const home = nodes[node][4];
    return home >= 0 && closed[home] >= 0 ? modules[closed[home]] : nodes[node];
  };
  const pass = (wanted, paint, thick) => {
    pen.beginPath();
    for (const [from, to] of one.edges) {
      if (wanted && !wanted(from, to)) continue;
      const a = stand(from), b = stand(to);
      if (a === b) continue;
      const ax = left + (a[0] + a[2] / 2) * scale, ay = top + (a[1] + a[3]) * scale;
      const bx = left + (b[0] + b[2] / 2) * scale, by = top + b[1] * scale;
      if (Math.max(ax, bx) < 0 || Math.min(ax, bx) > width || Math.max(ay, by) < 0 || Math.min(ay, by) > height) continue;
      pen.moveTo(ax, ay);
      if (by >= ay) { const bend = (by - ay) / 2; pen.bezierCurveTo(ax, ay + bend, bx, by - bend, bx, by); }
      else { const bend = 18 * scale; pen.bezierCurveTo(ax, ay + bend * 2, (ax + bx) / 2, ay + bend, (ax + bx) / 2, (ay + by) / 2); pen.bezierCurveTo((ax + bx) / 2, by - bend, bx, by - bend * 2, bx, by); }
    }
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
  nodes.forEach((box, node) => {
    if (box[4] >= 0 && closed[box[4]] >= 0 || !shown(box)) return;
    const [x, y, w, h] = rectangle(box), lit = node === state.node || up.has(node) || down.has(node);
    view.boxes.push([x, y, w, h, node, -1]);
    pen.globalAlpha = state.node >= 0 && !lit ? 0.4 : 1;
    pen.beginPath();
    pen.roundRect(x, y, w, h, Math.min(5 * scale, h / 2));
    pen.fillStyle = node < one.instructions.length ? color(labels[node]) : style("--panel");
    pen.fill();
    if (lit || node >= one.instructions.length) {
      pen.strokeStyle = node === state.node ? accent : up.has(node) ? style("--up") : down.has(node) ? style("--down") : text;
      pen.lineWidth = node === state.node ? 3 : 1.5;
      pen.stroke();
    }
    pen.fillStyle = text;
    if (h > 9) write(labels[node], x + 7 * scale, y + h / 2, w - 8 * scale, Math.min(15, 13 * scale));
    pen.globalAlpha = 1;
  });
  // Titles come last: far away, the line that is theirs is lower than the text, which reaches into what is below.
  for (const [name, x, middle, room, size] of titled) {
    pen.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
    const most = Math.floor(room / (size * 0.56)), taken = Math.min(room, pen.measureText(name.slice(0, most)).width);
    pen.globalAlpha = 0.75;
    pen.fillStyle = style("--panel");
    pen.fillRect(x - 2, middle - size * 0.6, taken + 4, size * 1.2);
    pen.globalAlpha = 1;
    pen.fillStyle = text;
    write(name, x, middle, room, size);
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

function moduleTip(at) {
  const path = method().graph.modules[at][5];
  const inside = method().instructions.filter((one) => one.module === path || one.module.startsWith(`${path}.`)).length;
  return `${path}\n${grouped(inside)} instructions\nclick: open or close, double click: zoom`;
}

function toggleModule(at) {
  if (view.closed.has(at)) view.closed.delete(at); else view.closed.add(at);
  redraw();
}

// Bring a node into view, with the modules around it open.
function centerNode(node) {
  const { nodes, modules } = method().graph, canvas = byId("graph"), box = nodes[node];
  let least = 0.7;
  for (let at = box[4]; at >= 0; at = modules[at][4]) {
    view.closed.delete(at);
    least = Math.max(least, CLOSED_BELOW / Math.min(modules[at][2], modules[at][3]));
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
      const hit = boxAt(event);
      showTip(event, !hit ? "" : hit[4] >= 0 ? nodeTip(hit[4]) : moduleTip(hit[5]));
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
  canvas.addEventListener("pointerleave", (event) => showTip(event, ""));
  canvas.addEventListener("dblclick", (event) => {
    const hit = boxAt(event);
    if (hit && hit[5] >= 0) { view.closed.delete(hit[5]); fitGraph(method().graph.modules[hit[5]]); }
  });
  if (view.key !== key) { view.key = key; view.closed.clear(); fitGraph(); }
  if (state.node >= 0) centerNode(state.node);
  drawGraph();
}

function nodeTip(node) {
  const instruction = method().instructions[node];
  if (!instruction) return method().graph.labels[node];
  return [`${node}: ${instruction.text}`, instruction.module, source(instruction)].filter(Boolean).join("\n");
}
