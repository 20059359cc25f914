// What stands in the detail: an item, a group, a pair. Everything that comes from the data becomes a text node.

const FOLD = 900, KEEP = 220; // shared stretches longer than this are folded to KEEP characters at both ends
const named = (one) => nameOf(one.name);
const nameOf = (name) => { // of a path the folder gives way, not the file
  const cut = name.lastIndexOf("/", name.length - 2) + 1;
  return make("span", { class: "name", title: name }, ...(cut ? [make("span", { class: "dir" }, make("bdi", {}, name.slice(0, cut)))] : []), make("span", { class: "base" }, make("bdi", {}, name.slice(cut))));
};
const badges = (one) => {
  const made = [];
  if (one.side !== undefined) made.push(make("span", { class: "badge" }, overview.inputs.length > 1 ? (one.side ? "second input" : "first input") : ""));
  if (one.gone === true) made.push(make("span", { class: "badge gone" }, "removed"));
  if (one.gone === false) made.push(make("span", { class: "badge kept" }, "kept"));
  return made;
};
const route = (view, ...items) => "#" + [view, ...items.map((item) => encodeURIComponent(JSON.stringify(item)))].join("/");

const pieces = (list, folds) => {
  const made = [];
  list.forEach(([text, both], at) => {
    if (!both) { made.push(make("mark", { class: "diff" }, text)); return; }
    const keepFirst = at === 0 ? 0 : KEEP, keepLast = at === list.length - 1 ? 0 : KEEP;
    if (!folds || list.length === 1 || text.length < FOLD) { made.push(make("span", { class: "both" }, text)); return; }
    const middle = text.slice(keepFirst, text.length - keepLast);
    const fold = make("button", { type: "button", class: "fold" }, "⋯ " + number.format(middle.length) + " shared characters ⋯");
    fold.addEventListener("click", () => fold.replaceWith(make("span", { class: "both" }, middle)));
    made.push(...(keepFirst ? [make("span", { class: "both" }, text.slice(0, keepFirst))] : []), fold,
      ...(keepLast ? [make("span", { class: "both" }, text.slice(text.length - keepLast))] : []));
  });
  return made;
};

const CODE = /\.(py|pyi|js|mjs|ts|tsx|jsx|c|h|cc|cpp|hpp|cs|java|kt|go|rs|rb|php|pl|lua|r|jl|sh|sql|css|html?|xml|json|ya?ml|toml|ini|swift|scala|m|f90)$/i;
const panes = (view, answer) => {
  const folds = !view.short, code = CODE.test(answer.name || answer.left.name);
  const sides = (view.right ? ["left", "right"] : ["left"]).map((side) =>
    make("article", { class: view.short ? "short" : code ? "code" : "", tabindex: "0", "aria-label": side + " text" }, ...pieces(view[side], folds && view.right)));
  if (sides.length === 2) {
    let leading = null;
    sides.forEach((pane, at) => pane.addEventListener("scroll", () => { // both go along, as far through their texts
      if (leading && leading !== pane) { leading = null; return; }
      const other = sides[1 - at], room = pane.scrollHeight - pane.clientHeight;
      leading = pane;
      other.scrollTop = room > 0 ? (pane.scrollTop / room) * (other.scrollHeight - other.clientHeight) : 0;
      requestAnimationFrame(() => { leading = null; });
    }, { passive: true }));
  }
  const box = make("div", { class: "texts" }, ...sides);
  return view.cut ? [box, make("p", { class: "note" }, "Only the beginning of so long a text is compared here.")] : [box];
};

const chips = (title, list, kind) => (list.length ? [make("h3", {}, `${title} · ${number.format(list.length)}`),
  make("p", { class: "chips " + kind }, ...list.slice(0, 400).map((item) => make("span", {}, item)), ...(list.length > 400 ? [make("em", {}, `and ${number.format(list.length - 400)} more`)] : []))] : []);

const viewOf = (view, answer) => {
  switch (view.kind) {
    case "text": return panes(view, answer);
    case "fields": {
      const table = make("table", { class: "fields" });
      table.append(...view.rows.map((field) => make("tr", {}, make("th", {}, field.name), make("td", {}, ...pieces(field.left)), ...(field.right ? [make("td", {}, ...pieces(field.right))] : []))));
      return [table];
    }
    case "items": return [...chips("Only left", view.left, "diff"), ...chips("Only right", view.right, "diff"), ...chips(view.left.length || view.right.length || answer.right ? "Both" : "Holds", view.both, "both")];
    case "numbers": return [drawVectors(view), make("p", { class: "note" }, view.right ? "The numbers of both, one after the other." : "Its numbers, one after the other.")];
    case "picture": return [make("div", { class: "pictures" }, ...["left", "right"].filter((side) => side in view).map((side) => (view[side] ? make("img", { src: view[side], alt: answer[side] ? answer[side].name : answer.name }) : make("p", { class: "note" }, "The picture cannot be shown."))))];
    case "excerpt": return view.left ? [make("article", { class: "short" }, view.left + (view.left.length >= 180 ? " …" : ""))] : [];
    case "elsewhere": return [make("p", { class: "note" }, "What these hold is not in this file, to keep it small. lookalike explore shows every pair."), make("div", { class: "texts" }, ...["left", "right"].map((side) => make("article", {}, view[side])))];
    default: return [make("p", { class: "note" }, overview.notes.length ? overview.notes.join(" ") : "What these items hold cannot be shown.")];
  }
};

