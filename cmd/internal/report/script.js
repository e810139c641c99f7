(function () {
  "use strict";
  var tip = document.getElementById("tip");
  function show(e) {
    var t = e.target.closest && e.target.closest("[data-tip]");
    if (!t) { tip.hidden = true; return; }
    tip.textContent = t.dataset.tip;
    tip.hidden = false;
    var w = tip.offsetWidth, h = tip.offsetHeight;
    var x = Math.min(Math.max(8, e.clientX - w / 2), innerWidth - w - 8);
    var y = e.clientY - h - 14 < 8 ? e.clientY + 18 : e.clientY - h - 14;
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  }
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", function () { tip.hidden = true; }, true);
  // The script's own tip takes the place of the browser's. The tables have the same figures.
  document.querySelectorAll("[data-tip] title").forEach(function (t) { t.remove(); });

  function value(row, i) {
    var cell = row.cells[i];
    return cell.dataset.sort !== undefined ? Number(cell.dataset.sort) : cell.textContent.trim();
  }
  function sort(table, i, head) {
    var down = head.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("th[aria-sort]").forEach(function (h) { h.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    var body = table.tBodies[0], rows = Array.from(body.rows);
    rows.sort(function (a, b) {
      var x = value(a, i), y = value(b, i);
      var c = typeof x === "number" ? x - y : x.localeCompare(y);
      return down ? -c : c;
    });
    rows.forEach(function (r) { body.appendChild(r); });
  }
  function csv(table) {
    return Array.from(table.rows).map(function (r) {
      return Array.from(r.cells).map(function (c) {
        var s = c.dataset.sort !== undefined ? c.dataset.sort : c.innerText.trim();
        return /[",\n]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
      }).join(",");
    }).join("\r\n") + "\r\n";
  }
  function saveAs(name, type, text) {
    var a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([text], { type: type }));
    a.download = name;
    a.click();
    URL.revokeObjectURL(a.href);
  }
  function button(text, act) {
    var b = document.createElement("button");
    b.type = "button";
    b.className = "save";
    b.textContent = text;
    b.addEventListener("click", act);
    return b;
  }
  // Copying asks the clipboard, then the older way; if neither is allowed the text is
  // left marked, for the keyboard.
  function mark(box) {
    var range = document.createRange(), marked = getSelection();
    range.selectNodeContents(box);
    marked.removeAllRanges();
    marked.addRange(range);
  }
  function copy(box, said) {
    function older() {
      mark(box);
      var done = false;
      try { done = document.execCommand("copy"); } catch (e) { done = false; }
      said.textContent = done ? "copied" : "marked: copy it with the keyboard";
    }
    if (!navigator.clipboard) { older(); return; }
    navigator.clipboard.writeText(box.textContent).then(function () { said.textContent = "copied"; }, older);
  }
  document.querySelectorAll("[data-file]").forEach(function (box) {
    var bar = document.createElement("p"), said = document.createElement("span");
    bar.className = "buttons";
    said.setAttribute("role", "status");
    said.className = "quiet";
    bar.append(button("Copy", function () { copy(box, said); }),
      button("Save as " + box.dataset.file, function () { saveAs(box.dataset.file, "application/json", box.textContent); }), said);
    box.before(bar);
  });
  // On a narrow screen, the rows of some tables are lists of their cells with the column headers
  // (style.css). The roles state that they are rows.
  document.querySelectorAll("table.list").forEach(function (table) {
    var heads = Array.from(table.tHead.rows[0].cells).map(function (head) { return head.textContent; });
    Array.from(table.tBodies[0].rows).forEach(function (row) {
      row.setAttribute("role", "row");
      Array.from(row.cells).forEach(function (cell, i) {
        cell.dataset.label = heads[i];
        cell.setAttribute("role", i ? "cell" : "rowheader");
      });
    });
  });
  // A box that scrolls can be scrolled by the keyboard.
  document.querySelectorAll(".scroll").forEach(function (box) {
    if (box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight) return;
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Table: " + box.querySelector("table").dataset.name);
  });
  document.querySelectorAll("table").forEach(function (table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (head, i) {
      var b = document.createElement("button");
      b.type = "button";
      b.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(b);
      b.addEventListener("click", function () { sort(table, i, head); });
    });
    var save = button("Save this table as CSV", function () {
      saveAs(table.dataset.name.toLowerCase().replace(/[^a-z]+/g, "-") + ".csv", "text/csv", csv(table));
    });
    table.parentNode.after(save);
  });
})();
