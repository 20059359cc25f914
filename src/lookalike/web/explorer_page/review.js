// Verdicts on pairs: the bar below a pair, the queue of pairs to judge, and the card on the overview.

const VERDICTS = [["same", "1"], ["different", "2"], ["unsure", "3"]];
const review = { pair: null, again: null, by: null, wanted: 200 };
const canJudge = () => Boolean(overview && overview.review && source.canWrite);
const tell = (error) => { const box = id("said"); if (box) box.textContent = String(error.message || error); else fail(error); };

const votesOf = (judged) => (judged.votes.length ? judged.votes.map((vote) => `${vote.verdict}${vote.by ? " by " + vote.by : ""}${vote.note ? `: ${vote.note}` : ""}`).join(" · ") : "");
const disagree = (judged) => new Set(judged.votes.map((vote) => vote.verdict)).size > 1;
const mine = (judged) => judged.votes.find((vote) => vote.by === review.by);

const judgeBar = (answer) => {
  if (!overview.review || !answer.judged) return [];
  review.pair = { left: answer.left.item, right: answer.right.item, judged: answer.judged, drawn: route_.view === "judge" };
  const bar = make("div", { class: "judge", id: "judge" });
  fillBar(bar, answer.judged);
  return [bar];
};
const fillBar = (bar, judged) => {
  const own = mine(judged);
  const buttons = VERDICTS.map(([verdict, key]) => {
    const button = make("button", { type: "button", class: "say " + verdict, "aria-pressed": String(Boolean(own && own.verdict === verdict)) }, verdict, " ", make("kbd", {}, key));
    button.addEventListener("click", () => judge(verdict));
    return button;
  });
  const undo = make("button", { type: "button", id: "undo" }, "undo ", make("kbd", {}, "z"));
  undo.addEventListener("click", undoLast);
  undo.disabled = !overview.review.undo;
  const note = make("input", { id: "note", type: "text", maxlength: "2000", placeholder: "note (e)", "aria-label": "Note on the verdict", autocomplete: "off" });
  note.value = own ? own.note : "";
  note.addEventListener("keydown", (event) => { if (event.key === "Enter") { const said = mine(review.pair.judged); note.blur(); if (said) judge(said.verdict, false); } });
  const said = make("p", { class: "note votes", id: "said", "aria-live": "polite" }, votesOf(judged));
  if (disagree(judged)) said.prepend(make("strong", { class: "conflict" }, "People disagree. "));
  if (canJudge()) bar.replaceChildren(make("div", { class: "says" }, ...buttons, note, undo), said);
  else bar.replaceChildren(make("p", { class: "note" }, "To judge, open the address with the token that the command printed. "), said);
};

const judge = async (verdict, onward = true) => {
  const pair = review.pair;
  if (!pair || !canJudge() || review.busy) return;
  review.busy = true;
  try {
    const own = mine(pair.judged);
    const back = own && own.verdict === verdict && own.note === id("note").value ? "withdrawn" : verdict; // the same key again takes it back
    const answer = await source.judge({ left: pair.left, right: pair.right, verdict: back, note: back === "withdrawn" ? "" : id("note").value, by: review.by, drawn: pair.drawn });
    overview.review = answer.about;
    pair.judged = { verdict: answer.verdict, votes: answer.votes };
    markRow(pair.left, pair.right, answer.verdict);
    fillBar(id("judge"), pair.judged);
    again();
    if (back !== "withdrawn" && onward) {
      if (route_.view === "judge") { review.again = null; detailing = detail(); await detailing; }
      else if (list.mode === "pairs" && list.at >= 0) await step(1);
    }
  } catch (error) { tell(error); } finally { review.busy = false; }
};
const undoLast = async () => {
  if (!canJudge() || review.busy) return;
  review.busy = true;
  try {
    const answer = await source.undo();
    overview.review = answer.about;
    again();
    if (!answer.undone) return;
    const [left, right] = answer.items;
    const pair = answer.items.length === 2 && ![left, right].some((one) => one === null || Array.isArray(one));
    if (route_.view === "judge") { review.again = pair ? [left, right] : null; detailing = detail(); }
    else if (pair && list.mode === "pairs" && bare() !== route("pair", left, right) && bare() !== route("pair", right, left)) to(route("pair", left, right));
    else detailing = detail();
    await detailing;
    if (pair && review.pair) markRow(left, right, review.pair.judged.verdict);
  } catch (error) { tell(error); } finally { review.busy = false; }
};
const markRow = (left, right, verdict) => {
  const at = list.rows.findIndex((row) => row.left && ((row.left.item === left && row.right.item === right) || (row.left.item === right && row.right.item === left)));
  if (at < 0) return;
  list.rows[at].verdict = verdict;
  const row = id("rows").querySelector(`.row[data-at="${at}"]`);
  if (row) row.querySelector(".is").replaceWith(verdictOf(verdict));
};
const verdictOf = (verdict) => make("span", { class: "is " + (verdict || "open"), title: verdict || "" }, verdict ? { same: "=", different: "≠", unsure: "?", contested: "!" }[verdict] : "");

