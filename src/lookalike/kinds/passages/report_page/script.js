const data = JSON.parse(id("index").textContent);
const LEFT = 0, RIGHT = 1, SHARED = 2, LEFT_SHARE = 3, RIGHT_SHARE = 4, LONGEST = 5, RUNS = 6;
const LONG = 200000; // characters from which the browser lays out only what is seen
const PIECE = 6000; // characters of such a part
const panes = [id("left"), id("right")];
const percent = (share) => // neither 0% nor 100% unless it is exactly that
  share > 0 && share < 0.005 ? "<1%" : share < 1 && share >= 0.995 ? ">99%" : Math.round(share * 100) + "%";
let order = []; // the pairs that the list shows
let current = -1; // the pair that is shown
let run = -1; // the passage that was gone to
let marks = [[], []]; // marks[side][run]: its elements
let begins = [new Map(), new Map()]; // begins[side]: text node -> its first character in the text

const nameOf = (document_) => String(data.documents[document_]);
const textOf = (document_) => JSON.parse(id("text-" + document_).textContent);

// the list of pairs

const keys = {
  shared: (pair) => -pair[SHARED],
  longest: (pair) => -pair[LONGEST],
  share: (pair) => -Math.max(pair[LEFT_SHARE], pair[RIGHT_SHARE]),
  left: () => 0,
};
const list = () => {
  const wanted = id("filter").value.trim().toLowerCase();
  const key = keys[id("sort").value];
  const named = id("sort").value === "left";
  order = data.pairs.map((_, i) => i).filter((i) => {
    const pair = data.pairs[i];
    return !wanted || (nameOf(pair[LEFT]) + "\n" + nameOf(pair[RIGHT])).toLowerCase().includes(wanted);
  });
  order.sort((a, b) => {
    const one = data.pairs[a], other = data.pairs[b];
    if (named) return nameOf(one[LEFT]).localeCompare(nameOf(other[LEFT]), undefined, { numeric: true }) || a - b;
    return key(one) - key(other) || a - b;
  });
  const items = order.map((i) => {
    const pair = data.pairs[i];
    const fill = make("i");
    fill.style.width = 100 * Math.max(pair[LEFT_SHARE], pair[RIGHT_SHARE]) + "%";
    const button = make("button", { type: "button", class: "pair", "data-pair": i },
      make("span", { class: "name" }, make("bdi", {}, nameOf(pair[LEFT]))),
      make("span", { class: "name" }, make("bdi", {}, nameOf(pair[RIGHT]))),
      make("span", { class: "bars" }, number.format(pair[SHARED]) + " " + data.unit, make("span", { class: "bar" }, fill),
        percent(pair[LEFT_SHARE]) + " · " + percent(pair[RIGHT_SHARE])));
    button.title = nameOf(pair[LEFT]) + "\n" + nameOf(pair[RIGHT]);
    if (i === current) button.setAttribute("aria-current", "true");
    return make("li", {}, button);
  });
  id("pairs").replaceChildren(...items);
  const all = data.pairs.length;
  const whole = order.length < all ? all : all + data.more;
  id("shown").textContent = number.format(order.length) + (order.length < whole ? " of " + number.format(whole) : "") +
    (whole === 1 ? " pair" : " pairs");
};

// one text with its marks

