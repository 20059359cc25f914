// The page: what is shown, and what keys and clicks do.

const PAGE = 50;
const source = parsed("overview") ? embedded() : remote();
let overview = null;
let plot = null;
let cut = 0; // of the slider
let route_ = { view: "overview", parts: [] };
let list = { mode: "", page: 0, order: "near", item: null, rows: [], total: 0, at: -1 };
let asked = 0; // answers that come late are dropped
let difference = -1;

const fail = (error) => {
  id("notes").hidden = false;
  id("notes").append(make("p", {}, String(error.message || error)));
};

// the dial

const live = () => {
  const of = (name) => number.format(overview[name][cut]);
  id("at").textContent = shown(overview.cuts[cut]);
  fillCommand();
  fillQuality(cut);
  id("live-pairs").textContent = of("pairs");
  id("live-groups").textContent = of("groups");
  id("live-grouped").textContent = of("grouped");
  id("live-largest").textContent = of("largest");
  id("slider").setAttribute("aria-valuetext", `${overview.column} ${overview.sign > 0 ? "at least" : "at most"} ${shown(overview.cuts[cut])}: ${of("pairs")} ${overview.pairs[cut] === 1 ? "pair" : "pairs"}, ${of("groups")} ${overview.groups[cut] === 1 ? "group" : "groups"}`);
  plot.move(cut);
  if (route_.view === "overview") { flow(); pointCurve(overview.cuts[cut]); }
};
const flow = () => { // the funnel, with what the threshold lets pass
  const counts = overview.funnel.map((one) => (one.name === "pairs" && overview.pairs ? overview.pairs[cut] : one.name === "groups" ? overview.groups[cut] : one.count));
  drawStream(id("stream"), counts, overview.funnel.map((one) => one.count));
  id("funnel").querySelectorAll("strong").forEach((strong, at) => { strong.textContent = number.format(counts[at]); });
  const noted = id("funnel").querySelector("li:last-child em");
  if (overview.of === "result" && noted) noted.textContent = `${number.format(overview.grouped[cut])} ${overview.items} in them`;
};
let waiting = 0;
// The threshold stands in the address, so that it outlives a reload and can be sent to somebody.
const bare = () => location.hash.split("?")[0];
const stamped = (hash) => (cut > 0 ? `${hash || "#overview"}?at=${overview.cuts[cut]}` : hash);
const stamp = () => { const hash = stamped(bare()); if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search); };
const cutOfAddress = () => {
  const at = Number(location.hash.split("?at=")[1]);
  const where = location.hash.includes("?at=") ? overview.cuts.findIndex((value) => Math.abs(value - at) < 1e-9) : -1;
  return Math.max(0, where);
};
const setCut = (value) => {
  const next = Math.max(0, Math.min(overview.cuts.length - 1, value));
  if (next === cut) return;
  cut = next;
  id("slider").value = String(cut);
  live();
  stamp();
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (route_.view !== "overview") { list.page = 0; refresh(true); } }, 140);
};

// the list

const rowOf = {
  groups: (row, at) => {
    const bar = make("i");
    bar.style.width = Math.max(2, (100 * Math.log2(row.size)) / Math.log2(Math.max(2, list.largest || row.size))) + "%";
    return make("button", { type: "button", class: "row group", "data-at": at }, make("span", { class: "size" }, number.format(row.size)),
      make("span", { class: "names" }, ...row.names.map(nameOf), ...beginOf(row), make("span", { class: "bar" }, bar)));
  },
  pairs: (row, at) => make("button", { type: "button", class: "row pair", "data-at": at },
    make("span", { class: "size" }, row.score === null ? "–" : shown(row.score)), make("span", { class: "names" }, named(row.left), ...beginOf(row.left), named(row.right), ...beginOf(row.right)), verdictOf(row.verdict)),
};
const beginOf = (one) => (one.begin && one.begin !== one.name ? [make("span", { class: "begin" }, one.begin)] : []);
const hashOf = (row) => (list.mode === "groups" ? route("groups", row.item) : route("pair", row.left.item, row.right.item));

