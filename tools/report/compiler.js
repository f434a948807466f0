// What the compiler says: delegation with reasons, choices of lowerings, passes, errors of quantization.
function delegatesSection(main) {
  const one = program();
  main.append(make("h1", {}, "Delegation"));
  for (const each of one.methods) {
    const kinds = new Map();
    for (const instruction of each.instructions) {
      const kind = instruction.kind === "delegate" ? instruction.op : instruction.kind === "call" ? "kernels" : "control and moves";
      kinds.set(kind, (kinds.get(kind) || 0) + 1);
    }
    main.append(make("h2", {}, `Instructions of ${each.name}`), stack([...kinds], grouped));
  }
  if (!one.delegates.length) main.append(make("p", { class: "note" }, "Nothing is delegated: all operators are calls of kernels."));
  reasons(main, one.explanation);
  one.delegates.forEach((delegate, at) => {
    const calls = one.methods.flatMap((each, index) => each.name !== delegate.method ? [] : each.instructions.flatMap((instruction, node) => instruction.kind === "delegate" && instruction.delegate === delegate.index ? [[index, node]] : []));
    main.append(make("h2", {}, `${delegate.method}, delegate ${delegate.index}: ${delegate.backend}`),
      make("p", {}, fact(`programs/${state.program}/delegates/${at}/nbytes`, "span"), ` bytes in ${delegate.where}; called by `,
        ...calls.slice(0, 20).map(([index, node]) => make("a", { href: "#", style: "margin-right: .5rem", onclick: (event) => { event.preventDefault(); state.method = index; byId("method").value = index; choose(node); } }, `instruction ${node}`))));
    if (delegate.compile_specs.length) main.append(table(["Compile spec", "Value", "Bytes"], delegate.compile_specs.map((spec) => [spec.key, spec.value, grouped(spec.nbytes)]), [2]));
    if (delegate.contents) main.append(make("details", { open: one.delegates.length <= 4 }, make("summary", {}, "Contents"), make("pre", {}, delegate.contents.join("\n"))));
    else main.append(make("p", { class: "note" }, "There is no decoder for the contents of this backend."));
  });
}

function reasons(main, explanation) {
  if (!explanation) {
    main.append(make("p", { class: "note" }, "The file does not say why operators were not delegated: --explain takes what et-compile --explain=json prints, and a report on a model's source has it."));
    return;
  }
  const found = explanation.delegation, path = `programs/${state.program}/explanation/delegation`;
  if (!found) {
    main.append(make("p", { class: "note" }, "The program was compiled without a backend."));
    return;
  }
  const card = (value, name) => make("div", { class: "card" }, value, make("span", {}, name));
  main.append(make("h2", {}, "Operators of the edge program"), make("div", { class: "cards" }, card(fact(`${path}/delegated`), "delegated"),
    card(fact(`${path}/left_out/length`), "not delegated"), card(fact(`${path}/partitions/length`), "partitions")));
  if (!found.left_out.length) { main.append(make("p", { class: "note" }, "Everything is delegated.")); return; }
  main.append(make("h2", {}, "Reasons"), table(["Ops", "Reason", "Operators"], found.by_reason.map((one, at) => [
    fact(`${path}/by_reason/${at}/ops`, "span"), one.reason, Object.entries(one.operators).map(([name, count]) => (count > 1 ? `${name} ×${grouped(count)}` : name)).join(", ")]), [0]));
  const rows = (limit) => found.left_out.slice(0, limit).map((one) => [one.op, make("div", {}, ...one.reasons.map(([reason, detail]) => make("div", {}, reason, detail ? make("span", { class: "soft" }, ` ${detail}`) : ""))),
    one.module, fileName(one.source), one.method]);
  const heads = ["Operator", "Why not", "Module", "Source", "Method"], place = make("div", {}, table(heads, rows(200)));
  main.append(make("h2", {}, "Not delegated"), place);
  if (found.left_out.length > 200) {
    const more = make("button", { onclick: () => { place.replaceChildren(table(heads, rows(Infinity))); more.remove(); } }, `Show all ${grouped(found.left_out.length)}`);
    main.append(more);
  }
}

const seconds = (time) => (time === null ? "?" : micro(1e9 * time));

