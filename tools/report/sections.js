// The other sections; each fills the element `main`.
const redraws = [];

function overviewSection(main) {
  const one = program(), path = `programs/${state.program}`;
  const weightBytes = one.weights.reduce((sum, weight) => sum + weight.nbytes, 0);
  const delegated = one.weights.filter((weight) => weight.delegate).length;
  const card = (value, name) => make("div", { class: "card" }, value, make("span", {}, name));
  main.append(make("h1", {}, one.file), make("div", { class: "cards" },
    card(fact(`${path}/size`, "b", bytes), "file"),
    card(make("b", { "data-sum": "weights", "data-value": weightBytes, title: grouped(weightBytes) }, bytes(weightBytes)), `in ${grouped(one.weights.length)} weights${delegated ? `, ${delegated === one.weights.length ? "all" : grouped(delegated)} of delegates` : ""}`),
    card(fact(`${path}/methods/length`), one.methods.length === 1 ? "method" : "methods"), card(fact(`${path}/delegates/length`), one.delegates.length === 1 ? "delegate" : "delegates"),
    card(fact(`${path}/version`), `version of the program, ${one.schema}`)));
  // Keys of named data are digests: the names of the weights say more.
  const weightOf = new Map(one.weights.filter((weight) => weight.key && weight.name).map((weight) => [`data ${weight.key}`, weight.name]));
  const holds = (part) => part.holds.slice(0, 2).map((one) => weightOf.get(one) || one).join(", ") + (part.holds.length > 2 ? ", …" : "");
  main.append(make("h2", {}, "The file"), stack(one.parts.map((part) => [part.holds && part.holds.length ? `${part.name} (${holds(part)})` : part.name, part.nbytes])));
  if (one.levels) {
    main.append(make("h2", {}, "Ops by level"), table(["Level", "Ops"], one.levels.map((level, at) => [level.name, fact(`${path}/levels/${at}/count`, "span")]), [1]),
      make("p", { class: "note" }, "As et-compile counts them: operators, without weights, registers and functions. Those of the last level are the instructions of the file."));
  }
  main.append(make("h2", {}, "Methods"));
  one.methods.forEach((each, at) => {
    const at_ = `${path}/methods/${at}`;
    main.append(make("h3", {}, each.name), make("div", { class: "cards" },
      card(fact(`${at_}/count`), each.count === 1 ? "instruction" : "instructions"),
      ...Object.keys(each.arenas).map((arena) => card(fact(`${at_}/arenas/${arena}`, "b", bytes), `arena ${arena}`)),
      ...Object.keys(each.delegates).map((name) => card(fact(`${at_}/delegates/${name}`), `${each.delegates[name] === 1 ? "delegate" : "delegates"} of ${name}`))),
      table(["", "Name", "Type"], [...each.inputs.map((slot, n) => [`input ${n}`, slot.name || "", slotText(slot)]), ...each.outputs.map((slot, n) => [`output ${n}`, "", slotText(slot)])]));
    if (each.inputs.length && !each.inputs.some((slot) => slot.name)) main.append(make("p", { class: "note" }, "The file has no names of inputs: --levels and a report on a model's source have them."));
    if (each.guards.length) main.append(make("h3", {}, "Guards"), ...each.guards.map((text) => make("div", { class: "code" }, text)));
    const calls = new Map();
    for (const { kind, op } of each.instructions) if (kind === "delegate") calls.set(op, (calls.get(op) || 0) + 1);
    const called = [...each.operators, ...[...calls].map(([name, count]) => ({ name, calls: count }))], most = Math.max(1, ...called.map((operator) => operator.calls));
    main.append(make("h3", {}, "Operators"), table(["Calls", "Operator", ""], called.map((operator) => [
      grouped(operator.calls), operator.name, make("span", { class: "bar-of", style: `width: ${(12 * operator.calls / most).toFixed(2)}rem; background: ${color(plainName(operator.name).replace(/\..*/, ""))}` })]), [0]));
  });
}

function slotText(slot) {
  if (slot.type) return slot.value === undefined ? slot.type : `${slot.type} ${slot.value}`;
  return `${slot.dtype} [${slot.shape.join(", ")}]${slot.dim_order ? ` dim order [${slot.dim_order.join(", ")}]` : ""}${slot.dynamic ? (slot.bounded ? " at most" : " or more") : ""}`;
}

// The types of registers that an instruction writes; of a delegate's call, those of its results.
const resultsOf = (one, instruction) => instruction.writes.map((register) => one.values[register].text).join(", ");

