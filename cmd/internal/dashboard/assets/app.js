'use strict';
// The page asks the daemon every two seconds and draws the answers. All text
// from the daemon goes in through textContent: URLs are written by strangers.

const $ = id => document.getElementById(id);
const number = n => Math.round(n).toLocaleString('en');
const seconds = s => s >= 1 ? s.toFixed(1) + ' s' : s >= 0.001 ? (s * 1000).toFixed(1) + ' ms' : (s * 1e6).toFixed(0) + ' µs';
const round = n => n < 10 ? n.toFixed(1) : n.toFixed(0);
const bytes = b => b >= 2 ** 30 ? (b / 2 ** 30).toFixed(1) + ' GiB' : (b / 2 ** 20).toFixed(0) + ' MiB';

$('token').value = sessionStorage.getItem('token') || '';
$('token').addEventListener('change', () => { sessionStorage.setItem('token', $('token').value); tick(); });

async function ask(path) {
  const token = $('token').value.trim();
  const resp = await fetch(path, token ? { headers: { Authorization: 'Bearer ' + token } } : {});
  const body = await resp.json().catch(() => null);
  if (!resp.ok) throw new Error(body?.error?.message || 'the daemon answers ' + resp.status);
  return body;
}

function el(tag, text, cls) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}

function row(...cells) {
  const tr = el('tr');
  for (const [text, cls] of cells) tr.append(el('td', text, cls));
  return tr;
}

// Rates are differences of counters between two samples.
function rates(samples) {
  const out = [];
  for (let i = 1; i < samples.length; i++) {
    const a = samples[i - 1], b = samples[i];
    const dt = (Date.parse(b.at) - Date.parse(a.at)) / 1000;
    if (dt < 0.5) continue;
    const per = name => Math.max(0, b[name] - a[name]) / dt;
    const offered = per('new') + per('duplicate') + per('refused');
    out.push({
      at: Date.parse(b.at), new: per('new'), duplicate: per('duplicate'), refused: per('refused'), leased: per('leased'),
      completed: per('completed'), offered, share: offered > 0 ? 100 * per('duplicate') / offered : null,
    });
  }
  return out;
}

const NS = 'http://www.w3.org/2000/svg';
function svg(tag, attrs, text) {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}

function draw(id, points, names, least) {
  const box = $(id), left = 48, right = 592, top = 10, bottom = 155;
  const most = Math.max(least, ...points.flatMap(p => names.map(n => p[n] ?? 0)));
  const t1 = points.length ? points.at(-1).at : Date.now(), t0 = Math.min(t1 - 60000, points.length ? points[0].at : t1);
  const x = t => left + (right - left) * (t - t0) / (t1 - t0);
  const y = v => bottom - (bottom - top) * v / most;
  box.replaceChildren();
  for (const part of [0, 0.5, 1]) {
    box.append(svg('line', { x1: left, x2: right, y1: y(most * part), y2: y(most * part), class: 'grid' }));
    box.append(svg('text', { x: left - 6, y: y(most * part) + 4, 'text-anchor': 'end' }, number(most * part)));
  }
  box.append(svg('text', { x: left, y: 172 }, Math.round((t1 - t0) / 60000) + ' min ago'));
  box.append(svg('text', { x: right, y: 172, 'text-anchor': 'end' }, 'now'));
  for (const name of names) {
    let d = '', pen = 'M';
    for (const p of points) {
      if (p[name] === null) { pen = 'M'; continue; }
      d += pen + x(p.at).toFixed(1) + ' ' + y(p[name]).toFixed(1);
      pen = 'L';
    }
    box.append(svg('path', { d, class: name === 'share' ? 'duplicate' : name }));
  }
}

function legend(id, parts) {
  $(id).replaceChildren(...parts.map(([name, cls]) => el('span', name, cls)));
}
legend('legend-rates', [['new', 'new'], ['duplicate', 'duplicate'], ['refused', 'refused'], ['leased', 'leased']]);