const fill = (pane, text, runs, side) => {
  const from = 2 * side, to = from + 1;
  const found = runs.map(() => []);
  const nodes = new Map();
  const edges = new Set([0, text.length]);
  runs.forEach((one) => { edges.add(one[from]); edges.add(one[to]); });
  const cuts = [...edges].sort((a, b) => a - b);
  const starts = runs.map((_, i) => i).sort((a, b) => runs[a][from] - runs[b][from]);
  let open = [], next = 0;
  const blocks = [];
  let block = make("div"), size = 0;
  let at = 0;
  const put = (node, length) => {
    const words = node.firstChild || node;
    nodes.set(words, at);
    at += words.data.length;
    block.append(node);
    size += length;
    if (size >= PIECE) { blocks.push(block); block = make("div"); size = 0; }
  };
  const plain = (piece) => { // long stretches are cut at line ends, so that parts stay small
    while (piece.length > PIECE) {
      const cut = piece.lastIndexOf("\n", PIECE) + 1 || PIECE;
      put(document.createTextNode(piece.slice(0, cut)), cut);
      piece = piece.slice(cut);
    }
    if (piece) put(document.createTextNode(piece), piece.length);
  };
  const long = text.length > LONG;
  for (let c = 0; c + 1 < cuts.length; c++) {
    const [a, b] = [cuts[c], cuts[c + 1]];
    while (next < starts.length && runs[starts[next]][from] <= a) open.push(starts[next++]);
    open = open.filter((i) => runs[i][to] > a);
    const piece = text.slice(a, b);
    if (!open.length) { if (long) plain(piece); else put(document.createTextNode(piece), 0); continue; }
    // Where passages overlap the shorter one is on top: the longer one shows on both sides of it.
    const top = open.reduce((x, y) => (runs[y][to] - runs[y][from] < runs[x][to] - runs[x][from] ? y : x));
    const mark = make("mark", { class: "c" + (top % 8), "data-run": top }, piece);
    open.forEach((i) => {
      if (!found[i].length && i === top) {
        mark.tabIndex = 0;
        mark.setAttribute("role", "link");
        mark.setAttribute("aria-label", "Passage " + (i + 1) + ", " + runs[i][4] + " " + data.unit);
      }
      found[i].push(mark);
    });
    put(mark, long ? b - a : 0);
  }
  blocks.push(block);
  pane.classList.toggle("long", long);
  pane.classList.toggle("code", data.code);
  pane.replaceChildren(...blocks);
  pane.scrollTop = 0;
  marks[side] = found;
  begins[side] = nodes;
};

// the strips: where the passages lie

const strips = (pair) => {
  const svg = id("strips"), lengths = [data.lengths[pair[LEFT]] || 1, data.lengths[pair[RIGHT]] || 1];
  svg.setAttribute("viewBox", "0 0 1000 104");
  const x = (side, at) => (1000 * at) / lengths[side];
  const wide = (a, b) => Math.max(1.5, b - a);
  const parts = [draw("rect", { class: "strip", x: 0, y: 4, width: 1000, height: 14, rx: 3 }),
    draw("rect", { class: "strip", x: 0, y: 86, width: 1000, height: 14, rx: 3 })];
  pair[RUNS].forEach((one, i) => {
    const [a, c] = [x(0, one[0]), x(1, one[2])];
    const [b, d] = [a + wide(a, x(0, one[1])), c + wide(c, x(1, one[3]))];
    const path = draw("path", { class: "ribbon c" + (i % 8), "data-run": i,
      d: `M${a} 18 C${a} 52 ${c} 52 ${c} 86 L${d} 86 C${d} 52 ${b} 52 ${b} 18 Z` });
    const title = document.createElementNS(SVG, "title");
    title.textContent = "Passage " + (i + 1) + ": " + number.format(one[4]) + " " + data.unit;
    path.append(title);
    parts.push(path, draw("rect", { class: "block c" + (i % 8), "data-run": i, x: a, y: 4, width: b - a, height: 14 }),
      draw("rect", { class: "block c" + (i % 8), "data-run": i, x: c, y: 86, width: d - c, height: 14 }));
  });
  parts.push(draw("rect", { class: "view", y: 2, height: 18, rx: 3 }), draw("rect", { class: "view", y: 84, height: 18, rx: 3 }));
  svg.replaceChildren(...parts);
  svg.setAttribute("aria-label", pair[RUNS].length + " shared passages");
  seen();
};
const characterAt = (side, x, y, otherwise) => { // of the text that is seen at this point of the window
  const range = document.caretRangeFromPoint ? document.caretRangeFromPoint(x, y) : null;
  const begin = range ? begins[side].get(range.startContainer) : undefined;
  return begin === undefined ? otherwise : begin + range.startOffset;
};
const seen = () => {
  id("strips").querySelectorAll(".view").forEach((view, side) => {
    const pane = panes[side], box = pane.getBoundingClientRect(), whole = Math.max(1, pane.scrollHeight);
    const length = data.lengths[data.pairs[current][side]] || 1;
    const first = characterAt(side, box.left + 24, box.top + 18, (length * pane.scrollTop) / whole);
    const last = characterAt(side, box.right - 24, box.bottom - 18,
      (length * Math.min(whole, pane.scrollTop + pane.clientHeight)) / whole);
    view.setAttribute("x", (1000 * first) / length);
    view.setAttribute("width", Math.max(4, (1000 * (last - first)) / length));
  });
};

// going somewhere

