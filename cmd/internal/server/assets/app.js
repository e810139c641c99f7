'use strict';
// The page asks the daemon every two seconds and draws the answers. All text
// from the daemon goes in through textContent: URLs are written by strangers.

const $ = id => document.getElementById(id);
const number = n => Math.round(n).toLocaleString('en');
const seconds = s => s >= 1 ? s.toFixed(1) + ' s' : s >= 0.001 ? (s * 1000).toFixed(1) + ' ms' : (s * 1e6).toFixed(0) + ' µs';
const round = n => n < 10 ? n.toFixed(1) : n.toFixed(0);
const time = t => new Date(t).toLocaleString('sv'); // 2026-01-31 16:05:00, of this browser's zone
const bytes = b => b >= 2 ** 30 ? (b / 2 ** 30).toFixed(1) + ' GiB' : (b / 2 ** 20).toFixed(0) + ' MiB';

$('token').value = sessionStorage.getItem('token') || '';
$('token').addEventListener('change', () => { sessionStorage.setItem('token', $('token').value); tick(); });

async function ask(path) {
  const token = $('token').value.trim();
  const resp = await fetch(path, token ? { headers: { Authorization: 'Bearer ' + token } } : {});
  const body = await resp.json().catch(() => null);
  if (!resp.ok) throw Object.assign(new Error(body?.error?.message || 'the daemon answers ' + resp.status), { status: resp.status });
  return body;
}

function el(tag, text, cls) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}

// A row of a table. The first cell is its header. On a narrow screen a row of a table with column
// headers is drawn as a list (style.css), which may hide from assistive programs that it is a row; the
// roles state it.
function row(...cells) {
  const tr = el('tr');
  tr.setAttribute('role', 'row');
  cells.forEach(([text, cls], i) => {
    const cell = el(i ? 'td' : 'th', text, cls);
    if (!i) cell.scope = 'row';
    cell.setAttribute('role', i ? 'cell' : 'rowheader');
    tr.append(cell);
  });
  return tr;
}

// Replaces the rows of a table, and repeats the column headers in the cells, for narrow screens. If
// nothing changed, the rows remain, so that a selection in them does as well.
function fill(id, rows) {
  const body = $(id), heads = [...body.parentNode.querySelectorAll('thead th')].map(h => h.textContent);
  for (const tr of rows) [...tr.cells].forEach((cell, i) => { if (heads[i]) cell.dataset.label = heads[i]; });
  const text = list => list.map(tr => [...tr.cells].map(c => c.textContent).join('\t')).join('\n');
  if (text(rows) !== text([...body.rows])) body.replaceChildren(...rows);
}
for (const table of document.querySelectorAll('table.wide')) {
  for (const part of table.querySelectorAll('thead, tbody')) part.setAttribute('role', 'rowgroup');
  for (const tr of table.querySelectorAll('thead tr')) tr.setAttribute('role', 'row');
  for (const th of table.querySelectorAll('thead th')) th.setAttribute('role', 'columnheader');
}

// Samples of the chosen crawls that this page took: the daemon's history is of all crawls, counts of a crawl are what the store has.
let own = [], ownOf;
function ownSamples(s) {
  const of = $('token').value + '\n' + $('crawl').value;
  if (of !== ownOf) own = [];
  ownOf = of;
  own.push({ at: new Date().toISOString(), new: s.seen, fetched: s.fetched, refused: s.refused.reduce((n, r) => n + r.count, 0) });
  if (own.length > 1800) own.shift(); // an hour
  return own;
}

