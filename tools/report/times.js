// Times of a profile, and the roofline of the machine that it was measured on.
const SVG = "http://www.w3.org/2000/svg";
const micro = (ns) => (ns >= 1e6 ? `${short(ns / 1e6)} ms` : `${short(ns / 1000)} µs`);
const percent = (share) => `${(100 * share).toFixed(1)} %`;

function timeOf(node) {
  const { profile } = program();
  if (!profile || profile.method !== method().name) return null;
  profile.byNode ||= new Map(profile.rows.map((row) => [row.instruction, row]));
  return profile.byNode.get(node);
}

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value); else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Operations a second by operations a byte, both logarithmic. No instruction can be above the lines.
function roofline(profile) {
  const { peak } = profile, width = 760, height = 380, left = 62, right = 16, top = 14, bottom = 42;
  const parts = profile.rows.flatMap((row) => row.events.map((event) => ({ ...event, instruction: row.instruction })));
  const points = [...profile.rows, ...parts].filter((row) => row.gflops && row.gbps);
  if (!points.length) return null;
  const caches = peak.bandwidths[0].gbps, memory = peak.bandwidths[peak.bandwidths.length - 1].gbps;
  const intensities = [...points.map((row) => row.gflops / row.gbps), peak.gflops / memory, 0.1];
  const rates = [...points.map((row) => row.gflops), peak.gflops];
  const span = (values) => [Math.floor(Math.log10(Math.min(...values)) - 0.1), Math.ceil(Math.log10(Math.max(...values)) + 0.1)];
  const [x0, x1] = span(intensities), [y0, y1] = span(rates);
  const px = (value) => left + (Math.log10(value) - x0) / (x1 - x0) * (width - left - right);
  const py = (value) => height - bottom - (Math.log10(value) - y0) / (y1 - y0) * (height - top - bottom);
  const area = { x: left, y: top, width: width - left - right, height: height - top - bottom };
  const inside = drawn("svg", { ...area, viewBox: `${area.x} ${area.y} ${area.width} ${area.height}` }), axes = [];
  const label = (x, y, anchor, text) => drawn("text", { x, y, "text-anchor": anchor, class: "label" }, text);
  for (let power = x0; power <= x1; power++) {
    axes.push(drawn("line", { x1: px(10 ** power), y1: top, x2: px(10 ** power), y2: height - bottom, class: "grid" }), label(px(10 ** power), height - bottom + 16, "middle", short(10 ** power)));
  }
  for (let power = y0; power <= y1; power++) {
    axes.push(drawn("line", { x1: left, y1: py(10 ** power), x2: width - right, y2: py(10 ** power), class: "grid" }), label(left - 6, py(10 ** power) + 4, "end", short(10 ** power)));
  }
  axes.push(label((left + width - right) / 2, height - 6, "middle", "operations per byte"), drawn("text", { x: 0, y: 0, transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "label" }, "GFLOP/s"));
  for (const [name, rate, dashed] of [["caches", caches, ""], ["memory", memory, "6 4"]]) {
    const ridge = peak.gflops / rate, start = 10 ** x0, end = 10 ** x1;
    const at = Math.max(start * 1.3, 10 ** y0 / rate * 1.3);
    inside.append(drawn("path", { d: `M${px(start)} ${py(rate * start)}L${px(ridge)} ${py(peak.gflops)}L${px(end)} ${py(peak.gflops)}`, class: "roof", "stroke-dasharray": dashed }));
    inside.append(drawn("text", { x: px(at) + 4, y: py(rate * at) - 7, class: "label", transform: `rotate(${-Math.atan2((height - top - bottom) / (y1 - y0), (width - left - right) / (x1 - x0)) * 180 / Math.PI} ${px(at)} ${py(rate * at)})` }, `${name}: ${short(rate)} GB/s`));
  }
  inside.append(label(width - right - 4, py(peak.gflops) - 6, "end", `${short(peak.gflops)} GFLOP/s, ${peak.how}`));
  // The longest are drawn first, so that shorter ones stay visible.
  for (const row of [...points].sort((a, b) => b.median_ns - a.median_ns)) {
    const radius = 4 + 12 * Math.sqrt(row.median_ns / (profile.median_ns || 1));
    const text = `${row.instruction}: ${row.name}\n${micro(row.median_ns)}, ${short(row.gflops)} GFLOP/s, ${short(row.gbps)} GB/s\n${short(row.gflops / row.gbps)} operations per byte${row.roofline === null ? "" : `, ${percent(row.roofline)} of the peak`}`;
    inside.append(drawn("circle", {
      cx: px(row.gflops / row.gbps).toFixed(1), cy: py(row.gflops).toFixed(1), r: radius.toFixed(1), "data-instruction": row.instruction, class: "point",
      fill: color(plainName(row.name).replace(/\..*/, "")), onmousemove: (event) => showTip(event, text), onmouseleave: (event) => showTip(event, ""), onclick: () => chooseIn(profile.method, row.instruction),
    }));
  }
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "roofline", role: "img", "aria-label": "Roofline" }, ...axes, inside);
}

