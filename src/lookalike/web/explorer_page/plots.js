// Plots, drawn from numbers alone.

const short = (value) => { // 1234567 -> 1.2M
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return (value / size).toFixed(value >= 10 * size ? 0 : 1).replace(/\.0$/, "") + letter;
  }
  return number.format(value);
};
const widthOf = (svg, otherwise) => Math.max(240, svg.clientWidth || otherwise);
const label = (x, y, text, attributes = {}) => draw("text", { x, y, ...attributes }, text);

// The stream: wide where the count of a step is large, on a scale of digits.
const drawStream = (svg, counts, whole) => { // whole: the counts that the scale is made for
  const logOf = (count) => Math.log10(count + 1), logs = whole.map(logOf), least = 0.7 * Math.min(...logs), most = Math.max(...logs, least + 1);
  const high = counts.map((count) => Math.max(1.5, 7 + (49 * (logOf(count) - least)) / (most - least)));
  const step = 1000 / counts.length;
  let top = `M0 ${60 - high[0]}`, bottom = "";
  high.forEach((half, at) => {
    const from = at * step, to = from + step, next = high[at + 1];
    if (next === undefined) { top += ` L1000 ${60 - half}`; bottom = `L1000 ${60 + half}` + bottom; return; }
    const a = to - step * 0.34, b = to + step * 0.1, middle = (a + b) / 2;
    top += ` L${a} ${60 - half} C${middle} ${60 - half} ${middle} ${60 - next} ${b} ${60 - next}`;
    bottom = ` L${b} ${60 + next} C${middle} ${60 + next} ${middle} ${60 + half} ${a} ${60 + half}` + bottom;
  });
  const flow = draw("linearGradient", { id: "flow", x1: 0, x2: 1, y1: 0, y2: 0 },
    draw("stop", { offset: 0, class: "flow-a" }), draw("stop", { offset: 0.6, class: "flow-b" }), draw("stop", { offset: 1, class: "flow-c" }));
  svg.replaceChildren(draw("defs", {}, flow), draw("path", { d: `${top} ${bottom} L0 ${60 + high[0]} Z`, fill: "url(#flow)" }));
};

