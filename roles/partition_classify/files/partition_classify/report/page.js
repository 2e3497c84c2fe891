for (const notice of document.querySelectorAll("[data-due]")) {
  notice.hidden = Date.now() < Date.parse(notice.dataset.due);
}
for (const box of document.querySelectorAll("input[data-searches]")) {
  const tables = [...document.querySelectorAll(box.dataset.searches)];
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const found = box.parentNode.querySelector("output");
  const everywhere = "everywhere" in box.dataset;
  const textOf = (row) =>
    everywhere ? row.closest("section").querySelector("h2").textContent + " " + row.textContent : row.cells[0].textContent;
  box.parentNode.hidden = false;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const text = textOf(row).toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      count += row.hidden ? 0 : 1;
    }
    if (everywhere) {
      for (const table of tables) {
        const shown = [...table.tBodies[0].rows].some((row) => !row.hidden);
        const folded = table.closest("details");
        table.closest("section").hidden = !shown;
        if (folded) folded.open = shown && box.value !== "";
      }
    }
    found.textContent = `${count} of ${rows.length}`;
  });
}