function instructionsSection(main) {
  const one = method(), timed = program().profile && program().profile.method === one.name;
  main.append(make("h1", {}, `Instructions of ${one.name}`));
  const heads = ["#", "Instruction", "Results", "Module", "Source", ...(timed ? ["Time"] : [])];
  const list = make("div", { class: `rows${timed ? " timed" : ""}`, role: "listbox", "aria-label": "Instructions" },
    make("div", { class: "row head" }, ...heads.map((head) => make("span", {}, head))));
  const words = byId("search").value.trim().toLowerCase();
  let listed = 0;
  one.instructions.forEach((instruction, at) => {
    const results = resultsOf(one, instruction);
    if (words && !`${instruction.text} ${results} ${instruction.module} ${source(instruction)}`.toLowerCase().includes(words)) return;
    listed += 1;
    const frame = instruction.frames && instruction.frames[instruction.frames.length - 1], time = timeOf(at);
    const cells = [make("span", { class: "soft" }, String(at)), make("code", {}, instruction.text), make("code", { title: results }, results),
      make("span", { class: "soft", title: instruction.module }, dotted(instruction.module)),
      make("span", { class: "soft", title: frame ? `${frame[0]}:${frame[1]}\n${frame[3].trim()}` : null }, frame ? `${source(instruction)}  ${frame[3].trim()}` : "")];
    if (timed) cells.push(make("span", { class: "soft time" }, time ? micro(time.median_ns) : ""));
    list.append(make("div", { class: `row${at === state.node ? " chosen" : ""}`, "data-node": at, role: "option", onclick: () => choose(at), title: instruction.text }, ...cells));
  });
  main.append(make("p", { class: "note" }, words ? `${grouped(listed)} of ${grouped(one.instructions.length)} match “${words}”` : `${grouped(listed)} instruction${listed === 1 ? "" : "s"}`), list);
  const chosen = list.querySelector(".chosen");
  if (chosen) chosen.scrollIntoView({ block: "center" });
}

function histogramOf(found) {
  if (!found || !found.bins.length) return "";
  const space = "http://www.w3.org/2000/svg", picture = document.createElementNS(space, "svg"), path = document.createElementNS(space, "path");
  const most = Math.max(...found.bins), count = found.bins.length;
  picture.setAttribute("viewBox", `0 0 ${count} 10`);
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("class", "histogram");
  path.setAttribute("d", found.bins.map((bin, at) => `M${at} 10V${10 - 10 * bin / most}h.9V10z`).join(""));
  picture.append(path);
  const text = `${short(found.min)} to ${short(found.max)}, mean ${short(found.mean)}, standard deviation ${short(found.std)}\n${grouped(found.zeros)} zeros, ${grouped(found.nonfinite)} not finite${found.count < found.of ? `\nof ${grouped(found.count)} of ${grouped(found.of)} values` : ""}`;
  picture.addEventListener("mousemove", (event) => showTip(event, text));
  picture.addEventListener("mouseleave", (event) => showTip(event, ""));
  return picture;
}

function sums(items, key) {
  const found = new Map();
  for (const item of items) found.set(key(item), (found.get(key(item)) || 0) + item.nbytes);
  return [...found].sort((a, b) => b[1] - a[1]);
}

function moduleOfWeight({ name, delegate }) {
  if (!name) return delegate ? `(no name, of ${delegate})` : "(no name)";
  return name.split(".").slice(0, -1).slice(0, 2).join(".") || name;
}

// How many weights there are of each power of four bytes, and how many bytes these have.
function sizesOf(all) {
  const groups = new Map();
  for (const { nbytes } of all) {
    const power = Math.max(2, Math.ceil(Math.log2(Math.max(nbytes, 1)) / 2)), [count, sum] = groups.get(power) || [0, 0];
    groups.set(power, [count + 1, sum + nbytes]);
  }
  const most = Math.max(1, ...[...groups.values()].map(([, sum]) => sum));
  return table(["At most", "Weights", "Bytes", ""], [...groups].sort(([a], [b]) => a - b).map(([power, [count, sum]]) => [
    bytes(4 ** power), grouped(count), grouped(sum), make("span", { class: "bar-of", style: `width: ${(20 * sum / most).toFixed(2)}rem` })]), [0, 1, 2]);
}

// Keys of named data are digests, of which the first characters tell them apart.
const shortKey = (key) => (key.length > 28 ? `data ${key.slice(0, 20)}…` : `data ${key}`);

