"use strict";
// A report with scripts: live charts, one of several panels at a time, folded sections.
// Without them every chart is a picture, and all panels are in elements to unfold.

(() => {
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      const data = entry.target.querySelector("script[type='application/json']");
      entry.target.classList.add("drawn");
      rpnbCharts.make(entry.target, JSON.parse(data.textContent));
      entry.target.prepend(entry.target.querySelector(".live"));
    }
  }, { rootMargin: "300px" });
  document.querySelectorAll("figure.plot").forEach((each) => seen.observe(each));

  document.querySelectorAll(".choice").forEach((choice, place) => {
    const options = [...choice.children];
    if (options.length < 2) return;
    const label = document.createElement("label");
    label.textContent = choice.dataset.label + " ";
    const select = document.createElement("select");
    select.id = `choice-${place}`;
    label.htmlFor = select.id;
    options.forEach((each) => {
      const option = document.createElement("option");
      option.textContent = each.dataset.name;
      select.append(option);
      if (each.localName === "details") each.open = true;
    });
    const show = () => options.forEach((each, i) => { each.hidden = i !== select.selectedIndex; });
    select.addEventListener("change", show);
    choice.classList.add("chosen");
    label.append(select);
    choice.prepend(label);
    show();
  });

  // On a narrow screen sections beyond the first ones are folded until asked for.
  const folds = [...document.querySelectorAll("details.fold")];
  if (matchMedia("(max-width: 700px)").matches) folds.forEach((each) => { each.open = false; });
  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let each = target; each; each = each.parentElement) if (each.localName === "details") each.open = true;
    const inner = target && target.querySelector("details.fold");
    if (inner) inner.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => folds.forEach((each) => { each.open = true; }));
})();
