// Navigation: sections, keys, links, themes.
const SECTIONS = [
  ["overview", "Overview", overviewSection], ["graph", "Graph", graphSection], ["instructions", "Instructions", instructionsSection],
  ["memory", "Memory", memorySection], ["weights", "Weights", weightsSection], ["delegates", "Delegation", delegatesSection],
  ["profile", "Times", profileSection], ["differences", "Differences", differencesSection],
];
const KEYS = [
  ["1 … 8", "sections"], ["/", "search"], ["n, p", "next and previous instruction"],
  ["↑, ↓", "graph: what the node depends on, what uses it"], ["←, →", "graph: pan"], ["+, -, 0", "graph: zoom in, out, fit"],
  ["c", "graph: close or open the module of the node"], ["Enter", "search: go to the next match"], ["t", "dark or light"],
  ["Esc", "close the details"], ["?", "this list"],
];

const present = ([name]) => (name !== "profile" || program().profile) && (name !== "differences" || facts.differences.length);

function show(section, keepLink) {
  if (section) state.section = section;
  const entry = SECTIONS.find(([name]) => name === state.section);
  if (!entry || !present(entry)) state.section = "overview";
  const main = byId("main"), [, , fill] = SECTIONS.find(([name]) => name === state.section);
  byId("sections").replaceChildren(...SECTIONS.filter(present).map(([name, title], at) => make("a", {
    href: `#section=${name}`, "aria-current": name === state.section ? "page" : null,
    onclick: (event) => { event.preventDefault(); show(name); },
  }, title, make("small", {}, String(at + 1)))));
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
  history.replaceState(null, "", state.node >= 0 ? nodeLink(state.node) : `#section=${state.section}`);
}

function choose(node, center) {
  state.node = node;
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
  const inGraph = state.section === "graph", { above, below } = neighbours(), canvas = byId("graph");
  const step = (lists) => { if (state.node >= 0 && lists[state.node].length) choose(lists[state.node][0], true); else if (state.node < 0) choose(0, true); };
  const zoom = (factor) => zoomGraph(factor, canvas.clientWidth / 2, canvas.clientHeight / 2);
  const pan = (by) => { view.x += by; redraw(); };
  const sections = SECTIONS.filter(present), digit = Number(event.key);
  const last = method().instructions.length - 1;
  const actions = {
    "/": () => byId("search").focus(), "?": () => byId("keys").showModal(), Escape: () => choose(-1), t: () => theme(dark() ? "light" : "dark"),
    n: () => choose(Math.min(state.node + 1, last), true), p: () => choose(Math.max(state.node - 1, 0), true),
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
  byId("program").addEventListener("change", (event) => { Object.assign(state, { program: Number(event.target.value), method: 0, node: -1 }); fillChoices(); show(); });
  byId("method").addEventListener("change", (event) => { Object.assign(state, { method: Number(event.target.value), node: -1 }); show(); });
  byId("search").addEventListener("input", () => { if (["instructions", "weights"].includes(state.section)) show(); });
  addEventListener("keydown", onKey);
  addEventListener("hashchange", follow);
  new ResizeObserver(() => { if (state.section === "graph") redraw(); for (const draw of redraws) draw(); }).observe(byId("main"));
  follow();
  // Milliseconds since the navigation: what tests hold against their limit.
  document.documentElement.dataset.ready = Math.round(performance.now());
}

start();