const ofVerdicts = () => list.order === "judged" || list.order === "disagree";
const refresh = async (keep) => {
  const mine = ++asked;
  const offset = list.page * PAGE;
  const answer = list.mode === "groups" ? await source.groups(cut, offset, PAGE) : await source.pairs(cut, list.order, offset, PAGE, list.item);
  if (mine !== asked) return;
  list.rows = answer.rows;
  list.total = answer.total;
  if (list.mode === "groups" && list.page === 0) list.largest = answer.rows.length ? answer.rows[0].size : 2;
  id("rows").replaceChildren(...answer.rows.map((row, at) => make("li", {}, rowOf[list.mode](row, at))));
  if (!answer.rows.length) id("rows").append(make("li", { class: "empty" }, list.mode === "groups" ? "No groups at this threshold." : ofVerdicts() ? "No pair was judged so." : "No pairs at this threshold."));
  id("rows").scrollTop = 0;
  const whole = list.mode === "groups" ? overview.groups[cut] : list.item === null ? (ofVerdicts() ? answer.total : list.order === "low" ? overview.pairs[0] : overview.pairs[cut]) : answer.total;
  const word = list.mode === "groups" ? (whole === 1 ? "group" : "groups") : whole === 1 ? "pair" : "pairs";
  id("shown").textContent = answer.total < whole ? `${number.format(answer.total)} of ${number.format(whole)} ${word} are in this file` :
    `${number.format(whole)} ${word}${list.item === null ? "" : " of this item"}`;
  const pages = Math.max(1, Math.ceil(answer.total / PAGE));
  id("page").textContent = pages > 1 ? `${number.format(list.page + 1)} of ${number.format(pages)}` : "";
  id("page-before").disabled = list.page === 0;
  id("page-after").disabled = list.page + 1 >= pages;
  document.querySelector(".pages").hidden = pages < 2;
  point(keep ? -1 : list.at);
  if (!route_.parts.length && answer.rows.length && !narrow.matches) open(0, false);
  else if (!route_.parts.length && !answer.rows.length) id("detail").replaceChildren();
  else if (keep && route_.view === "groups") detail();
};
const point = (at) => {
  list.at = at;
  id("rows").querySelectorAll(".row").forEach((row) => row.removeAttribute("aria-current"));
  const row = id("rows").querySelector(`.row[data-at="${at}"]`);
  if (row) { row.setAttribute("aria-current", "true"); row.scrollIntoView({ block: "nearest" }); }
};
const open = (at, push = true) => {
  if (!list.rows[at]) return;
  point(at);
  if (push) to(hashOf(list.rows[at]));
  else { history.replaceState(null, "", stamped(hashOf(list.rows[at]))); go(); }
};
const step = async (by) => {
  const to = list.at + by;
  if (to >= list.rows.length && (list.page + 1) * PAGE < list.total) { list.page++; list.at = -1; await refresh(); open(0); return; }
  if (to < 0 && list.page > 0) { list.page--; list.at = -1; await refresh(); open(list.rows.length - 1); return; }
  open(Math.max(0, Math.min(list.rows.length - 1, to)));
};

// the detail

const detail = async (limit = PAGE) => {
  const { view, parts } = route_;
  const box = id("detail");
  const mine = ++detail.asked;
  const show = (...made) => { if (mine === detail.asked) { box.replaceChildren(...made); box.scrollTop = 0; document.body.classList.toggle("narrow-detail", true); marked(); } };
  const back = make("button", { type: "button", class: "back" }, "‹ back");
  back.addEventListener("click", leave);
  try {
    if (view === "groups") {
      const group = await source.group(parts[0], cut, 0, limit);
      show(back, ...groupDetail(group, () => detail(limit + 200)));
    } else if (view === "judge") show(back, ...(await judgeDetail()));
    else if (view === "pair") show(back, ...pairDetail(await source.pair(parts[0], parts[1])));
    else if (view === "item") show(back, ...itemDetail(await source.item(parts[0])));
  } catch (error) { show(back, make("p", { class: "note" }, String(error.message || error))); }
};
detail.asked = 0;
let detailing = Promise.resolve(); // done when the detail is what the address says