function tiles(s, now) {
  const share = now && now.share !== null ? now.share.toFixed(0) + ' %' : '–';
  const all = [
    ['queued or leased', number(s.held)], ['leased', number(s.in_flight)], ['completed', number(s.completed)], ['dropped', number(s.dropped)], ['seen', number(s.seen)],
    ['queues, ' + number(s.active_queues) + ' with URLs', number(s.queues)], ['offered / s', now ? number(now.offered) : '–'],
    ['leases / s', now ? number(now.leased) : '–'], ['duplicates now', share],
  ];
  $('tiles').replaceChildren(...all.map(([name, value]) => {
    const t = el('div', undefined, 'tile');
    t.append(el('b', value), el('span', name));
    t.dataset.name = name;
    return t;
  }));
}

function mean(c, name) {
  const n = c[name + '_count'] || 0;
  return n ? c[name + '_sum'] / n : 0;
}

function health(s) {
  const c = s.counters;
  const rows = [
    ['profile', s.profile],
    ['disk free', c.firstseen_disk_free_bytes ? bytes(c.firstseen_disk_free_bytes) : 'not watched'],
    ['commit, mean', seconds(mean(c, 'firstseen_commit_seconds'))],
    ['URLs per commit, mean', round(mean(c, 'firstseen_batch_urls'))],
    ['time of a lease call, mean', seconds(mean(c, 'firstseen_lease_seconds'))],
    ['calls in flight', number(c.firstseen_open_calls || 0)],
    ['URLs that failed', number(c['firstseen_urls_offered_total{verdict="failed"}'] || 0)],
  ];
  if ('firstseen_declared_rules' in c) {
    rows.push(['rules of trusted declarations', number(c.firstseen_declared_rules)],
      ['declarations that cannot be used', number(c.firstseen_declared_refused_total || 0)]);
  }
  if ('firstseen_trap_templates' in c) {
    const shadow = 'firstseen_trap_urls_total{shadow="yes"}' in c;
    rows.push(['templates of traps', number(c.firstseen_trap_templates)],
      [shadow ? 'URLs of traps, only counted' : 'URLs of traps, lowered', number(c['firstseen_trap_urls_total{shadow="' + (shadow ? 'yes' : 'no') + '"}'] || 0)]);
  }
  $('health').replaceChildren(...rows.map(([k, v]) => row([k], [v, 'n'])));
}

// What the last audit of fetched pages found: counters by rule, as /metrics has them.
function judged(s) {
  const rules = new Map();
  for (const [name, value] of Object.entries(s.counters)) {
    const m = /^firstseen_rule_(merges|stable_pairs|precision)\{(?:on="(yes|no)",)(?:outcome="([a-z]+)",)?rule="([^"]+)"\}$/.exec(name);
    if (!m) continue;
    const r = rules.get(m[4]) || { on: m[2] === 'yes', pairs: 0 };
    if (m[1] === 'merges') r.pairs += value;
    if (m[1] === 'stable_pairs') r[m[3]] = value;
    if (m[1] === 'precision') r.share = value;
    rules.set(m[4], r);
  }
  const shown = [...rules].filter(([, r]) => r.pairs > 0).sort(([, a], [, b]) => b.on - a.on || b.pairs - a.pairs);
  $('judged').hidden = shown.length === 0;
  $('judged-note').textContent = 'By ' + number(s.counters.firstseen_captures || 0) + ' fetches kept. “Same” and “different” count pairs with a stable control; “one page” is the verdict on them.';
  $('rules').replaceChildren(...shown.map(([name, r]) => row(
    [name], r.on && r.different > 0 ? ['on, merges different pages', 'bad'] : [r.on ? 'on' : 'off'],
    [number(r.pairs), 'n'], [number(r.same), 'n'], [number(r.different), 'n'],
    [r.share === undefined ? 'no verdict' : (100 * r.share).toFixed(1) + ' %', 'n'])));
}

