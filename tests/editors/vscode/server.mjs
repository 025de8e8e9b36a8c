// Starts code-server and a browser, both on loopback and in their own folders.
// Never touches the user's settings, and never asks an extension gallery.
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
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
  // What listens on this computer belongs to the tests.
  'remote.autoForwardPorts': false,
  'security.workspace.trust.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'window.commandCenter': false,
  'window.restoreWindows': 'none',
  'workbench.enableExperiments': false,
  'workbench.layoutControl.enabled': false,
  'workbench.startupEditor': 'none',
  // Only then is the text of a terminal in the page.
  'terminal.integrated.gpuAcceleration': 'off',
  'workbench.tips.enabled': false,
};

// The line with its address: code-server chooses a free port.
const LISTENS = /HTTP server listening on http:\/\/(127\.0\.0\.1:\d+)/;

/** Returns the address that a started process listens on, and copies all its output to a file. */
function listening(child, file) {
  const log = createWriteStream(file);
  return new Promise((found, failed) => {
    const giveUp = (why) => failed(new Error(`code-server did not start: ${why}; see ${file}`));
    const limit = setTimeout(giveUp, 60_000, 'it does not listen after 60 s');
    child.on('error', (error) => giveUp(error.message));
    child.on('exit', (code) => giveUp(`it ended with ${code}`));
    let said = '';
    const look = (bytes) => {
      said += bytes;
      const place = LISTENS.exec(said);
      if (!place) return;
      clearTimeout(limit);
      child.stdout.off('data', look);
      found(place[1]);
    };
    child.stdout.on('data', look);
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
  });
}

// `serverPath` is what a user sets who has the program elsewhere than in the extension; `variables` is what the machine has of its own.
export async function startCodeServer({ codeServer, extension, scratch, serverPath, variables }) {
  const at = (name) => path.join(scratch, name);
  for (const folder of ['home', 'extensions', 'user/User', 'user/Machine']) mkdirSync(at(folder), { recursive: true });
  const settle = () => writeFileSync(at('user/User/settings.json'), JSON.stringify(SETTINGS));
  settle();
  // VS Code reads this path only from the settings of the machine that the server runs on.
  if (serverPath) writeFileSync(at('user/Machine/settings.json'), JSON.stringify({ 'adjutant.server.path': serverPath }));
  // The discard port: no program listens on port 9 of this machine.
  const nowhere = 'http://127.0.0.1:9';
  const env = {
    ...variables,
    PATH: process.env.PATH,
    LANG: 'C.UTF-8',
    HOME: at('home'),
    XDG_CONFIG_HOME: at('home'),
    XDG_DATA_HOME: at('home'),
    EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: nowhere, itemUrl: nowhere, resourceUrlTemplate: nowhere }),
  };
  const folders = ['--user-data-dir', at('user'), '--extensions-dir', at('extensions')];
  execFileSync(codeServer, [...folders, '--install-extension', extension], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const child = spawn(codeServer, [
    ...folders, '--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry', '--disable-update-check',
    '--disable-workspace-trust', '--disable-getting-started-override',
  ], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const authority = await listening(child, at('code-server.log'));
  return {
    authority,
    // Takes back what a user has set.
    settle,
    // The whole process group, with the extension hosts and the servers they started.
    stop: () => new Promise((ended) => {
      child.once('exit', ended);
      process.kill(-child.pid, 'SIGTERM');
    }),
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
