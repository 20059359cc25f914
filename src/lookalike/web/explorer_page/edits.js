// Edits of groups: all the same, split, move, merge, and which member represents the group. Each is a verdict.

const marks = new Set(); // members of the shown group that are marked
let held = null; // members taken from a group, to be put into another
let shownGroup = null;

const editBar = (group) => {
  if (!canJudge() || !group.members) return [];
  if (!shownGroup || shownGroup.item !== group.item) marks.clear();
  shownGroup = group;
  const act = (text, key, work, name) => {
    const button = make("button", { type: "button", id: name }, text, ...(key ? [" ", make("kbd", {}, key)] : []));
    button.addEventListener("click", work);
    return button;
  };
  const buttons = [act("all the same", "1", () => edits.same(), "edit-same"), act("split off the marked", "2", () => edits.split(), "edit-split"), act("hold the marked", "h", () => edits.hold(), "edit-hold")];
  if (held && held.from !== group.item && !group.members.includes(held.items[0])) buttons.push(act(held.others.length ? `move ${number.format(held.items.length)} here` : `merge ${held.name} into this`, "v", () => edits.put(), "edit-put"));
  const undo = act("undo", "z", undoLast, "undo");
  undo.disabled = !overview.review.undo;
  const told = held ? `Held: ${held.name}. Open another group to put it there.` : "Mark members with x or the boxes.";
  return [make("div", { class: "judge edit" }, make("div", { class: "says" }, ...buttons, undo), make("p", { class: "note", id: "said", "aria-live": "polite" }, told))];
};
const memberTools = (row) => {
  if (!canJudge()) return [];
  const box = make("input", { type: "checkbox", class: "mark", "aria-label": "mark " + row.name });
  box.checked = marks.has(row.item);
  box.addEventListener("change", () => { if (box.checked) marks.add(row.item); else marks.delete(row.item); });
  const star = make("button", { type: "button", class: "star", "aria-pressed": String(Boolean(row.chosen)), "aria-label": "represents the group", title: "represents the group (b)" }, row.chosen ? "★" : "☆");
  star.addEventListener("click", () => edit({ action: "represent", items: [row.item] }));
  return [box, star];
};
const markFocused = () => { // the member with the focus, or the first
  const rows = [...id("detail").querySelectorAll(".members li")];
  const row = document.activeElement.closest(".members li") || rows[0];
  const box = row && row.querySelector(".mark");
  if (box) { box.click(); (rows[rows.indexOf(row) + 1] || row).querySelector("a").focus(); }
};
const starFocused = () => { const row = document.activeElement.closest(".members li"); if (row) row.querySelector(".star").click(); };

const edit = async (body) => {
  if (review.busy) return;
  review.busy = true;
  try {
    const answer = await source.edit({ ...body, by: review.by });
    overview.review = answer.about;
    marks.clear();
    again();
    detailing = detail();
    await detailing;
  } catch (error) { tell(error); } finally { review.busy = false; }
};
const rest = () => shownGroup.members.filter((item) => !marks.has(item));
const edits = {
  same: () => edit({ action: "same", items: marks.size > 1 ? [...marks] : shownGroup.members }),
  split: () => edit({ action: "split", items: [...marks], others: rest() }),
  hold: () => {
    const whole = marks.size === 0, first = shownGroup.rows.find((row) => whole || marks.has(row.item));
    held = { items: whole ? shownGroup.members : [...marks], others: whole ? [] : rest(), from: shownGroup.item, name: whole ? `the group of ${first.name}` : marks.size === 1 ? first.name : `${number.format(marks.size)} items` };
    detailing = detail();
  },
  put: async () => {
    const { items, others } = held;
    await edit(others.length ? { action: "move", items, others, to: shownGroup.members[0] } : { action: "same", items: [shownGroup.members[0], items[0]] });
    held = null;
    detailing = detail();
  },
};
