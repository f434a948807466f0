// Levels side by side. Only the lines in view are elements: programs have thousands.
const ROW = 20;
const levelsShown = new Map(); // by program: names of the columns
const indexed = new WeakMap();

// For each level: the op of a line, and ops by node and by place.
function levelIndex(one = program()) {
  if (!indexed.has(one)) {
    indexed.set(one, one.levels.map((level) => {
      const byLine = new Map(), byNode = new Map(), byPlace = new Map(), byInstruction = new Map();
      const add = (map, key, at) => { if (map.has(key)) map.get(key).push(at); else map.set(key, [at]); };
      level.ops.forEach(([line, nodes, place, method, instruction], at) => {
        byLine.set(line, at);
        for (const node of nodes) add(byNode, node, at);
        if (place >= 0) add(byPlace, place, at);
        if (instruction >= 0) byInstruction.set(`${method} ${instruction}`, at);
      });
      return { byLine, byNode, byPlace, byInstruction };
    }));
  }
  return indexed.get(one);
}

// The ops of each level that belong to an op: those of its nodes; of those that name no node, those of its place.
function relatives([level, at]) {
  const { levels } = program(), [, nodes, place] = levels[level].ops[at];
  return levelIndex().map((index, other) => {
    if (other === level) return new Set();
    const found = new Set(nodes.flatMap((node) => index.byNode.get(node) || []));
    for (const one of index.byPlace.get(place) || []) {
      if (!nodes.length || !levels[other].ops[one][1].length) found.add(one);
    }
    return found;
  });
}

const opText = ([level, at]) => { const one = program().levels[level]; return one.lines[one.ops[at][0]].trim(); };
const opLink = ([level, at]) => `#section=levels&op=${state.program}.${program().levels[level].name}.${at}`;

// The op of the last level that is an instruction.
function opOfNode(node) {
  const { levels } = program();
  if (!levels || node < 0) return null;
  const at = levelIndex()[levels.length - 1].byInstruction.get(`${method().name} ${node}`);
  return at === undefined ? null : [levels.length - 1, at];
}

function nodeOfOp([level, at]) {
  const [, , , name, instruction] = program().levels[level].ops[at];
  const place = program().methods.findIndex((each) => each.name === name);
  return level === program().levels.length - 1 && instruction >= 0 && place >= 0 ? [place, instruction] : null;
}

function chooseOp(op, keepScroll) {
  state.op = op;
  const node = op && nodeOfOp(op);
  if (node) { state.method = node[0]; byId("method").value = state.method; }
  state.node = node ? node[1] : -1;
  setLink();
  showDetails();
  redrawLevels(keepScroll);
}

function showOpDetails(panel) {
  const link = make("button", { onclick: () => copy(link) }, "Copy link"), [level] = state.op;
  panel.append(make("h2", {}, `${program().levels[level].name}`), make("div", { class: "bar" }, link,
    make("button", { onclick: () => chooseOp(null), "aria-label": "Close" }, "Close")), make("code", {}, opText(state.op)), ...relativeLists(state.op));
}

// What an op comes from, and what became of it, by level.
function relativeLists(op) {
  const { levels } = program();
  return relatives(op).flatMap((found, level) => {
    if (!found.size) return [];
    const all = [...found], title = `${level < op[0] ? "From" : "To"} ${levels[level].name}`;
    return [make("h3", {}, title), ...all.slice(0, 20).map((at) => make("div", { class: "code relative" },
      make("a", { href: opLink([level, at]), onclick: (event) => { event.preventDefault(); show("levels"); chooseOp([level, at]); } }, opText([level, at])))),
      all.length > 20 ? make("div", { class: "soft" }, `and ${grouped(all.length - 20)} more`) : ""];
  });
}

let columns = [];

function redrawLevels(keepScroll) {
  const found = state.op ? relatives(state.op) : null;
  const top = columns.find((column) => state.op && column.level === state.op[0]);
  if (top && !keepScroll) top.reveal(program().levels[state.op[0]].ops[state.op[1]][0], null);
  // Where the chosen line is in its column: the first line that belongs to it goes to that height in the others.
  const height = top ? program().levels[state.op[0]].ops[state.op[1]][0] * ROW - top.scroller.scrollTop : null;
  for (const column of columns) {
    column.lit = found ? found[column.level] : new Set();
    if (column.lit.size) column.reveal(Math.min(...[...column.lit].map((at) => program().levels[column.level].ops[at][0])), height);
    column.draw();
  }
}