function compilerSection(main) {
  const said = program().explanation;
  main.append(make("h1", {}, "Compiler"), make("p", { class: "note" }, `Target ${said.target}, ${said.level}`));
  const rows = new Map();
  for (const one of said.choices) {
    const cells = [one.op, one.operands, one.candidates.map(([name, time]) => `${name} ${seconds(time)}`).join(", ") + (one.measured ? " (measured)" : ""), one.chosen];
    const key = JSON.stringify(cells);
    if (!rows.has(key)) rows.set(key, { cells, sources: [] });
    rows.get(key).sources.push(one.source);
  }
  main.append(make("h2", {}, "Choices of lowerings"));
  if (!rows.size) main.append(make("p", { class: "note" }, "There was nothing to choose."));
  else main.append(table(["Ops", "Operator", "Operands", "Candidates", "Chosen", "Source"], [...rows.values()].map(({ cells, sources }) => [grouped(sources.length), ...cells, fileName(sources[0]) + (sources.length > 1 ? ", …" : "")]), [0]));
  if (!said.passes.length) return;
  const path = `programs/${state.program}/explanation/passes`;
  main.append(make("h2", {}, "Passes that changed the program"), table(["Pass", "Instructions", "", "Buffers", "", "Bytes at the peak", "", "Bytes of constants", ""], said.passes.map((one, at) => [
    one.pass, ...["instructions", "buffers", "memory", "constants"].flatMap((key) => {
      const before = at ? said.passes[at - 1][key] : null, by = one[key] === null || before === null ? 0 : one[key] - before;
      return [one[key] === null ? "–" : fact(`${path}/${at}/${key}`, "span"), by ? make("span", { class: by < 0 ? "less" : "more" }, `${by > 0 ? "+" : "−"}${grouped(Math.abs(by))}`) : ""];
    })]), [1, 2, 3, 4, 5, 6, 7, 8]));
}

const quantizedTypes = (one) => one.weights.filter((weight) => /^u?int\d+$/.test(weight.dtype) && weight.nbytes > 64);

function quantizationPart(main) {
  const one = program(), said = one.explanation && one.explanation.quantization;
  if (!said || !said.length) {
    if (quantizedTypes(one).length) main.append(make("h2", {}, "Errors of quantization"), make("p", { class: "note" }, "Errors need the model in floats: --explain takes what et-compile --quantize MODE --explain=json prints, and a report on a model's source has them (--compile '--quantize MODE')."));
    return;
  }
  said.forEach((each, number) => {
    const path = `programs/${state.program}/explanation/quantization/${number}/layers`;
    const best = Math.max(1, ...each.layers.map((layer) => layer.weight_sqnr || 0));
    const decibels = (at, key) => (each.layers[at][key] === null ? "–" : fact(`${path}/${at}/${key}`, "span", (value) => `${value.toFixed(1)} dB`));
    main.append(make("h2", {}, `Errors of quantization: ${each.method}`), table(["Layer", "Operator", "Bytes", "Quantized", "SQNR of weight", "", "SQNR of output"], each.layers.map((layer, at) => [
      layer.name, layer.operator, fact(`${path}/${at}/bytes_before`, "span"), fact(`${path}/${at}/bytes_after`, "span"), decibels(at, "weight_sqnr"),
      layer.weight_sqnr > 0 ? make("span", { class: "bar-of", style: `width: ${(8 * layer.weight_sqnr / best).toFixed(2)}rem` }) : "", decibels(at, "output_sqnr")]), [2, 3, 4, 6]));
    const ratio = (at, key) => (each.operators[at][key] === null ? "–" : fact(`programs/${state.program}/explanation/quantization/${number}/operators/${at}/${key}`, "span", (value) => `${value.toFixed(1)} dB`));
    if (each.operators.length) main.append(make("h3", {}, "Quantized operators"), table(["Operator", "Source", "SQNR alone", "SQNR of output"], each.operators.map((one, at) => [
      one.name, one.place, ratio(at, "own_sqnr"), ratio(at, "output_sqnr")]), [2, 3]));
    if (each.unquantized.length) main.append(make("h3", {}, "In floats"), ...each.unquantized.slice(0, 200).map((text) => make("div", { class: "code" }, text)));
  });
}
