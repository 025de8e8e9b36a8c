// Drives VS Code for the tests: one line of JSON in, one line of JSON out.
// Never decides about the server. When its input ends, it ends with all its processes.
import { createInterface } from 'node:readline';
import * as access from './access.mjs';
import * as figures from './figures.mjs';
import { startBrowser, startCodeServer } from './server.mjs';
import { Window } from './window.mjs';

const where = JSON.parse(process.argv[2]);
let server, browser;
const windows = new Map();
// Scenes take turns between their windows, so that two hosts may live at a time: by where they listen.
const hosts = new Map();
// What does not act as a user does is outside of the window.
const instruments = { ...access, ...figures };

const top = {
  async start() {
    server = await startCodeServer(where);
    browser = await startBrowser(where);
  },
  // `authority` is where the browser finds VS Code, if it reaches it by another way than directly.
  async open(name, folder, file, authority) {
    const opened = await Window.open(browser, authority ?? server.authority, where.pictures, folder, file);
    windows.set(name, Object.assign(opened, { driver: where.driver }));
  },
  // Starts the VS Code of another machine, which has its own extensions and settings, and returns where it listens there.
  async hostStart(places) {
    const host = await startCodeServer({ ...where, serverPath: undefined, ...places });
    hosts.set(host.authority, host);
    return host.authority;
  },
  async hostStop(authority) {
    await hosts.get(authority)?.stop();
    hosts.delete(authority);
  },
  async close(name) {
    await windows.get(name)?.close();
    windows.delete(name);
    // What one scene set is none of the next one's.
    if (windows.size === 0) server.settle();
  },
};

async function answer(line) {
  const { id, to, op, args } = JSON.parse(line);
  try {
    if (to && !windows.has(to)) throw new Error(`the window ${to} is not open`);
    const target = to ? windows.get(to) : top;
    return { id, result: (await (op in instruments ? instruments[op](target, ...args) : target[op](...args))) ?? null };
  } catch (error) {
    return { id, error: String(error.stack ?? error).slice(0, 2000) };
  }
}

async function end() {
  await browser?.close().catch(() => {});
  server?.stop();
  for (const host of hosts.values()) host.stop();
  process.exit(0);
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, end);
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
await end();
