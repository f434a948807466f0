// Arenas over time: instructions from left to right, offsets from the bottom up.
const MARGIN = { left: 76, right: 12, top: 10, bottom: 26 };

function memorySection(main) {
  const one = method();
  main.append(make("h1", {}, "Memory plan"));
  if (one.plan_error) main.append(make("p", { class: "note" }, `Lifetimes are not known: ${one.plan_error}`));
  if (!one.plan.length) main.append(make("p", { class: "note" }, "The method has no arenas."));
  one.plan.forEach((arena, at) => {
    const path = `programs/${state.program}/methods/${state.method}/plan/${at}`;
    main.append(make("h2", {}, `Arena ${arena.arena}`), make("div", { class: "cards" },
      ...[["nbytes", "bytes"], ["in_use", "most in use at once"], ["bound", "lower bound"], ["gap", "above the bound"]]
        .map(([key, name]) => make("div", { class: "card" }, fact(`${path}/${key}`, "b", bytes), make("span", {}, name)))),
      make("p", { class: "note" }, arena.certainty));
    if (arena.nbytes) main.append(arenaCanvas(arena));
    const rows = [...arena.tensors].sort((a, b) => b.nbytes - a.nbytes).slice(0, 100).map((tensor) => [
      `%${tensor.register}`, grouped(tensor.nbytes), grouped(tensor.offset), lifetime(tensor, one),
      writerLink(tensor), one.values[tensor.register].text, tensor.source || ""]);
    main.append(make("details", {}, make("summary", {}, `${grouped(arena.tensors.length)} tensors${arena.tensors.length > 100 ? ", the largest 100" : ""}`),
      table(["Register", "Bytes", "Offset", "Live", "Written by", "Tensor", "Source"], rows, [1, 2])));
  });
}

function writerOf(register) {
  return method().instructions.findIndex((one) => one.writes.includes(register));
}

function writerLink(tensor) {
  const node = writerOf(tensor.register);
  if (node < 0) return tensor.op || "";
  return make("a", { href: nodeLink(node), onclick: (event) => { event.preventDefault(); choose(node); } }, nodeTitle(node));
}

function lifetime(tensor, one) {
  if (tensor.first === undefined) return "never used";
  const end = tensor.last >= one.instructions.length ? "end" : tensor.last;
  return `${tensor.first < 0 ? "start" : tensor.first} to ${end}`;
}