function refused(s) {
  const rows = s.refused.sort((a, b) => b.count - a.count)
    .map(r => row([r.reason + (r.dropped ? ', dropped later' : '')], [r.crawl], [number(r.count), 'n'], [r.examples.at(-1) || '', 'url']));
  $('refused').replaceChildren(...(rows.length ? rows : [row(['none'], [''], [''], [''])]));
}

function crawls(s) {
  const pick = $('crawl'), was = pick.value;
  const names = ['*', ...s.crawls];
  if (names.join('\n') === [...pick.options].map(o => o.value).join('\n')) return;
  pick.replaceChildren(...names.map(n => { const o = el('option', n === '*' ? 'all' : n); o.value = n; return o; }));
  pick.value = names.includes(was) ? was : '*';
}

let shown = 50;
async function queues() {
  const crawl = $('crawl').value;
  const q = new URLSearchParams({ crawl: crawl === '*' ? '' : crawl, search: $('search').value, limit: shown });
  const page = await ask('/v1/queues?' + q);
  $('queues').replaceChildren(...page.queues.map(x => row(
    [x.queue, 'url'], [x.state + (x.reason ? ': ' + x.reason : '')], [number(x.held), 'n'], [number(x.in_flight), 'n'], [number(x.completed), 'n'],
    [x.delay_seconds ? x.delay_seconds + ' s' : '', 'n'],
    [x.next ? new Date(x.next).toLocaleString() : '', 'n'])));
  $('more').hidden = !page.more || shown >= 1000;
  $('queues-note').textContent = page.queues.length ? '' : 'no queues';
  if (crawl === '*' && page.queues.length) $('queues-note').textContent = 'of crawl ' + page.queues[0].crawl;
}
$('more').addEventListener('click', () => { shown += 200; queues(); });
for (const [id, event] of [['search', 'input'], ['crawl', 'change']]) $(id).addEventListener(event, () => { shown = 50; tick(); });

$('try').addEventListener('submit', async event => {
  event.preventDefault();
  const out = $('explained');
  try {
    const crawl = $('crawl').value;
    const e = await ask('/v1/explain?' + new URLSearchParams({ url: $('url').value, crawl: crawl === '*' ? '' : crawl }));
    const table = el('table'), body = el('tbody');
    table.append(body);
    const line = (k, v) => body.append(row([k], [v, 'url']));
    if (e.error) line('refused: ' + e.error.code, e.error.message);
    for (const c of e.changes) line(c.rule, c.after);
    if (e.canonical) line('canonical', e.canonical);
    if (e.key) line('key', e.key);
    if (e.queue) line('queue', e.queue);
    if (e.trap) line(e.trap.lifted ? 'trap, lifted' : e.trap.lowered ? 'trap, lowered' : 'no trap', e.trap.template + ': ' + e.trap.known + ' of ' + e.trap.fetches + ' fetches brought known content');
    line('known', e.known ? e.known.state + (e.known.first ? ', first seen as ' + e.known.first : '') : 'no');
    out.replaceChildren(table);
  } catch (err) {
    out.replaceChildren(el('p', err.message, 'banner'));
  }
});

let busy = false;
async function tick() {
  if (busy) return;
  busy = true;
  try {
    const [s, h] = await Promise.all([ask('/v1/stats?crawl=' + encodeURIComponent($('crawl').value)), ask('/v1/history')]);
    const points = rates(h.samples);
    $('error').hidden = true;
    $('state').textContent = s.serving ? 'serving' : 'paused';
    $('state').className = 'badge ' + (s.serving ? 'good' : 'bad');
    $('disk').hidden = !s.disk_low;
    crawls(s); tiles(s, points.at(-1)); health(s); refused(s); judged(s);
    draw('rates', points, ['new', 'duplicate', 'refused', 'leased'], 10);
    draw('share', points, ['share'], 100);
    await queues();
  } catch (err) {
    $('error').textContent = err.message;
    $('error').hidden = false;
    $('state').textContent = 'no answer';
    $('state').className = 'badge bad';
  } finally {
    busy = false;
  }
}
tick();
setInterval(tick, 2000);
