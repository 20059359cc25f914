const id = (name) => document.getElementById(name);
const SVG = "http://www.w3.org/2000/svg";
const number = new Intl.NumberFormat("en");
const fixed = (value, places) => // what is below 1 never shows as 1
  (value < 1 ? Math.min(value, 1 - 10 ** -places) : value).toFixed(places);
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children); // strings become text nodes: nothing that is shown is read as markup
  return element;
};
const draw = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const theme = (name) => { document.documentElement.dataset.theme = name; };
const turn = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
theme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