let asking = 0;
const again = () => { // the estimates after a verdict, when no other follows at once
  clearTimeout(asking);
  fillCommand();
  if (!overview.sampled) return;
  asking = setTimeout(async () => {
    try { overview.quality = await source.quality(); plot.render(); plot.move(cut); fillQuality(cut); } catch (error) { tell(error); }
  }, 250);
};

const judgeDetail = async () => { // the next pair of the sample, with the progress
  const following = await source.next();
  const pair = review.again || following.pair;
  const bar = make("div", { class: "progress", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": String(review.wanted), "aria-valuenow": String(following.judged) }, make("i"));
  const goal = Math.min(review.wanted, following.pairs);
  bar.firstChild.style.width = Math.min(100, (100 * following.judged) / Math.max(1, goal)) + "%";
  const wanted = make("select", { id: "wanted", "aria-label": "How many to judge" }, ...[100, 200, 300].map((count) => make("option", { value: count }, String(count))));
  wanted.value = String(review.wanted);
  wanted.addEventListener("change", () => { review.wanted = Number(wanted.value); detailing = detail(); });
  const head = make("div", { class: "queue" }, make("p", {}, make("strong", { id: "judged" }, number.format(following.judged)), " of ", following.pairs > 100 ? wanted : number.format(following.pairs), ` drawn pairs judged, ${number.format(following.same)} the same`), bar);
  if (following.judged >= goal && goal) head.append(make("p", { class: "note" }, "That is enough for now; each further verdict narrows the intervals."));
  if (!pair) return [head, make("p", { class: "note" }, following.pairs ? "Every pair has been judged." : "There is no pair to judge.")];
  return [head, ...pairDetail(await source.pair(pair[0], pair[1]))];
};

// the card on the overview: the file, who judges, counts, import and export, and the command

const fillReview = () => {
  id("review-card").hidden = !overview.review;
  if (!overview.review) return;
  const { file, counts } = overview.review;
  const said = VERDICTS.map(([name]) => `${number.format(counts[name])} ${name}`).join(" · ");
  id("review-file").textContent = file;
  id("export").setAttribute("href", "api/verdicts.csv");
  id("review-counts").textContent = said;
  id("review-disagree").textContent = counts.disagree ? `${number.format(counts.disagree)} ${counts.disagree === 1 ? "pair" : "pairs"} on which people disagree` : "";
  id("review-disagree").hidden = !counts.disagree;
  id("review-write").hidden = !canJudge();
  id("by").value = review.by;
};
const commandOf = () => { // of this view: the command of the run, at this threshold, with the verdicts
  const known = overview.command, counts = overview.review ? overview.review.counts : null;
  const judged = counts && counts.same + counts.different + counts.unsure + counts.contested > 0;
  const flag = known && known.flag ? known.flag : overview.option ? "--" + overview.option.replaceAll("_", "-") : null;
  const parts = [known ? known.words : "", ...(flag ? [`${flag} ${overview.cuts[cut]}`] : []), ...(judged ? [`--verdicts ${overview.review.quoted}`] : [])];
  return parts.filter(Boolean).join(" ");
};
const fillCommand = () => {
  id("again").textContent = commandOf();
  id("again").closest(".again").hidden = !id("again").textContent;
};
const copyCommand = async () => {
  const text = commandOf();
  try { await navigator.clipboard.writeText(text); } catch { // without the clipboard, the text is selected to be copied
    const range = document.createRange();
    range.selectNodeContents(id("again"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }
  id("copy").textContent = "copied";
  setTimeout(() => { id("copy").textContent = "copy"; }, 1500);
};
const importFile = async () => {
  const [file] = id("import").files;
  if (!file) return;
  try {
    const answer = await source.take(await file.text());
    overview.review = answer.about;
    id("review-said").textContent = `${number.format(answer.added)} ${answer.added === 1 ? "verdict" : "verdicts"} added`;
    fillReview();
    live();
    again();
  } catch (error) { id("review-said").textContent = String(error.message || error); }
  id("import").value = "";
};