let chosen = null; // which marks a person has asked for
const turnMarks = () => { chosen = !document.body.classList.contains("mark-both"); marked(); };
const marked = () => {
  difference = -1;
  const letters = (kind) => [...id("detail").querySelectorAll(kind)].reduce((sum, one) => sum + one.textContent.length, 0);
  const both = chosen === null ? letters("article .both") < letters("article mark.diff") : chosen; // the lesser part stands out
  document.body.classList.toggle("mark-both", both);
  if (id("marking")) id("marking").textContent = both ? "mark what differs" : "mark what is shared";
  const count = id("detail").querySelectorAll(both ? ".both" : "mark.diff").length;
  const many = count === 1 ? "1 stretch" : number.format(count) + " stretches";
  if (id("place")) id("place").textContent = both ? `${many} shared` : count ? `${many} that ${count === 1 ? "differs" : "differ"}` : "nothing differs";
};
const hop = (by) => {
  const all = [...id("detail").querySelectorAll(document.body.classList.contains("mark-both") ? ".both" : "mark.diff")];
  if (!all.length) return;
  difference = (difference + by + all.length + (difference < 0 && by < 0 ? 1 : 0)) % all.length;
  all.forEach((one) => one.classList.remove("here"));
  all[difference].classList.add("here");
  all[difference].scrollIntoView({ block: "center" });
  if (id("place")) id("place").textContent = `${number.format(difference + 1)} of ${number.format(all.length)}`;
};

// going somewhere: at once, and so that the browser's own way back works

const to = (hash) => {
  if (bare() === hash) return;
  history.pushState(null, "", stamped(hash));
  go();
};