const show = (i) => {
  if (i < 0 || i >= data.pairs.length) return;
  current = i;
  const pair = data.pairs[i];
  [LEFT, RIGHT].forEach((side) => {
    const head = id(side === LEFT ? "head-left" : "head-right");
    head.querySelector("h2").textContent = nameOf(pair[side]);
    head.querySelector("h2").title = nameOf(pair[side]);
    head.querySelector("p").textContent = percent(pair[side === LEFT ? LEFT_SHARE : RIGHT_SHARE]) + " stands in the " +
      (side === LEFT ? "right" : "left") + " text";
    fill(panes[side], textOf(pair[side]), pair[RUNS], side);
  });
  strips(pair);
  run = -1;
  if (pair[RUNS].length) go(0, false);
  document.querySelectorAll(".pair").forEach((button) => {
    const here = Number(button.dataset.pair) === i;
    if (here) { button.setAttribute("aria-current", "true"); button.scrollIntoView({ block: "nearest" }); }
    else button.removeAttribute("aria-current");
  });
  history.replaceState(null, "", "#" + (i + 1));
};
const settle = (pane, element, y) => {
  // Parts that were never laid out have a guessed height: look again once they have been.
  for (let again = 0; again < 3; again++) {
    pane.scrollTop += element.getBoundingClientRect().top - pane.getBoundingClientRect().top - y;
  }
};
const go = (i, focus = true, side = -1) => {
  const runs = data.pairs[current][RUNS];
  if (!runs.length) return;
  run = (i + runs.length) % runs.length;
  document.querySelectorAll(".here").forEach((element) => element.classList.remove("here"));
  const y = side < 0 ? Math.min(90, panes[0].clientHeight / 4)
    : Math.max(0, marks[side][run][0].getBoundingClientRect().top - panes[side].getBoundingClientRect().top);
  panes.forEach((pane, s) => {
    marks[s][run].forEach((element) => element.classList.add("here"));
    if (s !== side) settle(pane, marks[s][run][0], y);
  });
  id("strips").querySelectorAll(`.ribbon[data-run="${run}"]`).forEach((element) => element.classList.add("here"));
  id("place").textContent = "Passage " + (run + 1) + " of " + number.format(runs.length) + " · " +
    number.format(runs[run][4]) + " " + data.unit;
  if (focus) marks[side < 0 ? 0 : 1 - side][run][0].focus({ preventScroll: true });
  seen();
};
const step = (by) => {
  const at = order.indexOf(current);
  const to = order[Math.min(order.length - 1, Math.max(0, at + by))];
  if (to !== undefined && to !== current) show(to);
};
// events

panes.forEach((pane, side) => {
  const follow = (event) => {
    const mark = event.target.closest("mark");
    if (mark) { go(Number(mark.dataset.run), true, side); event.preventDefault(); }
  };
  pane.addEventListener("click", follow);
  pane.addEventListener("keydown", (event) => { if (event.key === "Enter") follow(event); });
  pane.addEventListener("scroll", () => requestAnimationFrame(seen), { passive: true });
});
id("strips").addEventListener("click", (event) => {
  const part = event.target.closest("[data-run]");
  if (part) go(Number(part.dataset.run), false);
});
id("pairs").addEventListener("click", (event) => {
  const button = event.target.closest(".pair");
  if (button) show(Number(button.dataset.pair));
});
id("before").addEventListener("click", () => go(run - 1, false));
id("after").addEventListener("click", () => go(run + 1, false));
id("filter").addEventListener("input", list);
id("sort").addEventListener("change", list);
id("theme").addEventListener("click", turn);
id("help-button").addEventListener("click", () => id("help").showModal());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || id("help").open) return;
  if (event.target.closest("input, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const keyed = { j: () => step(1), k: () => step(-1), n: () => go(run + 1), p: () => go(run - 1), t: turn,
    "?": () => id("help").showModal(), "/": () => id("filter").focus() }[event.key];
  if (keyed && (data.pairs.length || "t?".includes(event.key))) { event.preventDefault(); keyed(); }
});
window.addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1));
window.addEventListener("resize", () => { if (current >= 0) seen(); });

// the first view

id("summary").textContent = data.summary;
id("summary").title = data.summary;
if (data.notes.length) {
  id("notes").hidden = false;
  id("notes").replaceChildren(...data.notes.map((note) => make("p", {}, note)));
}
list();
if (data.pairs.length) show(Math.min(data.pairs.length, Math.max(1, Number(location.hash.slice(1)) || 1)) - 1);
else id("main").replaceChildren(make("p", { class: "empty" }, "No two documents share a passage of this length."));
