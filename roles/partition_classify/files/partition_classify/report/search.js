for (const box of document.querySelectorAll("input[data-searches]")) {
  const rows = [...document.getElementById(box.dataset.searches).tBodies[0].rows];
  const found = box.parentNode.querySelector("output");
  box.parentNode.hidden = false;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of rows) {
      const name = row.cells[0].textContent.toLowerCase();
      row.hidden = !words.every((word) => name.includes(word));
      count += row.hidden ? 0 : 1;
    }
    found.textContent = `${count} of ${rows.length}`;
  });
}