// Rates are differences of counters between two samples. What is not counted is null.
function rates(samples) {
  const out = [];
  for (let i = 1; i < samples.length; i++) {
    const a = samples[i - 1], b = samples[i];
    const dt = (Date.parse(b.at) - Date.parse(a.at)) / 1000;
    if (dt < 0.5) continue;
    const per = name => name in b ? Math.max(0, b[name] - a[name]) / dt : null;
    const offered = per('new') + per('duplicate') + per('refused');
    out.push({
      at: Date.parse(b.at), new: per('new'), duplicate: per('duplicate'), refused: per('refused'), leased: per('leased'), fetched: per('fetched'),
      offered: ofAll ? offered : null, share: ofAll && offered > 0 ? 100 * per('duplicate') / offered : null,
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

// The step of an axis that a person would choose: 1, 2, 2.5 or 5 times a power of ten, so that there
// are two to five steps.
function stepFor(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  return power * [1, 2, 2.5, 5, 10].find(m => power * m >= most / 4 && (power * m) % 1 === 0);
}

// Times of day between two moments, at whole steps of the clock.
function timesOf(t0, t1, count) {
  const minute = 60000, width = t1 - t0;
  const step = [minute / 4, minute / 2, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute].find(s => width / s <= count) || 60 * minute;
  const zone = new Date(t1).getTimezoneOffset() * minute, out = [];
  for (let t = Math.ceil((t0 - zone) / step) * step + zone; t <= t1; t += step) {
    out.push([t, time(t).slice(11, step < minute ? 19 : 16)]);
  }
  return out;
}

// The top of an axis. A burst, a few moments far above all others, would press the rest of the hour flat: it is cut off,
// and its height is written instead.
function topOf(heights, least) {
  const sorted = heights.filter(h => h > 0).sort((a, b) => a - b), usual = sorted[Math.floor(0.9 * (sorted.length - 1))] ?? 0;
  const highest = sorted.at(-1) ?? 0;
  return sorted.length > 10 && highest > 5 * Math.max(usual, least) ? Math.max(least, 1.5 * usual) : Math.max(least, highest);
}

// Draws lines of the points by name. Each has a dash pattern of its own (style.css) beside its colour.
function draw(id, points, names, least, unit) {
  const box = $(id), across = Math.max(240, Math.round(box.clientWidth)), left = 56, right = across - 8, top = 12, bottom = 150;
  box.setAttribute('viewBox', '0 0 ' + across + ' 180'); // so that text has its own size on each screen
  const highest = Math.max(0, ...points.flatMap(p => names.map(n => p[n] ?? 0)));
  const ceiling = topOf(points.map(p => Math.max(...names.map(n => p[n] ?? 0))), least);
  const step = stepFor(ceiling), most = Math.ceil(ceiling / step) * step;
  const t1 = points.length ? points.at(-1).at : Date.now(), t0 = Math.min(t1 - 60000, points.length ? points[0].at : t1);
  const x = t => left + (right - left) * (t - t0) / (t1 - t0);
  const y = v => bottom - (bottom - top) * Math.min(v, most) / most;
  box.replaceChildren();
  for (let v = 0; v <= most; v += step) {
    box.append(svg('line', { x1: left, x2: right, y1: y(v), y2: y(v), class: 'grid' }));
    box.append(svg('text', { x: left - 6, y: y(v) + 4, 'text-anchor': 'end' }, number(v) + unit));
  }
  for (const [t, text] of timesOf(t0, t1, (right - left) / 80)) {
    const at = x(t), anchor = at > right - 30 ? 'end' : at < left + 30 ? 'start' : 'middle';
    box.append(svg('line', { x1: at, x2: at, y1: bottom, y2: bottom + 4, class: 'grid' }));
    box.append(svg('text', { x: at, y: bottom + 20, 'text-anchor': anchor }, text));
  }
  for (const name of names) {
    let d = '', pen = 'M';
    for (const p of points) {
      if (p[name] === null) { pen = 'M'; continue; }
      d += pen + x(p.at).toFixed(1) + ' ' + y(p[name]).toFixed(1);
      pen = 'L';
    }
    box.append(svg('path', { d, class: classOf(name) }));
  }
  if (highest > most) {
    const at = points.find(p => names.some(n => p[n] === highest)).at, middle = x(at);
    const anchor = middle > right - 60 ? 'end' : middle < left + 60 ? 'start' : 'middle';
    box.append(svg('text', { x: middle, y: top - 1, 'text-anchor': anchor }, '↑ ' + number(highest) + unit));
  }
  const known = points.some(p => names.some(n => p[n] !== null));
  if (!known) box.append(svg('text', { x: (left + right) / 2, y: (top + bottom) / 2 - 8, 'text-anchor': 'middle' }, ofAll ? 'no URLs were offered in this time' : id === 'share' ? notByCrawl : 'the next sample comes in a moment'));
  const said = names.map(n => (n === 'share' ? 'duplicates' : n) + ' ' + (points.at(-1)?.[n] == null ? 'unknown' : number(points.at(-1)[n]) + unit)).join(', ');
  const title = { rates: 'URLs per second', share: 'Duplicates, percent of offered' }[id];
  box.setAttribute('aria-label', title + ' from ' + time(t0) + ' to ' + time(t1) + '. Latest: ' + said + '. Highest: ' + number(highest) + unit + '.');
}

const classOf = name => ({ share: 'duplicate', fetched: 'leased' })[name] || name;
function legend(id, names) {
  if ($(id).textContent === names.map(n => ' ' + n).join('')) return;
  $(id).replaceChildren(...names.map(name => {
    const item = el('span'), line = svg('svg', { viewBox: '0 0 28 8', class: 'line', 'aria-hidden': 'true' });
    line.append(svg('path', { d: 'M0 4H28', class: classOf(name) }));
    item.append(line, ' ' + name);
    return item;
  }));
}

// Some rates are counted over all crawls only, and a token for some crawls may not see what is: then the page says so, and shows no zeros.
const notAllowed = 'not for this token', notByCrawl = 'not counted by crawl';
let forAll = true; // the token may see what is of all crawls
let ofAll = true; // rates are of all crawls: the token may see them, and no crawl is chosen

function tiles(s, now) {
  const share = now && now.share !== null ? now.share.toFixed(0) + ' %' : '–';
  const rate = name => now ? number(now[name]) : '–';
  const all = [
    ['queued or leased', number(s.held)], ['leased', number(s.in_flight)], ['completed', number(s.completed)], ['pages fetched', number(s.fetched)],
    ['dropped, ' + number(s.failed) + ' after a failure', number(s.dropped)], ['seen', number(s.seen)],
    ['queues, ' + number(s.active_queues) + ' with URLs', number(s.queues)],
    ...(ofAll ? [['offered / s', rate('offered')], ['leases / s', rate('leased')], ['duplicates now', share]] : [['new / s', rate('new')], ['fetched / s', rate('fetched')]]),
  ];
  $('tiles').replaceChildren(...all.map(([name, value]) => {
    const t = el('div', undefined, 'tile');
    t.append(el('b', value), el('span', name));
    t.dataset.name = name;
    return t;
  }));
}

function mean(c, name, show) {
  const n = c[name + '_count'] || 0;
  return n ? show(c[name + '_sum'] / n) : '–';
}

function health(s) {
  const c = s.counters;
  if (!forAll) {
    fill('health', [row(['profile'], [s.profile, 'n']), row(['disk, commits, calls, failures'], [notAllowed, 'n'])]);
    return;
  }
  const rows = [
    ['profile', s.profile],
    ['disk free', c.firstseen_disk_free_bytes ? bytes(c.firstseen_disk_free_bytes) : 'not watched'],
    ['commit, mean', mean(c, 'firstseen_commit_seconds', seconds)],
    ['URLs per commit, mean', mean(c, 'firstseen_batch_urls', round)],
    ['time of a lease call, mean', mean(c, 'firstseen_lease_seconds', seconds)],
    ['calls in flight', number(c.firstseen_open_calls || 0)],
    ['offers that failed', number(c['firstseen_urls_offered_total{verdict="failed"}'] || 0)],
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
  fill('health', rows.map(([k, v]) => row([k], [v, 'n'])));
}

function refused(s) {
  const rows = s.refused.sort((a, b) => b.count - a.count)
    .map(r => row([r.reason + (r.rule && r.rule !== 'list' ? ' by ' + r.rule : '') + (r.dropped ? r.reason === 'excluded' ? ', forgotten later' : ', dropped later' : '')], [r.crawl], [number(r.count), 'n'], [r.examples.at(-1) || '', 'url']));
  fill('refused', rows.length ? rows : [row(['none'], [''], [''], [''])]);
}

function crawls(s) {
  const pick = $('crawl'), was = pick.value;
  const names = ['*', ...s.crawls];
  if (names.join('\n') === [...pick.options].map(o => o.value).join('\n')) return;
  pick.replaceChildren(...names.map(n => { const o = el('option', n === '*' ? 'all' : n); o.value = n; return o; }));
  pick.value = names.includes(was) ? was : '*';
}

// When the state of a queue changes: a time, or what ends it.
function nextChange(q) {
  if (q.next) return time(q.next);
  return { ready: 'now', 'in-flight': 'when a lease ends', paused: 'when it is resumed', limited: 'when the limit is raised', empty: 'when a URL is offered' }[q.state] || '';
}

function delayOf(q) {
  if (q.delay_seconds) return q.delay_seconds + ' s';
  return q.default_delay_seconds ? q.default_delay_seconds + ' s (default)' : 'none';
}

// The daemon looks at each queue for a list. So the page asks at most a twentieth of the time.
const first = matchMedia('(max-width: 48rem)').matches ? 10 : 50; // on a phone each is a list of its own
let shown = first, queuesAt = 0;
async function queues() {
  if (Date.now() < queuesAt) return;
  const began = Date.now();
  const page = await ask('/v1/queues?' + new URLSearchParams({ crawl: $('crawl').value, search: $('search').value, limit: shown, order: 'waiting' }));
  queuesAt = Date.now() + 19 * (Date.now() - began);
  fill('queues', page.queues.map(x => row(
    [x.queue, 'url'], [x.crawl], [x.state + (x.reason ? ': ' + x.reason : '')], [number(x.held - x.in_flight), 'n'], [number(x.in_flight), 'n'], [number(x.fetched), 'n'], [number(x.dropped) + (x.failed ? ', ' + number(x.failed) + ' failed' : ''), 'n'],
    [delayOf(x), 'n'], [nextChange(x)])));
  $('more').hidden = page.queues.length < shown || shown >= 1000;
  $('queues-note').textContent = !page.queues.length ? ($('search').value ? 'No queue has this in its name.' : 'No queues yet: each host gets one with its first URL.')
    : 'Most queued URLs first. Times are those of this browser.' + (page.partial ? ' The store has more queues than the daemon looked at: some are missing.' : '');
}
$('more').addEventListener('click', () => { shown += 4 * first; queuesAt = 0; tick(); });
for (const [id, event] of [['search', 'input'], ['crawl', 'change']]) $(id).addEventListener(event, () => { shown = first; queuesAt = 0; tick(); });

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
    if (e.verdict) line('an offer is', e.verdict + (e.refusal ? ': ' + e.refusal : ''));
    if (e.excluded) line('excluded by', e.excluded);
    for (const c of e.changes) line(c.rule, c.after);
    if (e.canonical) line('canonical', e.canonical);
    if (e.key) line('key', e.key);
    if (e.queue) line('queue', e.queue);
    if (e.trap) line(e.trap.lifted ? 'trap, lifted' : e.trap.lowered ? 'trap, lowered' : 'no trap', e.trap.template + ': ' + e.trap.known + ' of ' + e.trap.fetches + ' fetches brought nothing new');
    const k = e.known;
    line('known', k ? k.state + (k.first ? ', first seen as ' + k.first : '') : 'no');
    if (k?.attempts) line('leases', k.attempts + ': ' + (k.failures || 0) + ' failures, ' + (k.deferrals || 0) + ' deferrals, ' + (k.releases || 0) + ' releases, ' + (k.expiries || 0) + ' expired' + (k.status ? '; last status ' + k.status : ''));
    if (e.holds) line('held by', e.holds.state + (e.holds.reason ? ': ' + e.holds.reason : '') + (e.holds.next ? ', until ' + time(e.holds.next) : ''));
    out.replaceChildren(el('p', e.why), table);
  } catch (err) {
    out.replaceChildren(el('p', err.message, 'banner'));
  }
});

function say(text, cls) {
  const state = $('state');
  if (state.textContent !== text) state.textContent = text; // a change is read out
  state.className = 'badge ' + cls;
}

function empty(s) {
  $('empty').hidden = $('crawl').value !== '*' || s.seen + s.held + s.completed > 0;
  $('offer').textContent = "echo '{\"url\":\"http://Example.org:80/\"}' | curl -s --data-binary @- " + ($('token').value ? "-H 'Authorization: Bearer TOKEN' " : '') + location.origin + '/v1/urls';
}

// A token for some crawls cannot read the history, which is of all.
const history = () => ask('/v1/history').then(
  h => { forAll = true; return h; },
  err => { if (err.status !== 403) throw err; forAll = false; return { samples: [] }; });

// Without a token that the daemon knows, there is nothing to show.
function locked(is) {
  document.body.classList.toggle('locked', is);
  $('locked').hidden = !is;
  if (is) {
    $('wrong').hidden = !$('token').value.trim();
    say('token needed', 'bad');
  }
}

let busy = false, again = false;
async function tick() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const [s, h] = await Promise.all([ask('/v1/stats?crawl=' + encodeURIComponent($('crawl').value)), history()]);
    ofAll = forAll && $('crawl').value === '*';
    const mine = ownSamples(s), points = rates(ofAll ? h.samples : mine), names = ofAll ? ['new', 'duplicate', 'refused', 'leased'] : ['new', 'refused', 'fetched'];
    $('error').hidden = true;
    locked(false);
    $('nohistory').hidden = ofAll;
    say(s.serving ? 'serving' : 'paused', s.serving ? 'good' : 'bad');
    $('disk').hidden = !s.disk_low;
    crawls(s); empty(s); tiles(s, points.at(-1)); health(s); refused(s);
    legend('legend-rates', names);
    draw('rates', points, names, 10, '');
    draw('share', points, ['share'], 100, ' %');
    await queues();
  } catch (err) {
    locked(err.status === 401);
    if (err.status !== 401) {
      $('error').textContent = err.message;
      $('error').hidden = false;
      say('no answer', 'bad');
    }
  } finally {
    busy = false;
  }
  if (again) { again = false; tick(); }
}
tick();

const refresh = () => setInterval(tick, 2000);
let timer = refresh();
$('pause').addEventListener('click', () => {
  clearInterval(timer);
  timer = timer ? 0 : refresh();
  $('pause').textContent = timer ? 'Pause refresh' : 'Resume refresh';
  if (timer) tick();
});