const narrow = window.matchMedia("(max-width: 800px)");
const read = () => {
  const [view, ...parts] = bare().slice(1).split("/").map(decodeURIComponent);
  const values = parts.map((part) => { try { return JSON.parse(part); } catch { return part; } });
  return ["overview", "groups", "pairs", "pair", "item", "judge"].includes(view) ? { view, parts: values } : { view: "overview", parts: [] };
};
const go = () => {
  const before = route_;
  route_ = read();
  const { view, parts } = route_;
  if (view === "pairs" && !overview.pairs) route_.view = "groups";
  if (view === "judge" && !overview.judges) route_ = { view: "overview", parts: [] };
  review.pair = null;
  id("detail").querySelectorAll(".judge").forEach((bar) => bar.remove()); // of what was shown before
  if (route_.view !== "judge") review.again = null;
  const tab = route_.view === "overview" ? "overview" : view === "judge" ? "judge" : view === "groups" || (view === "pair" && list.mode === "groups") ? "groups" : "pairs";
  document.querySelectorAll(".tabs a").forEach((a) => (a.dataset.view === tab ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current")));
  document.body.dataset.view = tab;
  id("overview").hidden = tab !== "overview";
  id("browse").hidden = tab === "overview";
  document.body.classList.toggle("narrow-detail", parts.length > 0 || tab === "judge");
  if (plot) { plot.render(); plot.move(cut); }
  if (tab === "overview") { drawOverview(); flow(); fillReview(); return; }
  if (tab === "judge") { list = { ...list, mode: "", item: null, rows: [], at: -1 }; detailing = detail(); return; }
  const item = view === "item" ? parts[0] : tab === "groups" ? null : view === "pairs" ? null : list.item;
  const mode = tab;
  const changed = mode !== list.mode || item !== list.item;
  if (changed) list = { ...list, mode, item, page: 0, at: -1, rows: [] };
  id("order").hidden = mode !== "pairs" || list.item !== null;
  id("clear").hidden = list.item === null;
  if (parts.length) detailing = detail();
  if (changed || before.view === "overview" || !list.rows.length) refresh().then(() => { if (parts.length) find(); }).catch(fail);
  else if (parts.length) find();
};
const find = () => { // the row of what is shown
  const at = list.rows.findIndex((row) => hashOf(row) === bare());
  if (at >= 0) point(at);
};
const leave = () => {
  if (!id("results").hidden) { closeResults(); return; }
  const { view } = route_;
  if (view === "judge") { to("#overview"); return; }
  if (narrow.matches && document.body.classList.contains("narrow-detail") && view !== "overview") {
    if (view === "pair" && list.mode === "groups" && list.group !== undefined) { to(route("groups", list.group)); return; }
    to(list.mode === "groups" ? "#groups" : "#pairs");
    document.body.classList.remove("narrow-detail");
    return;
  }
  if (view === "pair" && list.mode === "groups" && list.group !== undefined) to(route("groups", list.group));
  else if (view === "item" || list.item !== null) to("#pairs");
  else to("#overview");
};

// finding

let found = { rows: [], at: -1, text: "" };
const closeResults = () => { id("results").hidden = true; id("search").setAttribute("aria-expanded", "false"); };
const showResults = (rows, note) => {
  found.rows = rows;
  found.at = -1;
  const made = rows.map((row, at) => {
    const one = make("button", { type: "button", role: "option", class: "result", "data-at": at }, named(row), ...badges(row), ...(row.score === undefined ? [] : [make("span", { class: "note" }, fixed(row.score, 2).replace(/\.00$/, ""))]));
    if (row.item === null) { one.disabled = true; one.title = "in no pair of this result"; }
    return one;
  });
  id("results").replaceChildren(...made, make("p", { class: "note" }, note));
  id("results").hidden = false;
  id("search").setAttribute("aria-expanded", "true");
};
let typing = 0;
const typed = () => {
  clearTimeout(typing);
  const text = id("search").value;
  if (!text.trim()) { closeResults(); return; }
  typing = setTimeout(async () => {
    try {
      const answer = await source.search(text);
      if (id("search").value !== text) return;
      const more = answer.total > answer.rows.length ? `${number.format(answer.total)} ids hold this; the first ${answer.rows.length} are shown. ` : answer.total ? "" : "No id holds this. ";
      showResults(answer.rows, more + (overview.paste ? "Enter looks for it in the texts." : ""));
    } catch (error) { fail(error); }
  }, 90);
};
const paste = async () => {
  const text = id("search").value;
  if (!text.trim() || !overview.paste) return;
  clearTimeout(typing);
  showResults([], "Looking …");
  try {
    const ids = await source.search(text); // the id itself comes before texts like it
    const first = ids.rows[0];
    if (first && first.item !== null && first.name.toLowerCase() === text.trim().toLowerCase()) { found.rows = ids.rows; choose(0); return; }
    const answer = await source.find(text);
    showResults(answer.rows, answer.total ? `${number.format(answer.total)} like it, by ${answer.of}.` : "Nothing is like this text.");
  } catch (error) { showResults([], String(error.message || error)); }
};
const choose = (at) => {
  const row = found.rows[at];
  if (!row || row.item === null) return;
  closeResults();
  id("search").blur();
  to(overview.pairs || overview.of === "index" ? route("item", row.item) : route("groups", row.item));
};
const lookDown = (by) => {
  if (!found.rows.length) return;
  found.at = Math.max(-1, Math.min(found.rows.length - 1, found.at + by));
  id("results").querySelectorAll(".result").forEach((one, at) => { one.toggleAttribute("aria-selected", at === found.at); if (at === found.at) one.scrollIntoView({ block: "nearest" }); });
};

// the overview

let pointCurve = () => {};
const drawOverview = () => {
  pointCurve = drawCurve(id("curve"), overview);
  pointCurve(overview.cuts[cut]);
};
const fillOverview = () => {
  const { funnel, curve, buckets } = overview;
  id("title").replaceChildren(make("strong", {}, overview.inputs.join(" · ")), " ", make("span", { class: "note" }, overview.compared));
  id("funnel").style.setProperty("--steps", funnel.length);
  id("funnel").replaceChildren(...funnel.map((one) => make("li", {}, make("strong", {}, number.format(one.count)), make("span", {}, one.name), make("em", {}, one.note))));
  flow();
  const measured = curve && curve.measured;
  id("curve-note").textContent = !curve ? "The search was exact: every pair within the threshold was found." :
    [curve.shape, curve.planned !== null ? `planned ${fixed(curve.planned, 4)} at the threshold` : "", measured && measured.recall !== null ? `measured ${fixed(measured.recall, 4)} on ${number.format(measured.true_pairs)} ${measured.true_pairs === 1 ? "pair" : "pairs"}` : ""].filter(Boolean).join(" · ");
  const any = Object.keys(buckets).length > 0;
  id("buckets-note").textContent = "Number of keys by the number of items that share them.";
  fillBuckets(id("buckets"), buckets);
  id("facts").replaceChildren(...overview.facts.flatMap(([name, said]) => [make("dt", {}, name), make("dd", {}, said)]));
  id("facts-card").querySelector("h2").textContent = overview.of === "index" ? "This index" : "This run";
  id("curve-card").hidden = overview.of === "index" && !curve;
  id("curve").toggleAttribute("hidden", !curve); // of an exact search it would be a step
  id("buckets-card").hidden = !any;
  fillReview();
};

const begin = async () => {
  overview = await source.overview();
  review.by = overview.review ? sessionStorage.getItem("by") || overview.review.by : "";
  overview.judges = Boolean(overview.sampled && canJudge());
  if (overview.chained) document.querySelector(".of-groups dt").textContent = "groups, chained";
  document.title = overview.inputs[0] + " – lookalike";
  digits = digitsOf(overview.cuts);
  const notes = [...overview.notes, ...overview.warnings];
  id("held").replaceChildren(...(source.totals || []).map((said) => make("p", { class: "note" }, said)));
  if (notes.length) { id("notes").hidden = false; id("notes").replaceChildren(...notes.map((note) => make("p", {}, note))); }
  id("search").placeholder = overview.paste ? "Find an item, or paste a text" : "Find an item";
  id("paste-key").hidden = !overview.paste;
  id("at-name").textContent = `${overview.column.replace("_", " ")} ${overview.sign > 0 ? "at least" : "at most"}`;
  fillOverview();
  document.querySelector('.tabs [data-view="pairs"]').hidden = !overview.pairs;
  document.querySelector('.tabs [data-view="judge"]').hidden = !overview.judges;
  id("judge-keys").hidden = !canJudge();
  id("order").querySelectorAll(".of-verdicts").forEach((one) => { one.hidden = one.disabled = !overview.review; });
  if (overview.pairs) {
    id("dial").hidden = false;
    id("slider").hidden = overview.cuts.length < 2;
    id("slider").max = String(overview.cuts.length - 1);
    plot = histogram(id("histogram"), id("slider"), overview);
    plot.render();
    cut = cutOfAddress();
    id("slider").value = String(cut);
    live();
  }
  go();
  document.body.dataset.ready = "yes";
};

// events

id("histogram").addEventListener("click", (event) => setCut(plot.cutAt(event.clientX)));
id("slider").addEventListener("input", () => setCut(Number(id("slider").value)));
id("rows").addEventListener("click", (event) => { const row = event.target.closest(".row"); if (row) { if (list.mode === "groups") list.group = list.rows[Number(row.dataset.at)].item; open(Number(row.dataset.at)); } });
id("order").addEventListener("change", () => { list = { ...list, order: id("order").value, page: 0, at: -1 }; if (route_.view === "pair") history.replaceState(null, "", stamped("#pairs")); route_ = read(); refresh().catch(fail); });
id("copy").addEventListener("click", copyCommand);
id("by").addEventListener("change", () => { review.by = id("by").value.trim(); sessionStorage.setItem("by", review.by); });
id("import").addEventListener("change", importFile);
id("review-disagree").addEventListener("click", () => { id("order").value = "disagree"; list = { ...list, order: "disagree", page: 0, at: -1, rows: [] }; to("#pairs"); });
id("clear").addEventListener("click", () => { to("#pairs"); });
id("page-before").addEventListener("click", () => { list.page--; list.at = -1; refresh(true).catch(fail); });
id("page-after").addEventListener("click", () => { list.page++; list.at = -1; refresh(true).catch(fail); });
id("theme").addEventListener("click", turn);
id("help-button").addEventListener("click", () => id("help").showModal());
id("search").addEventListener("input", typed);
id("search").addEventListener("focus", () => { if (found.rows.length && id("search").value.trim()) id("results").hidden = false; });
id("search").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); lookDown(event.key === "ArrowDown" ? 1 : -1); }
  else if (event.key === "Enter") { event.preventDefault(); if (found.at >= 0) choose(found.at); else if (found.rows.length === 1 && !id("results").hidden) choose(0); else paste(); }
  else if (event.key === "Escape") { closeResults(); id("search").blur(); event.stopPropagation(); }
});
id("results").addEventListener("click", (event) => { const one = event.target.closest(".result"); if (one) choose(Number(one.dataset.at)); });
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) closeResults(); });
const judgingKeys = () => {
  if (!canJudge()) return {};
  const grouped = route_.view === "groups" && shownGroup && id("edit-split");
  const of = { z: undoLast, r: () => { if (overview.judges) to("#judge"); } };
  if (grouped) return { ...of, 1: () => edits.same(), 2: () => edits.split(), h: () => edits.hold(), v: () => { if (id("edit-put")) edits.put(); }, x: markFocused, b: starFocused };
  return review.pair ? { ...of, 1: () => judge("same"), 2: () => judge("different"), 3: () => judge("unsure"), e: () => id("note").focus() } : of;
};
document.addEventListener("keydown", (event) => {
  if (!overview || event.ctrlKey || event.metaKey || event.altKey || id("help").open) return;
  const inField = event.target.closest("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (inField) { if (event.key === "Escape") event.target.blur(); return; }
  const onSlider = event.target === id("slider");
  const arrows = { ArrowLeft: () => setCut(cut - 1), ArrowRight: () => setCut(cut + 1) };
  const keyed = {
    ...(onSlider || event.target.closest("article") || !overview.pairs ? {} : arrows),
    j: () => (route_.view === "overview" ? null : step(1)), k: () => (route_.view === "overview" ? null : step(-1)),
    o: () => { to("#overview"); }, g: () => { to("#groups"); }, p: () => { if (overview.pairs) to("#pairs"); },
    ...judgingKeys(),
    n: () => hop(1), N: () => hop(-1), m: turnMarks, t: turn, s: () => id("slider").focus(),
    "?": () => id("help").showModal(), "/": () => { id("search").focus(); id("search").select(); }, Escape: () => { if (onSlider) id("slider").blur(); else leave(); },
    Enter: () => {
      if (event.target.closest("a, button")) return false;
      if (route_.view === "overview") to("#groups");
      else if (route_.view === "groups") detailing.then(() => { const first = id("detail").querySelector("a.member"); if (first && route_.view === "groups") { list.group = route_.parts[0]; to(first.getAttribute("href")); } });
      return true;
    },
  }[event.key];
  if (keyed && keyed() !== false) event.preventDefault();
});
id("detail").addEventListener("click", (event) => { if (event.target.closest("a.member, .matrix .link") && route_.view === "groups") list.group = route_.parts[0]; }, true);
window.addEventListener("hashchange", () => { if (!overview) return; if (location.hash.includes("?at=")) setCut(cutOfAddress()); else stamp(); go(); });
let resized = 0;
window.addEventListener("resize", () => { cancelAnimationFrame(resized); resized = requestAnimationFrame(() => { if (!overview) return; if (plot) { plot.render(); plot.move(cut); } if (route_.view === "overview") drawOverview(); }); });

begin().catch(fail);