function profileSection(main) {
  const { profile } = program(), { instructions } = program().methods.find((each) => each.name === profile.method);
  const path = `programs/${state.program}/profile`, { peak } = profile;
  const total = profile.median_ns || 1, most = Math.max(1, ...profile.rows.map((row) => row.median_ns));
  const card = (value, name) => make("div", { class: "card" }, value, make("span", {}, name));
  main.append(make("h1", {}, `Times of ${profile.method}`), make("div", { class: "cards" },
    card(fact(`${path}/median_ns`, "b", micro), `an execution, median of ${grouped(profile.repeat)}`), card(fact(`${path}/min_ns`, "b", micro), "the shortest"),
    card(fact(`${path}/planned_bytes`, "b", bytes), "planned in arenas"),
    profile.peak_resident_bytes === null ? null : card(fact(`${path}/peak_resident_bytes`, "b", bytes), "peak of the process"),
    peak && card(fact(`${path}/peak/gflops`, "b", short), `GFLOP/s at most, ${grouped(peak.threads)} thread${peak.threads === 1 ? "" : "s"}`)));
  const byOp = sums(profile.rows.map((row) => ({ name: plainName(row.name).replace(/\..*/, ""), nbytes: row.median_ns })), (row) => row.name);
  main.append(make("h2", {}, "By operator"), stack(byOp, micro));
  const events = profile.rows.flatMap((row) => row.events);
  if (events.length) main.append(make("h2", {}, "Within delegates"), stack(sums(events.map((event) => ({ name: event.name, nbytes: event.median_ns })), (one) => one.name), micro));
  const plot = peak && roofline(profile);
  if (plot) main.append(make("h2", {}, "Roofline"), plot, make("p", { class: "note" }, `Instructions and parts of delegates whose operations and bytes are known; the size of a point is its share of the time. Peaks of ${peak.processor}, measured; bandwidth with working sets of ${peak.bandwidths.map((one) => `${bytes(one.bytes)} (${short(one.gbps)} GB/s)`).join(", ")}.`));
  main.append(make("h2", {}, "By instruction"));
  const order = profile.rows.map((_, at) => at).sort((a, b) => profile.rows[b].median_ns - profile.rows[a].median_ns);
  const listed = (limit) => order.slice(0, limit).flatMap((at) => {
    const row = profile.rows[at], cell = (key, show) => (row[key] === null ? "" : fact(`${path}/rows/${at}/${key}`, "span", show));
    return [[cell("median_ns", micro), cell("min_ns", micro), percent(row.median_ns / total), cell("gflops", short), cell("gbps", short), cell("roofline", percent),
      make("span", { class: "bar-of", style: `width: ${(8 * row.median_ns / most).toFixed(2)}rem` }),
      make("a", { href: "#", onclick: (event) => { event.preventDefault(); chooseIn(profile.method, row.instruction); } }, `${row.instruction}: ${row.name}`), instructions[row.instruction].module],
    ...row.events.map((event, number) => {
      const part = (key, show) => (event[key] === null ? "" : fact(`${path}/rows/${at}/events/${number}/${key}`, "span", show));
      return [part("median_ns", micro), part("min_ns", micro), percent(event.median_ns / total), part("gflops", short), part("gbps", short), part("roofline", percent),
        make("span", { class: "bar-of part", style: `width: ${(8 * event.median_ns / most).toFixed(2)}rem` }), make("span", { class: "soft inner" }, event.name), event.module];
    })];
  });
  const heads = ["Median", "Least", "Share", "GFLOP/s", "GB/s", "Of peak", "", "Instruction", "Module"], numbers = [0, 1, 2, 3, 4, 5];
  const place = make("div", {}, table(heads, listed(500), numbers));
  main.append(place);
  if (order.length > 500) {
    const more = make("button", { onclick: () => { place.replaceChildren(table(heads, listed(Infinity), numbers)); more.remove(); } }, `Show all ${grouped(order.length)}`);
    main.append(more);
  }
  main.append(make("h2", {}, "Loading"), stack(Object.entries(profile.load_ns), micro), make("h2", {}, "Memory"), stack(Object.entries(profile.memory)));
}