// The histogram under the slider. Bars are drawn once for a width; moving the threshold only moves a clip.
const EDGE = 9; // half of the slider's thumb
const histogram = (svg, slider, overview) => {
  const cuts = overview.cuts.length;
  const inBin = overview.pairs.map((count, at) => count - (at + 1 < cuts ? overview.pairs[at + 1] : 0));
  let clip, line, width = 0, height = 0, inset = EDGE;
  const few = cuts <= 60; // a bar for each cut, around it
  const x = (cut) => inset + ((width - 2 * inset) * (cuts > 1 ? cut / (cuts - 1) : 0.5));
  const render = () => {
    width = widthOf(svg, 800);
    height = svg.clientHeight || 160;
    inset = few ? Math.max(EDGE, Math.min(44, width / cuts / 2)) : EDGE;
    slider.style.left = slider.style.right = inset - EDGE + "px";
    slider.style.width = `calc(100% - ${2 * (inset - EDGE)}px)`;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const foot = 20, head = 12, room = height - foot - head;
    const bars = few ? cuts : Math.max(1, Math.min(cuts, Math.floor((width - 2 * EDGE) / 7)));
    const sums = new Array(bars).fill(0);
    inBin.forEach((count, cut) => { sums[Math.min(bars - 1, Math.floor((cut * bars) / cuts))] += count; });
    const most = Math.max(1, ...sums), tall = (count) => room * Math.sqrt(count / most);
    const step = few ? Math.min(64, 0.8 * (cuts > 1 ? x(1) - x(0) : 64)) : (width - 2 * EDGE) / bars;
    let path = "";
    sums.forEach((count, at) => {
      const h = count ? Math.max(1.5, tall(count)) : 0, r = Math.min(2.5, h, (step - 1.5) / 2);
      if (h) path += `M${few ? x(at) - step / 2 : EDGE + at * step} ${head + room}v${-(h - r)}q0 ${-r} ${r} ${-r}h${step - 1.5 - 2 * r}q${r} 0 ${r} ${r}v${h - r}z`;
    });
    const parts = [];
    for (let tick = 1; tick <= most; tick *= 10) {
      const y = head + room - tall(tick);
      if (tall(tick) > 14 && tick * 10 > most) parts.push(draw("line", { class: "grid", x1: EDGE, x2: width - EDGE, y1: y, y2: y }), label(width - EDGE - 12, y - 3, short(tick), { class: "tick", "text-anchor": "end" }));
    }
    clip = draw("rect", { x: 0, y: 0, width, height });
    line = draw("line", { class: "cut", y1: head - 8, y2: head + room + 4 });
    parts.push(draw("clipPath", { id: "beyond" }, clip), draw("path", { class: "bars", d: path }), draw("path", { class: "bars on", d: path, "clip-path": "url(#beyond)" }));
    const most_groups = Math.max(1, ...overview.groups);
    const points = overview.groups.map((count, cut) => `${x(cut).toFixed(1)} ${(head + room - (room * count) / most_groups).toFixed(1)}`);
    parts.push(draw("path", { class: "groups-line", d: "M" + points.join("L") }), draw("line", { class: "axis", x1: EDGE, x2: width - EDGE, y1: head + room, y2: head + room }));
    parts.push(...drawBands(overview.quality, x, head, room));
    const first = overview.cuts[0], last = overview.cuts[cuts - 1];
    niceTicks(first, last, width / 90).forEach((value) => {
      const at = x(last === first ? 0 : ((cuts - 1) * (value - first)) / (last - first));
      parts.push(label(Math.max(12, Math.min(width - 14, at)), height - 5, tickText(value), { class: "tick", "text-anchor": "middle" }));
    });
    parts.push(line);
    svg.replaceChildren(...parts);
  };
  const move = (cut) => {
    const at = cut === 0 ? 0 : few ? (x(cut) + x(cut - 1)) / 2 : EDGE + ((width - 2 * EDGE) * cut) / cuts;
    clip.setAttribute("x", at);
    line.setAttribute("x1", x(cut));
    line.setAttribute("x2", x(cut));
  };
  const cutAt = (clientX) => { // the cut nearest to a point of the window
    const at = clientX - svg.getBoundingClientRect().left - inset;
    return cuts > 1 ? Math.round((at * (cuts - 1)) / (width - 2 * inset)) : 0;
  };
  return { render, move, cutAt };
};

const niceTicks = (first, last, most) => { // about `most` round values between two
  const width = Math.abs(last - first) / Math.max(2, most), power = 10 ** Math.floor(Math.log10(width || 1));
  const step = Math.max(digits === 0 ? 1 : 0, [1, 2, 5, 10].map((times) => times * power).find((one) => one >= width) || power);
  const made = [], low = Math.min(first, last), high = Math.max(first, last);
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) made.push(at * step);
  return made;
};
const tickText = (value) => String(Number(value.toPrecision(6)));

// How a score is written: as many digits as the cuts have.
let digits = 3;
const shown = (value) => (value === null || value === undefined ? "–" : Number.isInteger(value) && digits === 0 ? number.format(value) : fixed(value, digits));
const digitsOf = (cuts) => {
  if (cuts.every(Number.isInteger)) return 0;
  const steps = cuts.slice(1).map((value, at) => Math.abs(value - cuts[at])).filter((step) => step > 0);
  return Math.min(6, Math.max(2, Math.ceil(-Math.log10(Math.min(...steps, steps.length ? 0.01 : 0.001)) - 0.001)));
};

