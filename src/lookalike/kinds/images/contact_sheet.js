for (const tools of document.querySelectorAll(".tools")) {
  const pair = tools.previousElementSibling, [slide, blink] = tools.querySelectorAll("input");
  slide.oninput = () => pair.style.setProperty("--at", slide.value + "%");
  blink.onchange = () => pair.classList.toggle("blink", blink.checked);
}
