// Starts code-server and a browser, both on loopback and in folders of their own.
// Never touches the user's settings, and asks no gallery for anything.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';

const SETTINGS = {
  'breadcrumbs.enabled': false,
  'chat.disableAIFeatures': true,
  'editor.acceptSuggestionOnEnter': 'off',
  'editor.autoClosingBrackets': 'never',
  'editor.autoClosingQuotes': 'never',
  'editor.autoIndent': 'none',
  'editor.minimap.enabled': false,
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.stickyScroll.enabled': false,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'files.autoSave': 'off',
  'security.workspace.trust.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'window.commandCenter': false,
  'window.restoreWindows': 'none',
  'workbench.enableExperiments': false,
  'workbench.layoutControl.enabled': false,
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

function freePort() {
  return new Promise((found) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });
}

export async function startCodeServer({ codeServer, extension, scratch, serverPath }) {
  const at = (name) => path.join(scratch, name);
  for (const folder of ['home', 'extensions', 'user/User', 'user/Machine']) mkdirSync(at(folder), { recursive: true });
  writeFileSync(at('user/User/settings.json'), JSON.stringify(SETTINGS));
  // A path belongs to the machine that the server runs on; VS Code reads it from nowhere else.
  writeFileSync(at('user/Machine/settings.json'), JSON.stringify({ 'adjutant.server.path': serverPath }));
  // Discard: nothing listens on port 9 of this machine.
  const nowhere = 'http://127.0.0.1:9';
  const env = {
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    HOME: at('home'),
    XDG_CONFIG_HOME: at('home'),
    XDG_DATA_HOME: at('home'),
    EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: nowhere, itemUrl: nowhere, resourceUrlTemplate: nowhere }),
  };
  const folders = ['--user-data-dir', at('user'), '--extensions-dir', at('extensions')];
  execFileSync(codeServer, [...folders, '--install-extension', extension], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const port = await freePort();
  const log = openSync(at('code-server.log'), 'w');
  const child = spawn(codeServer, [
    ...folders, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry', '--disable-update-check',
    '--disable-workspace-trust', '--disable-getting-started-override',
  ], { env, detached: true, stdio: ['ignore', log, log] });
  const until = Date.now() + 60_000;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (answer?.ok) break;
    if (Date.now() > until || child.exitCode !== null) throw new Error(`code-server did not start; see ${at('code-server.log')}`);
    await new Promise((go) => setTimeout(go, 100));
  }
  return {
    authority: `127.0.0.1:${port}`,
    // The whole group: extension hosts and the servers they started are children of it.
    stop: () => process.kill(-child.pid, 'SIGTERM'),
  };
}

export async function startBrowser({ driver }) {
  const { chromium } = createRequire(path.join(driver, 'package.json'))('playwright-core');
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}
