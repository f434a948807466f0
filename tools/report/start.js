// Navigation: sections, keys, links, themes.
const SECTIONS = [
  ["overview", "Overview", overviewSection], ["graph", "Graph", graphSection], ["instructions", "Instructions", instructionsSection],
  ["levels", "Levels", levelsSection], ["memory", "Memory", memorySection], ["weights", "Weights", weightsSection],
  ["delegates", "Delegation", delegatesSection], ["compiler", "Compiler", compilerSection], ["profile", "Times", profileSection],
  ["differences", "Differences", differencesSection],
];
const KEYS = [
  ["1 … 9", "sections"], ["/", "search"], ["n, p", "next and previous instruction"],
  ["↑, ↓", "graph: what the node depends on, what uses it"], ["←, →", "graph: pan"], ["+, -, 0", "graph: zoom in, out, fit"],
  ["↑, ↓, ←, →", "levels: the next op, what belongs to it in the column beside"],
  ["c", "graph: close or open the module of the node"], ["Enter", "search: go to the next match"], ["t", "dark or light"],
  ["Esc", "close the details"], ["?", "this list"],
];

const needed = {
  profile: () => program().profile, differences: () => facts.differences.length, levels: () => program().levels,
  compiler: () => program().explanation && program().explanation.target,
};
const present = ([name]) => !needed[name] || needed[name]();

function show(section, keepLink) {
  if (section) state.section = section;
  const entry = SECTIONS.find(([name]) => name === state.section);
  if (!entry || !present(entry)) state.section = "overview";
  const main = byId("main"), [, , fill] = SECTIONS.find(([name]) => name === state.section);
  byId("sections").replaceChildren(...SECTIONS.filter(present).map(([name, title], at) => make("a", {
    href: `#section=${name}`, "aria-current": name === state.section ? "page" : null,
    onclick: (event) => { event.preventDefault(); show(name); },
  }, title, at < 9 ? make("small", {}, String(at + 1)) : null)));
  redraws.length = 0;
  showTip(null, "");
  main.className = "";
  main.replaceChildren();
  main.scrollTop = 0;
  showDetails();
  fill(main);
  if (!keepLink) setLink();
}

function setLink() {
  const op = state.section === "levels" && state.op && !nodeOfOp(state.op);
  history.replaceState(null, "", op ? opLink(state.op) : state.node >= 0 ? nodeLink(state.node) : `#section=${state.section}`);
}

function choose(node, center) {
  if (state.section === "levels") { chooseOp(opOfNode(node)); if (state.node === node) return; }
  Object.assign(state, { node, op: null });
  setLink();
  const visible = byId("details").hidden;
  showDetails();
  if (state.section === "graph") {
    if (node >= 0 && (center || visible)) centerNode(node); else redraw();
  } else if (state.section === "instructions") {
    document.querySelector(".row.chosen")?.classList.remove("chosen");
    const row = document.querySelector(`.row[data-node="${node}"]`);
    if (row) { row.classList.add("chosen"); if (center) row.scrollIntoView({ block: "center" }); }
  } else for (const draw of redraws) draw();
}

function chooseIn(name, node) {
  state.method = Math.max(0, program().methods.findIndex((each) => each.name === name));
  fillChoices();
  choose(node);
}

function fillChoices() {
  const one = program(), chooser = byId("program");
  chooser.replaceChildren(...facts.programs.map((each, at) => make("option", { value: at }, fileName(each.file))));
  chooser.value = state.program;
  byId("program-choice").hidden = facts.programs.length < 2;
  byId("method").replaceChildren(...one.methods.map((each, at) => make("option", { value: at }, each.name)));
  byId("method").value = state.method;
  byId("method-choice").hidden = one.methods.length < 2;
  byId("title").textContent = fileName(one.file);
  byId("title").title = one.file;
  document.title = `${fileName(one.file)}: report`;
}

