// The panel of one instruction, input or output; and who depends on whom.
const relations = new WeakMap();

function neighbours(one = method()) {
  if (!relations.has(one)) {
    const count = one.graph.labels.length;
    const above = Array.from({ length: count }, () => []), below = Array.from({ length: count }, () => []);
    for (const [from, to] of one.edges) { above[to].push(from); below[from].push(to); }
    relations.set(one, { above, below });
  }
  return relations.get(one);
}

function reached(start, lists) {
  const seen = new Set(), waiting = [start];
  while (waiting.length) {
    for (const next of lists[waiting.pop()]) if (!seen.has(next) && next !== start) { seen.add(next); waiting.push(next); }
  }
  return seen;
}

function nodeTitle(node) {
  const instruction = method().instructions[node];
  return instruction ? `${node}: ${instruction.op}` : method().graph.labels[node];
}

function registerLine(register) {
  const value = method().values[register];
  let text = `%${register}  ${value.text}`;
  if (value.constant !== undefined) text += "  constant";
  if (value.arena !== undefined) text += `  arena ${value.arena} at ${grouped(value.offset)}`;
  if (value.nbytes !== undefined) text += `  ${bytes(value.nbytes)}`;
  return make("div", { class: "code" }, text);
}

function nodeList(nodes, title) {
  if (!nodes.length) return null;
  const unique = [...new Set(nodes)];
  return make("div", {}, make("h3", {}, title), ...unique.slice(0, 40).map((node) => make("div", {},
    make("a", { href: nodeLink(node), onclick: (event) => { event.preventDefault(); choose(node, true); } }, nodeTitle(node)))),
    unique.length > 40 ? make("div", { class: "soft" }, `and ${grouped(unique.length - 40)} more`) : null);
}

function showDetails() {
  const panel = byId("details"), node = state.node;
  panel.hidden = node < 0 && !state.op;
  panel.replaceChildren();
  if (node < 0) {
    if (state.op) showOpDetails(panel);
    return;
  }
  const one = method(), instruction = one.instructions[node], { above, below } = neighbours();
  const link = make("button", { onclick: () => copy(link) }, "Copy link");
  panel.append(make("h2", {}, nodeTitle(node)), make("div", { class: "bar" }, link,
    state.section === "graph" ? null : make("button", { onclick: () => show("graph") }, "Graph"),
    state.section === "levels" || !opOfNode(node) ? null : make("button", { onclick: () => show("levels") }, "Levels"),
    make("button", { onclick: () => choose(-1), "aria-label": "Close" }, "Close")));
  if (instruction) {
    panel.append(make("code", {}, instruction.text));
    if (instruction.module) panel.append(make("h3", {}, "Module"), make("div", { class: "code" }, dotted(instruction.module + (one.classes[instruction.module] ? `: ${one.classes[instruction.module]}` : ""))));
    if (instruction.frames) {
      panel.append(make("h3", {}, "Source"), ...instruction.frames.map(([file, line, name, text]) =>
        make("div", { style: "margin-bottom: .4rem" }, make("div", { class: "soft" }, `${file}:${line} in ${name}`), make("code", {}, text.trim()))));
    }
    const time = timeOf(node);
    if (time) panel.append(make("h3", {}, "Time"), make("div", {}, `median ${micro(time.median_ns)}, least ${micro(time.min_ns)}${time.roofline === null ? "" : `, ${percent(time.roofline)} of the peak`}`));
    if (instruction.reads.length) panel.append(make("h3", {}, "Reads"), ...instruction.reads.map(registerLine));
    if (instruction.writes.length) panel.append(make("h3", {}, "Writes"), ...instruction.writes.map(registerLine));
  } else {
    const count = one.instructions.length, at = node - count;
    const key = at < one.inputs.length ? "input" : "output", place = key === "input" ? at : at - one.inputs.length;
    one.values.forEach((value, register) => { if ((value[key] || []).includes(place)) panel.append(registerLine(register)); });
  }
  const op = opOfNode(node);
  if (op) panel.append(...relativeLists(op));
  panel.append(...[nodeList(above[node], "Depends on"), nodeList(below[node], "Used by")].filter(Boolean));
  panel.append(make("p", { class: "soft" },
    `${grouped(reached(node, above).size)} ancestors, ${grouped(reached(node, below).size)} descendants`));
}

function copy(button) {
  const link = location.href, done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy link"; }, 1200); };
  const select = () => {
    const field = make("textarea", { style: "position: fixed; opacity: 0" });
    field.value = link;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    done();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(link).then(done, select); else select();
}