function weightsSection(main) {
  const all = program().weights, words = byId("search").value.trim().toLowerCase();
  main.append(make("h1", {}, "Weights"));
  const unread = program().delegates.filter((one) => !all.some((weight) => weight.delegate === one.backend));
  if (unread.length) main.append(make("p", { class: "note" }, `Weights in the blobs of ${[...new Set(unread.map((one) => one.backend))].join(", ")} are not listed: ${bytes(unread.reduce((sum, one) => sum + one.nbytes, 0))} with all else that is in them.`));
  if (!all.length) main.append(make("p", { class: "note" }, "No weights, neither constants of the program nor of delegates whose blobs can be read."));
  else {
    main.append(make("h2", {}, "By type"), stack(sums(all, (weight) => weight.dtype)));
    main.append(make("h2", {}, "By size"), sizesOf(all));
    main.append(make("h2", {}, "By module"), stack(sums(all, moduleOfWeight)));
    if (all.some((weight) => weight.delegate)) main.append(make("h2", {}, "By reader"), stack(sums(all, (weight) => weight.delegate || "kernels")));
  }
  quantizationPart(main);
  const chosen = all.map((weight, at) => [weight, at]).filter(([weight]) => !words || `${weight.name || ""} ${weight.key || ""} ${weight.delegate || ""}`.toLowerCase().includes(words));
  const rows = (limit) => chosen.slice(0, limit).map(([weight, at]) => [
    fact(`programs/${state.program}/weights/${at}/nbytes`, "span"), weight.name ? make("div", { class: "name" }, dotted(weight.name)) : (weight.key ? make("span", { class: "soft", title: weight.key }, shortKey(weight.key)) : ""), make("span", { class: "nowrap" }, `${weight.dtype} [${weight.shape.join(", ")}]`),
    histogramOf(weight.histogram), weight.histogram && weight.histogram.bins.length ? make("span", { class: "nowrap" }, `${short(weight.histogram.min)} … ${short(weight.histogram.max)}`) : "",
    [weight.delegate || "", weight.uses > 1 ? `${weight.uses} uses` : "", weight.also ? `= ${weight.also.slice(0, 2).join(", ")}${weight.also.length > 2 ? ` and ${grouped(weight.also.length - 2)} more` : ""}` : "", weight.external ? "in a data file" : "", weight.same_as === undefined ? "" : `same as ${all[weight.same_as].name || `weight ${weight.same_as}`}`].filter(Boolean).join(", ")]);
  if (!all.length) return;
  const heads = ["Bytes", "Name", "Type", "Values", "Range", ""], place = make("div", {}, table(heads, rows(200), [0]));
  main.append(make("h2", {}, words ? `${grouped(chosen.length)} that match` : "All, largest first"), place);
  if (chosen.length > 200) {
    const more = make("button", { onclick: () => { place.replaceChildren(table(heads, rows(Infinity), [0])); more.remove(); } }, `Show all ${grouped(chosen.length)}`);
    main.append(more);
  }
}

function differencesSection(main) {
  main.append(make("h1", {}, "Differences"));
  for (const each of facts.differences) {
    main.append(make("h2", {}, `${facts.programs[each.before].file} → ${facts.programs[each.after].file}`));
    const both = [each.before, each.after].map((at) => facts.programs[at]);
    const sizes = (one) => [["file", one.size], ["weights", one.weights.reduce((sum, weight) => sum + weight.nbytes, 0)],
      ...one.methods.flatMap((m) => [[`${m.name}: instructions`, m.count], ...Object.entries(m.arenas).map(([arena, size]) => [`${m.name}: arena ${arena}`, size])])];
    const [first, second] = both.map((one) => new Map(sizes(one)));
    main.append(table(["", "Before", "After", "Change"], [...new Set([...first.keys(), ...second.keys()])].map((name) => {
      const a = first.get(name), b = second.get(name);
      return [name, a === undefined ? "–" : grouped(a), b === undefined ? "–" : grouped(b), a === undefined || b === undefined ? "" : `${b > a ? "+" : ""}${grouped(b - a)}`];
    }), [1, 2, 3]));
    const groups = new Map();
    for (const [where, before, after] of each.differences) { if (!groups.has(where)) groups.set(where, []); groups.get(where).push([before, after]); }
    main.append(make("p", { class: "note" }, each.count ? `${grouped(each.count)} differences` : "The programs are the same."));
    for (const [where, listed] of groups) {
      const lines = (limit) => listed.slice(0, limit).flatMap(([before, after]) => [
        before === null ? null : make("div", { class: "code diff removed" }, `- ${before}`), after === null ? null : make("div", { class: "code diff added" }, `+ ${after}`)]).filter(Boolean);
      const place = make("div", {}, ...lines(200));
      main.append(make("details", { open: listed.length <= 40 }, make("summary", {}, `${where} (${grouped(listed.length)})`), place,
        listed.length > 200 ? make("button", { onclick: (event) => { place.replaceChildren(...lines(Infinity)); event.target.remove(); } }, "Show all") : null));
    }
    if (each.count > each.differences.length) main.append(make("p", { class: "note" }, `The first ${grouped(each.differences.length)} are listed; et-vm diff --all prints the rest.`));
  }
}
