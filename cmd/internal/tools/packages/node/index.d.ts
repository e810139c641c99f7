export interface Verdict { url: string; verdict: "new" | "duplicate" | "refused"; key: string; error: string }
export interface Lease { url: string; crawl?: string; key: string; token: string; queue?: string; depth?: number; metadata?: Record<string, string[]> }
export type Outcome = "done" | "retry" | "drop" | "release";

export class Client {
  constructor(options?: { url?: string; token?: string; crawl?: string });
  readonly url: string;
  readonly crawl: string;
  offer(urls: string[], more?: { depth?: number; metadata?: Record<string, string[]> }): Promise<Verdict[]>;
  seen(urls: string[]): Promise<Verdict[]>;
  lease(max?: number, seconds?: number): Promise<Lease[]>;
  done(leases: Lease | Lease[], outcome?: Outcome): Promise<string[]>;
  stats(): Promise<Record<string, number>>;
}

export interface Daemon {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  client(crawl?: string): Client;
  close(): Promise<unknown>;
}

export function binary(): string;
export function startDaemon(directory: string, options?: { flags?: string[]; patience?: number }): Promise<Daemon>;