const drawCurve = (svg, overview) => {
  const { curve, sign, threshold } = overview;
  const width = widthOf(svg, 420), height = 230, left = 34, foot = 28, head = 10, right = 12;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const exact = !curve || (!curve.points.length && !(curve.measured && (curve.measured.parts || []).length));
  const points = exact ? [] : curve.points, measured = exact ? [] : (curve.measured && curve.measured.parts) || [];
  const xs = [...points.map((point) => point[0]), ...measured.map((part) => part.at), threshold];
  let low = Math.min(...xs), high = Math.max(...xs);
  if (exact) { const best = overview.cuts[overview.cuts.length - 1]; [low, high] = sign > 0 ? [Math.min(0, threshold), Math.max(best, threshold)] : [0, 2 * threshold || 1]; }
  if (high === low) high = low + 1;
  const x = (value) => left + ((width - left - right) * (value - low)) / (high - low), y = (share) => head + (height - head - foot) * (1 - share);
  const parts = [];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(share), y2: y(share) }), label(left - 6, y(share) + 4, String(share), { class: "tick", "text-anchor": "end" }));
  }
  niceTicks(low, high, 6).forEach((value) => parts.push(label(Math.min(width - 10, x(value)), height - 9, tickText(value), { class: "tick", "text-anchor": "middle" })));
  const wanted = sign > 0 ? [x(threshold), width - right] : [left, x(threshold)];
  parts.unshift(draw("rect", { class: "wanted", x: wanted[0], y: head, width: Math.max(0, wanted[1] - wanted[0]), height: height - head - foot }));
  const only = curve && exact && curve.measured && curve.measured.recall !== null ? curve.measured : null; // one number for all
  if (only) {
    const [least, most] = only.interval_95;
    parts.push(draw("rect", { class: "likely", x: wanted[0], y: y(most), width: Math.max(0, wanted[1] - wanted[0]), height: Math.max(1.5, y(least) - y(most)) }),
      draw("line", { class: "told", x1: wanted[0], x2: wanted[1], y1: y(only.recall), y2: y(only.recall) }));
  }
  const path = only ? "" : exact
    ? (sign > 0 ? `M${left} ${y(0)}H${x(threshold)}V${y(1)}H${width - right}` : `M${left} ${y(1)}H${x(threshold)}V${y(0)}H${width - right}`)
    : points.length ? "M" + points.map((point) => `${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`).join("L") : "";
  if (path) parts.push(draw("path", { class: "curve", d: path }));
  parts.push(draw("line", { class: "cut", x1: x(threshold), x2: x(threshold), y1: head, y2: height - foot + 4 }));
  measured.forEach((part) => {
    const [least, most] = part.interval_95, at = x(part.at);
    const dot = draw("g", { class: "measured" },
      draw("line", { x1: at, x2: at, y1: y(least), y2: y(most) }), draw("line", { x1: at - 4, x2: at + 4, y1: y(least), y2: y(least) }),
      draw("line", { x1: at - 4, x2: at + 4, y1: y(most), y2: y(most) }), draw("circle", { cx: at, cy: y(part.recall), r: 4 }));
    if (!points.length) dot.append(draw("line", { class: "predicted", x1: at - 7, x2: at + 7, y1: y(part.predicted), y2: y(part.predicted) }));
    dot.append(draw("title", {}, `about ${shown(part.at)}: ${number.format(part.found_pairs)} of ${number.format(part.true_pairs)} sampled pairs found, recall ${fixed(part.recall, 4)}, planned ${fixed(part.predicted, 4)}`));
    parts.push(dot);
  });
  const now = draw("line", { class: "now", y1: head, y2: height - foot });
  svg.replaceChildren(...parts, now);
  svg.setAttribute("aria-label", "How likely a pair is found at each " + overview.column);
  return (value) => { // to where the slider stands
    const at = Math.max(left, Math.min(width - right, x(value)));
    now.setAttribute("x1", at);
    now.setAttribute("x2", at);
  };
};

