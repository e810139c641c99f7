#!/usr/bin/env node
// Runs the program of the package for this platform, with the same arguments.
import { spawnSync } from "node:child_process";
import { binary } from "./index.mjs";

const ended = spawnSync(binary(), process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`firstseen: ${ended.error.message}`);
  process.exit(3);
}
if (ended.signal) process.kill(process.pid, ended.signal);
process.exit(ended.status ?? 3);