const scoreOf = (score) => make("p", { class: "score" }, make("strong", {}, shown(score)), " ", overview.column.replace("_", " "));

const pairDetail = (answer) => {
  const heads = make("div", { class: "heads" }, ...["left", "right"].map((side) =>
    make("section", { class: "head" }, make("h2", {}, make("a", { href: route("item", answer[side].item) }, named(answer[side]))), ...badges(answer[side]))));
  const told = (answer.details || []).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "number" && !Number.isInteger(value) ? fixed(value, 3) : value}`);
  const bar = make("div", { class: "verdict" }, answer.score === null ? make("p", { class: "score" }, "not a pair of this result") : scoreOf(answer.score),
    ...(told.length ? [make("p", { class: "note" }, told.join(" · "))] : []));
  const marked = answer.view.kind === "text" || answer.view.kind === "fields";
  if (marked) {
    const button = make("button", { type: "button", id: "marking" }, "");
    button.addEventListener("click", turnMarks);
    bar.append(make("span", { class: "walk" }, make("span", { id: "place", class: "note" }), button));
  }
  const parts = [heads, bar];
  if (answer.adds && answer.adds.length) parts.push(drawWaterfall(answer.adds, answer.prior, answer.score, overview));
  parts.push(...viewOf(answer.view, answer), ...judgeBar(answer));
  return parts;
};

const groupDetail = (group, more) => {
  const head = make("div", { class: "group-head" }, make("h2", {}, `${number.format(group.size)} ${overview.items}`),
    make("p", { class: "note" }, [group.links.length ? spread(group.links.map((one) => one[2])) : "", group.parts > 1 ? `verdicts divide it into ${number.format(group.parts)}` : ""].filter(Boolean).join(" · ")));
  const matrix = group.rows.length > 2 && group.links.length ? [drawMatrix(group, overview, (a, b) => to(route("pair", a, b)))] : [];
  const nearest = new Map();
  group.links.forEach(([a, b, score]) => [[a, b], [b, a]].forEach(([one, other]) => {
    const known = nearest.get(one);
    if (!known || overview.sign * score > overview.sign * known[1]) nearest.set(one, [other, score]);
  }));
  const members = group.rows.map((row, at) => {
    const [other, score] = nearest.get(at) || [at === 0 ? 1 : 0, null];
    const target = group.rows[other] ? route("pair", row.item, group.rows[other].item) : route("item", row.item);
    const small = row.picture ? [make("img", { src: row.picture, alt: "", class: "stamp" })] : [];
    const part = group.parts > 1 && row.part !== null && row.part !== undefined ? [make("span", { class: "badge part" }, `part ${row.part + 1}`)] : [];
    return make("li", {}, ...memberTools(row), make("a", { href: target, class: small.length ? "member pictured" : "member" }, ...small, named(row), make("span", { class: "side-notes" }, ...part, ...badges(row), ...(score === null ? [] : [make("span", { class: "note" }, shown(score))])),
      ...(row.excerpt ? [make("span", { class: "excerpt" }, row.excerpt)] : [])));
  });
  const list = make("ol", { class: "members" }, ...members);
  if (group.rows.length < group.size) {
    const button = make("button", { type: "button", class: "more" }, `Show more (${number.format(group.size - group.rows.length)} left)`);
    button.addEventListener("click", more);
    list.append(make("li", { class: "rest" }, button));
  }
  return [make("div", { class: "group-body" }, make("div", {}, head, list), ...matrix), ...editBar(group)];
};
const spread = (scores) => {
  const low = Math.min(...scores), high = Math.max(...scores);
  return `${overview.column.replace("_", " ")} ${shown(overview.sign > 0 ? low : high)}${low === high ? "" : " to " + shown(overview.sign > 0 ? high : low)}`;
};

const itemDetail = (answer) => [make("div", { class: "heads one" }, make("section", { class: "head" }, make("h2", {}, named(answer)), ...badges(answer))), ...viewOf(answer.view, answer)];