function levelColumn(level) {
  const { name, lines, count } = program().levels[level], { byLine } = levelIndex()[level];
  const scroller = make("div", { class: "text", tabindex: "0", role: "listbox", "aria-label": `Level ${name}` });
  // The text can be scrolled past its end, so that a method at the end of a short one can be at the top, too.
  const whole = make("div", { class: "lines", style: `height: calc(${(lines.length - 3) * ROW}px + 100%)` });
  const column = { level, scroller, lit: new Set() };
  column.reveal = (line, height) => {
    const visible = scroller.clientHeight, y = line * ROW;
    if (height !== null) scroller.scrollTop = y - height;
    else if (y < scroller.scrollTop + ROW || y > scroller.scrollTop + visible - 3 * ROW) scroller.scrollTop = y - visible / 3;
  };
  column.draw = () => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 8), last = Math.min(lines.length, first + Math.ceil(scroller.clientHeight / ROW) + 16);
    const words = byId("search").value.trim().toLowerCase();
    whole.replaceChildren(...Array.from({ length: last - first }, (_, step) => {
      const line = first + step, at = byLine.get(line), chosen = state.op && state.op[0] === level && state.op[1] === at;
      const lit = at !== undefined && column.lit.has(at) ? (level < state.op[0] ? "up" : "down") : "";
      return make("div", {
        class: `line ${chosen ? "chosen" : lit}${at === undefined ? "" : " op"}${words && lines[line].toLowerCase().includes(words) ? " match" : ""}`,
        style: `top: ${line * ROW}px`, "data-op": at === undefined ? null : `${name}.${at}`, role: at === undefined ? null : "option",
        "aria-selected": chosen ? "true" : null, onclick: at === undefined ? () => chooseOp(null, true) : () => chooseOp([level, at], true),
      }, lines[line]);
    }));
  };
  scroller.addEventListener("scroll", () => column.draw());
  scroller.append(whole);
  column.element = make("div", { class: "level" }, make("h3", {}, name, make("small", {}, ` ${grouped(count)} op${count === 1 ? "" : "s"}`)), scroller);
  return column;
}

// The columns that are shown first: levels whose text differs from that of the level before, at most three of them.
function usualLevels() {
  const { levels } = program(), last = levels.length - 1, edge = levels.findIndex((level) => level.name === "edge");
  const delegated = levels.findIndex((level) => level.name === "backend" && level.lines.join() !== (levels[edge] || level).lines.join());
  return new Set([0, delegated >= 0 ? delegated : edge >= 0 ? edge : 0, last].map((at) => levels[at].name));
}

function levelsSection(main) {
  main.className = "full levels";
  const { levels } = program();
  if (!levelsShown.has(state.program)) levelsShown.set(state.program, usualLevels());
  const shown = levelsShown.get(state.program);
  main.append(make("div", { class: "choices" }, ...levels.map((level) => {
    const box = make("input", { type: "checkbox", checked: shown.has(level.name), onchange: () => {
      if (box.checked) shown.add(level.name); else shown.delete(level.name);
      show("levels");
    } });
    return make("label", {}, box, ` ${level.name}`);
  }), make("span", { class: "soft" }, "Click an op: what it comes from is ", make("span", { class: "line up" }, "to the left"), ", what became of it ", make("span", { class: "line down" }, "to the right"))));
  columns = levels.flatMap((level, at) => (shown.has(level.name) ? [levelColumn(at)] : []));
  main.append(make("div", { class: "columns" }, ...columns.map((column) => column.element)));
  if (!state.op || nodeOfOp(state.op)) state.op = opOfNode(state.node);
  // Constants come first in each text, and are many.
  if (!state.op) for (const { level, scroller } of columns) {
    const first = levels[level].ops.find(([, , , name]) => name === method().name);
    if (first) scroller.scrollTop = first[0] * ROW;
  }
  redrawLevels();
  redraws.push(() => { for (const column of columns) column.draw(); });
}

// Up and down in a column, left and right to what belongs to the op in the column beside.
function levelKey(key) {
  const here = columns.findIndex((column) => state.op && column.level === state.op[0]);
  if (here < 0) {
    if (columns.length) chooseOp([columns[0].level, 0]);
    return;
  }
  const { level } = columns[here], at = state.op[1], count = program().levels[level].ops.length;
  if (key === "ArrowUp" || key === "ArrowDown") {
    chooseOp([level, Math.min(count - 1, Math.max(0, at + (key === "ArrowUp" ? -1 : 1)))]);
    return;
  }
  const step = key === "ArrowLeft" ? -1 : 1, found = relatives(state.op);
  for (let next = here + step; columns[next]; next += step) {
    const lit = found[columns[next].level];
    if (lit.size) { chooseOp([columns[next].level, Math.min(...lit)]); return; }
  }
}