function arenaCanvas(arena) {
  const canvas = make("canvas", { style: "height: 24rem", tabindex: "0", "aria-label": `Plan of arena ${arena.arena}` });
  const window = { from: -1, to: arena.instructions + 1 };
  const total = arena.instructions + 2;
  let drawn = [], waiting = false;
  const draw = () => {
    waiting = false;
    const [pen, width, height] = canvasOf(canvas), wide = width - MARGIN.left - MARGIN.right, high = height - MARGIN.top - MARGIN.bottom;
    const px = (time) => MARGIN.left + (time - window.from) / (window.to - window.from) * wide;
    const py = (offset) => MARGIN.top + high - offset / arena.nbytes * high;
    const soft = style("--soft"), text = style("--text");
    pen.font = '12px system-ui, "DejaVu Sans", sans-serif';
    pen.textBaseline = "middle";
    for (let step = 0; step <= 4; step++) {
      pen.fillStyle = soft; pen.strokeStyle = style("--line"); pen.textAlign = "right"; pen.lineWidth = 1;
      pen.fillText(bytes(Math.round(arena.nbytes * step / 4)), MARGIN.left - 6, py(arena.nbytes * step / 4));
      pen.beginPath(); pen.moveTo(MARGIN.left, py(arena.nbytes * step / 4)); pen.lineTo(width - MARGIN.right, py(arena.nbytes * step / 4)); pen.stroke();
    }
    pen.textAlign = "center";
    const every = Math.max(1, Math.ceil((window.to - window.from) / 10));
    for (let time = Math.ceil(window.from / every) * every; time <= window.to; time += every) {
      if (time >= 0 && time < arena.instructions) { pen.fillStyle = soft; pen.fillText(String(time), px(time + 0.5), height - 10); }
    }
    pen.save();
    pen.beginPath(); pen.rect(MARGIN.left, MARGIN.top, wide, high); pen.clip();
    drawn = [];
    const named = [];
    for (const tensor of arena.tensors) {
      if (tensor.first === undefined || tensor.last < window.from || tensor.first > window.to || !tensor.nbytes) continue;
      const x = px(tensor.first), w = Math.max(px(tensor.last + 1) - x, 1), h = Math.max(tensor.nbytes / arena.nbytes * high, 1), y = py(tensor.offset) - h;
      drawn.push([x, y, w, h, tensor]);
      pen.fillStyle = color(plainName(tensor.op || "unknown").replace(/\..*/, ""));
      pen.fillRect(x, y, w, h);
      if (w > 3 && h > 3) { pen.strokeStyle = style("--back"); pen.lineWidth = 0.7; pen.strokeRect(x, y, w, h); }
      const name = `%${tensor.register} ${plainName(tensor.op || "").replace(/\..*/, "")}`;
      if (h > 15 && w > 30) named.push([name, Math.max(x, MARGIN.left) + 4, y + h / 2, x + w, [x, y, w, h]]);
    }
    // Names come last: tensors that share bytes are drawn over each other.
    pen.fillStyle = text; pen.textAlign = "left";
    canvas.labels = named.flatMap(([name, x, y, end, box]) => {
      // What does not fit is the number alone: a few letters of an operator say nothing.
      const cut = [name, name.split(" ")[0]].find((text) => pen.measureText(text).width <= end - x - 2);
      if (cut) pen.fillText(cut, x, y);
      return cut ? [{ text: cut, x, y: y - 7, width: pen.measureText(cut).width, height: 14, box }] : [];
    });
    pen.beginPath();
    arena.usage.forEach((used, at) => { pen.lineTo(px(at - 1), py(used)); pen.lineTo(px(at), py(used)); });
    pen.strokeStyle = text; pen.lineWidth = 1.4; pen.stroke();
    pen.setLineDash([6, 4]); pen.beginPath(); pen.moveTo(MARGIN.left, py(arena.bound)); pen.lineTo(width, py(arena.bound));
    pen.strokeStyle = style("--up"); pen.stroke(); pen.setLineDash([]);
    pen.restore();
  };
  const later = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };
  const hit = (event) => drawn.findLast(([x, y, w, h]) => event.offsetX >= x && event.offsetX <= x + w && event.offsetY >= y && event.offsetY <= y + h);
  const move = (from, span) => {
    span = Math.min(total, Math.max(8, span));
    window.from = Math.min(Math.max(-1, from), arena.instructions + 1 - span);
    window.to = window.from + span;
    later();
  };
  canvas.addEventListener("mousemove", (event) => {
    const found = hit(event);
    if (!found) { showTip(event, ""); return; }
    const tensor = found[4];
    showTip(event, [`%${tensor.register}  ${method().values[tensor.register].text}`,
      `${grouped(tensor.nbytes)} bytes at offset ${grouped(tensor.offset)}`,
      `live: ${lifetime(tensor, method())}`, `written by ${tensor.op || "nothing"}`, tensor.source].filter(Boolean).join("\n"));
  });
  canvas.addEventListener("mouseleave", (event) => showTip(event, ""));
  canvas.addEventListener("click", (event) => { const found = hit(event); if (found && writerOf(found[4].register) >= 0) choose(writerOf(found[4].register)); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const span = window.to - window.from, share = (event.offsetX - MARGIN.left) / (canvas.clientWidth - MARGIN.left - MARGIN.right);
    const next = Math.min(total, Math.max(8, span * Math.exp((event.deltaY || event.deltaX) * 0.003)));
    move(window.from + share * (span - next), next);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const span = window.to - window.from;
    const action = { ArrowLeft: [window.from - span / 8, span], ArrowRight: [window.from + span / 8, span], "+": [window.from + span / 6, span / 1.5], "-": [window.from - span / 4, span * 1.5], 0: [-1, total] }[event.key];
    if (!action) return;
    event.preventDefault(); event.stopPropagation();
    move(...action);
  });
  redraws.push(draw);
  requestAnimationFrame(draw);
  return make("div", {}, canvas, make("p", { class: "note" },
    "Line: bytes in use; dashed: lower bound. Click a tensor for its writer. Shift and wheel, or + - and arrows: zoom in time."));
}