const fillBuckets = (list, buckets) => {
  const counts = Object.entries(buckets), most = Math.log10(Math.max(1, ...counts.map((one) => one[1])) + 1);
  list.replaceChildren(...counts.map(([size, count]) => {
    const bar = make("i");
    bar.style.width = Math.max(1, (100 * Math.log10(count + 1)) / most) + "%";
    return make("li", {}, make("span", { class: "size" }, size.replace("-", "–")), make("span", { class: "bar" }, bar), make("span", { class: "count" }, number.format(count)));
  }));
};

// A group as a matrix: a cell for each pair among its first members, darker where they are nearer.
const drawMatrix = (group, overview, open) => {
  const n = Math.min(group.rows.length, 40), cell = Math.max(7, Math.min(26, Math.floor(300 / n))), size = n * cell;
  const svg = draw("svg", { class: "matrix", viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: "img", "aria-label": "Which members are pairs" });
  const scores = group.links.map((one) => one[2]);
  const low = Math.min(...scores), high = Math.max(...scores);
  const parts = [];
  for (let at = 0; at < n; at++) parts.push(draw("rect", { class: "self", x: at * cell, y: at * cell, width: cell - 1, height: cell - 1, rx: 1.5 }));
  group.links.forEach(([a, b, score]) => {
    if (a >= n || b >= n) return;
    const nearness = high > low ? (overview.sign > 0 ? score - low : high - score) / (high - low) : 1;
    for (const [across, down] of [[a, b], [b, a]]) {
      const one = draw("rect", { class: "link", x: across * cell, y: down * cell, width: cell - 1, height: cell - 1, rx: 1.5, "fill-opacity": 0.25 + 0.75 * nearness },
        draw("title", {}, group.rows[a].name + "\n" + group.rows[b].name + "\n" + shown(score)));
      one.addEventListener("click", () => open(group.rows[a].item, group.rows[b].item));
      parts.push(one);
    }
  });
  svg.append(...parts);
  return svg;
};

// What each field adds, one after the other, up to the score.
const drawWaterfall = (adds, prior, score, overview) => {
  const told = adds.filter(([, value]) => value !== null);
  const bits = prior !== null && prior !== undefined;
  const steps = bits ? [["before any field", prior], ...told] : told;
  let sum = 0;
  const bars = steps.map(([name, value]) => { const from = sum; sum += value; return [name, from, sum, value]; });
  const total = bits ? sum : score;
  const low = Math.min(0, ...bars.map((bar) => Math.min(bar[1], bar[2]))), high = Math.max(0.001, total, ...bars.map((bar) => Math.max(bar[1], bar[2])));
  const scale = (value) => (100 * (value - low)) / (high - low);
  const row = (name, from, to, value, kind) => {
    const bar = make("i", { class: kind });
    bar.style.left = scale(Math.min(from, to)) + "%";
    bar.style.width = Math.max(0.6, Math.abs(scale(to) - scale(from))) + "%";
    return make("li", {}, make("span", { class: "name-of" }, name), make("span", { class: "fall" }, bar), make("span", { class: "count" }, value));
  };
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(bits ? 1 : 3);
  const list = make("ol", { class: "waterfall" });
  list.append(...bars.map(([name, from, to, value]) => row(name, from, to, signed(value), value < 0 ? "less" : "gain")));
  list.append(row(bits ? "bits in all" : overview.column, 0, total, bits ? total.toFixed(1) : shown(score), "sum"));
  return list;
};

const drawVectors = (view) => {
  const series = [view.left, view.right].filter(Boolean), width = 800, height = 170;
  const all = series.flat(), low = Math.min(...all), high = Math.max(...all, low + 1e-9);
  const svg = draw("svg", { class: "vectors", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "The numbers of both" });
  series.forEach((values, side) => {
    const points = values.map((value, at) => `${((width * at) / Math.max(1, values.length - 1)).toFixed(1)} ${(height - 6 - ((height - 12) * (value - low)) / (high - low)).toFixed(1)}`);
    svg.append(draw("path", { class: "series s" + side, d: "M" + points.join("L") }));
  });
  return svg;
};
