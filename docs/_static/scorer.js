// The order of search results: pages that explain how to use something come before decisions and lists of changes.
var Scorer = {
  score: (result) => result[4] + (/^(decisions\/|changes|reference\/promises)/.test(result[0]) ? -20 : /^(how-to|tutorial)\//.test(result[0]) ? 3 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
