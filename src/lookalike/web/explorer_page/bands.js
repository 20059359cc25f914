// Precision, recall and F1 from verdicts, as bands with their 95 % intervals over the histogram.

const MEASURES = [["precision", "precision"], ["recall", "recall"], ["f1", "F1"]];

const drawBands = (quality, x, top, room) => {
  const points = (quality && quality.points) || [];
  if (!points.length) return [];
  const y = (share) => (top + room * (1 - share)).toFixed(1);
  const path = (list, at) => list.map((point) => `${x(point.cut).toFixed(1)} ${y(at(point))}`).join("L");
  const made = MEASURES.flatMap(([name, word]) => {
    const whole = points.length === 1 ? [points[0], points[0]] : points;
    const band = `M${path(whole, (point) => point[name][2])}L${path([...whole].reverse(), (point) => point[name][1])}Z`;
    return [draw("path", { class: "band " + name, d: band }), draw("path", { class: "mean " + name, d: "M" + path(whole, (point) => point[name][0]) }, draw("title", {}, word))];
  });
  return [draw("g", { class: "bands", "aria-hidden": "true" }, ...made)];
};

const nearestPoint = (quality, cut) => ((quality && quality.points) || []).reduce((best, point) => (best === null || Math.abs(point.cut - cut) < Math.abs(best.cut - cut) ? point : best), null);
const interval = ([value, low, high]) => `${fixed(value, 2)} (${fixed(low, 2)} to ${fixed(high, 2)})`;

const fillQuality = (cut) => { // the estimates at the threshold, next to the counts
  const point = nearestPoint(overview.quality, cut);
  id("quality").hidden = point === null;
  if (point === null) return;
  id("quality").replaceChildren(...MEASURES.map(([name, word]) => make("div", { class: "of-" + name }, make("dt", {}, word), make("dd", {}, interval(point[name])))));
};
