// A client of the daemon, and a private daemon that ends with this process.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// binary returns the path of the program: FIRSTSEEN_BIN, or that of the package for this platform.
export function binary() {
  if (process.env.FIRSTSEEN_BIN) return process.env.FIRSTSEEN_BIN;
  const name = `@firstseen/${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/firstseen`);
  } catch {
    throw new Error(`cannot find the program firstseen; there is no package ${name}; set FIRSTSEEN_BIN`);
  }
}

export class Client {
  #headers;

  constructor({ url = "http://127.0.0.1:7072", token = "", crawl = "DEFAULT" } = {}) {
    this.url = url.replace(/\/$/, "");
    this.crawl = crawl;
    this.#headers = { "content-type": "application/x-ndjson", ...(token && { authorization: `Bearer ${token}` }) };
  }

  // offer queues the URLs that are new. What was answered is on disk.
  offer(urls, more = {}) { return this.#verdicts("/v1/urls", urls, more); }

  // seen records the URLs as seen and queues none.
  seen(urls) { return this.#verdicts("/v1/seen", urls, {}); }

  // lease returns up to max URLs that may be fetched now, and none if all must wait.
  async lease(max = 1, seconds = 60) {
    const [{ leases }] = await this.#ask("POST", "/v1/lease", [{ crawl: this.crawl, max, lease_seconds: seconds }]);
    return leases;
  }

  // done ends leases: "done", "retry", "drop" or "release".
  async done(leases, outcome = "done") {
    const list = [leases].flat().map(({ crawl, key, token }) => ({ crawl: crawl ?? this.crawl, key, token, outcome }));
    const [{ answers }] = await this.#ask("POST", "/v1/done", [{ leases: list }]);
    return answers;
  }

  async stats() {
    const [stats] = await this.#ask("GET", `/v1/stats?crawl=${encodeURIComponent(this.crawl)}`);
    return stats;
  }

  async #verdicts(path, urls, more) {
    if (urls.length === 0) return [];
    const answers = await this.#ask("POST", path, urls.map((url) => ({ url, crawl: this.crawl, ...more })));
    if (answers.length !== urls.length || answers.some((a) => a.verdict === "failed")) {
      throw new Error(`got ${answers.length} answers to ${urls.length} URLs, not all stored; offer them again`);
    }
    return answers.map((a, i) => ({ url: urls[i], verdict: a.verdict, key: a.key ?? "", error: a.error?.message ?? "" }));
  }

  async #ask(method, path, lines) {
    const body = lines?.map((line) => JSON.stringify(line) + "\n").join("");
    const answer = await fetch(this.url + path, { method, body, headers: this.#headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${this.url} answered ${answer.status}: ${text.slice(0, 300)}`);
    if (method === "GET") return [JSON.parse(text)];
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }
}

// startDaemon starts `firstseen serve` with its store in a directory. It ends when close is
// called, and within seconds when this process ends in any way: it reads a pipe that only
// this process writes to.
export async function startDaemon(directory, { flags = [], patience = 60_000 } = {}) {
  mkdirSync(directory, { recursive: true });
  const token = randomBytes(32).toString("base64url");
  const [tokens, log] = [join(directory, "tokens"), join(directory, "daemon.log")];
  rmSync(tokens, { force: true });
  writeFileSync(tokens, `admin ${token}\n`, { mode: 0o600 });
  const output = openSync(log, "w");
  const child = spawn(binary(), ["serve", "--until-eof", "--db", join(directory, "db"), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0",
    "--tokens", tokens, "--log-format", "json", ...flags], { stdio: ["pipe", output, output], detached: true });
  closeSync(output);
  const ended = new Promise((resolve) => child.once("exit", resolve).once("error", resolve));
  const daemon = {
    token, pid: child.pid,
    client: (crawl = "DEFAULT") => new Client({ url: daemon.url, token, crawl }),
    close: () => { child.stdin.end(); return ended; },
  };
  for (const until = Date.now() + patience; Date.now() < until && child.exitCode === null;) {
    const serving = readFileSync(log, "utf8").split("\n").filter((line) => line.includes('"msg":"serving"'))[0];
    if (serving) {
      daemon.url = `http://${JSON.parse(serving).http}`;
      child.unref();
      child.stdin.unref?.();
      return daemon;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await daemon.close();
  throw new Error(`cannot start a daemon in ${directory}: ${readFileSync(log, "utf8").slice(-1000)}`);
}
