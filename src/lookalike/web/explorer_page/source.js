// Where answers come from: a server, or the page itself. Both have the same functions, which give promises.

const parsed = (name) => { const element = id("data-" + name); return element ? JSON.parse(element.textContent) : null; };

const remote = () => {
  const given = new URLSearchParams(location.search).get("token"); // needed to judge; it leaves the address at once
  if (given) { sessionStorage.setItem("token", given); history.replaceState(null, "", location.pathname + location.hash); }
  const token = sessionStorage.getItem("token");
  const ask = async (path, query = {}, body) => {
    const wanted = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const headers = token ? { authorization: "Bearer " + token } : {};
    const options = body === undefined ? { headers } :
      { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch("api/" + path + "?" + new URLSearchParams(wanted), options);
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.message || "the server refused");
    return told;
  };
  const key = (item) => JSON.stringify(item); // of an index, ids of either type
  return {
    overview: () => ask("overview"),
    groups: (cut, offset, limit) => ask("groups", { cut, offset, limit }),
    group: (item, cut, offset, limit) => ask("group", { item: key(item), cut, offset, limit }),
    pairs: (cut, order, offset, limit, item) =>
      ask("pairs", { cut, order, offset, limit, item: item === null ? undefined : key(item) }),
    pair: (left, right) => ask("pair", { left: key(left), right: key(right) }),
    item: (item) => ask("item", { item: key(item) }),
    search: (q) => ask("search", { q }),
    find: (text) => ask("find", {}, { text }),
    canWrite: Boolean(token),
    next: () => ask("next"),
    quality: () => ask("quality"),
    judge: (body) => ask("judge", {}, body),
    undo: () => ask("undo", {}, {}),
    edit: (body) => ask("edit", {}, body),
    take: (text) => ask("import", {}, { text }),
  };
};

const embedded = () => {
  // items: names, excerpts, sides, gone. order, link: items so that each group is a run, and the cut at which neighbours
  // part. pairs: [left, right, score, level], the nearest first; views: which of them have a view in the page.
  const { items, order, link, pairs, views, totals } = parsed("kept");
  const has = new Set(views);
  const label = (item) => {
    const made = { item, name: items.names[item] };
    if (items.sides) made.side = items.sides[item];
    if (items.gone) made.gone = items.gone[item] === 1;
    return made;
  };
  const excerpt = (item) => (items.excerpts[item] || "");
  const begun = (item) => ({ ...label(item), begin: excerpt(item) });
  const row = (pair) => ({ left: begun(pair[0]), right: begun(pair[1]), score: pair[2] });
  const place = [];
  order.forEach((item, at) => { place[item] = at; });
  const of = items.names.map(() => []);
  pairs.forEach((pair, number) => { of[pair[0]].push(number); of[pair[1]].push(number); });
  let known = { cut: -1, runs: [] };
  const runs = (cut) => {
    if (known.cut === cut) return known.runs;
    const found = [];
    for (let at = 0; at < order.length;) {
      let end = at + 1;
      while (end < order.length && link[end - 1] >= cut) end++;
      if (end - at > 1) found.push([at, end - at]);
      at = end;
    }
    found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    known = { cut, runs: found };
    return found;
  };
  const between = (left, right) => of[left].find((number) => pairs[number][0] + pairs[number][1] - left === right);
  return {
    overview: async () => parsed("overview"),
    groups: async (cut, offset, limit) => {
      const found = runs(cut);
      return { total: found.length, rows: found.slice(offset, offset + limit).map(([at, size]) =>
        ({ item: order[at], size, begin: excerpt(order[at]), names: order.slice(at, at + Math.min(size, 3)).map((item) => items.names[item]) })) };
    },
    group: async (item, cut, offset, limit) => {
      let low = place[item], high = low + 1;
      while (low > 0 && link[low - 1] >= cut) low--;
      while (high < order.length && link[high - 1] >= cut) high++;
      const members = order.slice(low, high), first = members.slice(0, 40);
      const at = new Map(first.map((one, number) => [one, number]));
      const links = [];
      first.forEach((one, a) => of[one].forEach((number) => {
        const pair = pairs[number], b = at.get(pair[0] + pair[1] - one);
        if (b !== undefined && a < b && pair[3] >= cut) links.push([a, b, pair[2]]);
      }));
      return { item, size: members.length, links, rows: members.slice(offset, offset + limit).map((one) =>
        ({ ...label(one), excerpt: excerpt(one), picture: items.pictures ? items.pictures[one] : null })) };
    },
    pairs: async (cut, wanted, offset, limit, item) => {
      let found = item === null ? pairs : of[item].map((number) => pairs[number]);
      if (wanted !== "low") found = found.filter((pair) => pair[3] >= cut);
      if (wanted !== "high") found = [...found].reverse();
      return { total: found.length, rows: found.slice(offset, offset + limit).map(row) };
    },
    pair: async (left, right) => {
      const number = between(left, right);
      if (number !== undefined && has.has(number)) return { ...parsed("view-" + number), left: label(pairs[number][0]), right: label(pairs[number][1]) };
      const plain = number === undefined ? { left: label(left), right: label(right), score: null } : row(pairs[number]);
      return { ...plain, details: [], adds: [], view: { kind: "elsewhere", left: excerpt(plain.left.item), right: excerpt(plain.right.item) } };
    },
    item: async (item) => ({ ...label(item), view: { kind: "excerpt", left: excerpt(item) } }),
    search: async (q) => {
      const wanted = q.trim().toLowerCase();
      const rank = (name) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3);
      const found = items.names.map((name, item) => [rank(String(name).toLowerCase()), String(name).length, item]).filter((one) => one[0] < 3);
      found.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
      return { total: found.length, rows: found.slice(0, 50).map((one) => label(one[2])) };
    },
    find: async (text) => { // the share of its words, three by three, that stand in what the page holds
      const words = (one) => (one.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || []);
      const mine = words(text), size = Math.min(3, mine.length);
      const shingles = (list) => new Set(list.slice(0, list.length - size + 1).map((_, at) => list.slice(at, at + size).join(" ")));
      const wanted = [...shingles(mine)];
      const best = new Map();
      const look = (item, held) => {
        const there = shingles(words(held));
        const share = wanted.length ? wanted.filter((one) => there.has(one)).length / wanted.length : 0;
        if (share >= 0.1 && share > (best.get(item) || 0)) best.set(item, share);
      };
      items.excerpts.forEach((held, item) => { if (held) look(item, held); });
      views.forEach((number) => {
        const { view } = parsed("view-" + number);
        if (view.kind === "text") ["left", "right"].forEach((side, at) => look(pairs[number][at], view[side].map((piece) => piece[0]).join("")));
      });
      const found = [...best].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      return { total: found.length, of: "share of the text, of what this file holds", rows: found.slice(0, 50).map(([item, score]) => ({ ...label(item), score })) };
    },
    totals,
  };
};
