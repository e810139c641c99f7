'use strict';
// Looks at the page four seconds after it was loaded, and writes what it finds into the page around its frame.
addEventListener('load', () => setTimeout(async () => {
  const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className.length ? '.' + e.className : '') + ' ' + JSON.stringify(e.textContent.trim().slice(0, 40));
  const scrolls = e => /auto|scroll/.test(getComputedStyle(e).overflowX);
  const inScroller = e => { for (let p = e.parentElement; p; p = p.parentElement) if (scrolls(p)) return true; return false; };
  const hidden = e => getComputedStyle(e).visibility === 'hidden' || e.getBoundingClientRect().width <= 1;
  const all = [...document.body.querySelectorAll('*')];
  const found = {
    View: { Width: innerWidth, Height: innerHeight, Dark: matchMedia('(prefers-color-scheme: dark)').matches },
    Wide: all.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !inScroller(e) && !hidden(e)).map(name),
    Scrolled: all.filter(e => scrolls(e) && e.scrollWidth > e.clientWidth + 1).map(name),
    Violations: [],
    Axe: !!window.axe,
  };
  if (window.axe) {
    const result = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    found.Violations = result.violations.flatMap(v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 120) + ' (' + n.failureSummary.replace(/\s+/g, ' ').slice(0, 300) + ')'));
  }
  const out = document.createElement('pre');
  out.className = 'audited';
  out.textContent = JSON.stringify(found);
  parent.document.body.append(out);
}, 4000));