// A link to what does not exist leads to the section alone.
function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (SECTIONS.some(([name]) => name === wanted.get("section"))) state.section = wanted.get("section");
  const parts = /^(\d+)\.(.*)\.(\d+)$/.exec(wanted.get("node") || "");
  if (parts && facts.programs[parts[1]]) {
    const at = facts.programs[parts[1]].methods.findIndex((each) => each.name === parts[2]);
    if (at >= 0 && Number(parts[3]) < facts.programs[parts[1]].methods[at].graph.labels.length) {
      Object.assign(state, { program: Number(parts[1]), method: at, node: Number(parts[3]) });
      if (!wanted.get("section")) state.section = "graph";
    }
  }
  const op = /^(\d+)\.([\w-]+)\.(\d+)$/.exec(wanted.get("op") || ""), levels = op && facts.programs[op[1]] && facts.programs[op[1]].levels;
  const level = levels ? levels.findIndex((each) => each.name === op[2]) : -1;
  if (level >= 0 && Number(op[3]) < levels[level].ops.length) {
    Object.assign(state, { program: Number(op[1]), section: "levels", op: [level, Number(op[3])], node: -1 });
    if (!facts.programs[state.program].methods[state.method]) state.method = 0;
    const node = nodeOfOp(state.op);
    if (node) [state.method, state.node] = node;
  }
  fillChoices();
  show(null, true);
}

function nextMatch() {
  const words = byId("search").value.trim().toLowerCase(), all = method().instructions;
  if (!words) return;
  for (let step = 1; step <= all.length; step++) {
    const at = (Math.max(state.node, -1) + step) % all.length;
    if (`${all[at].text} ${all[at].module} ${source(all[at])}`.toLowerCase().includes(words)) { choose(at, true); return; }
  }
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  if (state.section === "graph") redraw();
  for (const draw of redraws) draw();
}

function onKey(event) {
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    if (event.key === "Enter" && event.target.id === "search") nextMatch();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inGraph = state.section === "graph", inLevels = state.section === "levels", { above, below } = neighbours(), canvas = byId("graph");
  const step = (lists) => { if (state.node >= 0 && lists[state.node].length) choose(lists[state.node][0], true); else if (state.node < 0) choose(0, true); };
  const zoom = (factor) => zoomGraph(factor, canvas.clientWidth / 2, canvas.clientHeight / 2);
  const pan = (by) => { view.x += by; redraw(); };
  const sections = SECTIONS.filter(present), digit = Number(event.key);
  const last = method().instructions.length - 1;
  const actions = {
    "/": () => byId("search").focus(), "?": () => byId("keys").showModal(), Escape: () => { choose(-1); if (inLevels) chooseOp(null); }, t: () => theme(dark() ? "light" : "dark"),
    n: () => choose(Math.min(state.node + 1, last), true), p: () => choose(Math.max(state.node - 1, 0), true),
    ...(inLevels && Object.fromEntries(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map((key) => [key, () => levelKey(key)]))),
    ...(inGraph && {
      ArrowUp: () => step(above), ArrowDown: () => step(below), ArrowLeft: () => pan(80), ArrowRight: () => pan(-80),
      "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: () => fitGraph(),
      c: () => { if (state.node >= 0 && method().graph.nodes[state.node][4] >= 0) toggleModule(method().graph.nodes[state.node][4]); },
    }),
  };
  if (digit >= 1 && sections[digit - 1]) show(sections[digit - 1][0]);
  else if (actions[event.key]) actions[event.key]();
  else return;
  event.preventDefault();
}

function start() {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  theme(preferred.matches ? "dark" : "light");
  preferred.addEventListener("change", () => theme(preferred.matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => theme(dark() ? "light" : "dark"));
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("keys").append(make("h2", {}, "Keys"), table(["Key", ""], KEYS.map(([key, what]) => [make("kbd", {}, key), what])),
    make("p", {}, make("button", { onclick: () => byId("keys").close() }, "Close")));
  byId("program").addEventListener("change", (event) => { Object.assign(state, { program: Number(event.target.value), method: 0, node: -1, op: null }); fillChoices(); show(); });
  byId("method").addEventListener("change", (event) => { Object.assign(state, { method: Number(event.target.value), node: -1, op: null }); show(); });
  byId("search").addEventListener("input", () => { if (["instructions", "weights"].includes(state.section)) show(); else if (state.section === "levels") for (const draw of redraws) draw(); });
  addEventListener("keydown", onKey);
  addEventListener("hashchange", follow);
  new ResizeObserver(() => { if (state.section === "graph") redraw(); for (const draw of redraws) draw(); }).observe(byId("main"));
  follow();
  // Milliseconds since the navigation, when the scripts have ended and when their drawing was on the screen.
  const since = () => performance.now().toFixed(1), { dataset } = document.documentElement;
  dataset.ready = since();
  requestAnimationFrame(() => requestAnimationFrame(() => { dataset.painted = since(); }));
}

start();
