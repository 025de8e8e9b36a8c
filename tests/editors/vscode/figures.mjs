// Measures a window of VS Code for the bench: when something is on the screen, how long a typed character takes, what the page is
// sent, and memory. All times are milliseconds of the wall clock. Never decides whether a figure is good.
import { readFileSync } from 'node:fs';

// Notes in a frame when an element first shows a text, after the picture with it was drawn.
function note([selector, text]) {
  const now = () => performance.timeOrigin + performance.now();
  const notes = (globalThis.adjutantNotes ??= {});
  const drawn = (then) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = then;
    port2.postMessage('');
  });
  const watch = new MutationObserver(() => {
    const shown = [...document.querySelectorAll(selector)].some((one) => one.textContent.replaceAll('\u00a0', ' ').includes(text));
    if (!shown) return;
    watch.disconnect();
    drawn(() => { notes[text] = now(); });
  });
  watch.observe(document.body, { subtree: true, childList: true, characterData: true });
}

// The frame of the chat's page.
const chatOf = async (window) => (await window.chat.locator('body').elementHandle()).ownerFrame();

export const noteInChat = async (window, text) => (await chatOf(window)).evaluate(note, ['#items', text]);
export const noteInEditor = (window, text) => window.page.evaluate(note, ['.editor-group-container.active .view-lines', text]);
export async function notedInChat(window, text) {
  return window.chat.locator('body').evaluate((_, text) => globalThis.adjutantNotes?.[text], text);
}
export async function notedInEditor(window, text) {
  return window.page.evaluate((text) => globalThis.adjutantNotes?.[text], text);
}

// Returns how many runs have ended in the chat.
export const chatEnds = (window) => window.chat.locator('.end').count();

// Returns how long the extension took to load and to be called, as VS Code measured it.
export async function activation(window) {
  await window.palette('Developer: Show Running Extensions');
  const row = window.page.locator('.runtime-extensions-editor .monaco-list-row', { hasText: /adjutant/i }).first();
  const time = row.locator('.activation-time');
  await time.filter({ hasText: /\d/ }).waitFor();
  return Number(/(\d+)\s*ms/.exec(await time.innerText())[1]);
}

// Chooses a conversation in the list that is open; returns when.
export async function openConversation(window, title) {
  const row = window.page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row', { hasText: title }).first();
  await row.waitFor();
  const at = await window.page.evaluate(() => performance.timeOrigin + performance.now());
  await window.page.keyboard.press('Enter');
  return at;
}

// Counts from now on the messages to the page of the chat.
export async function countMessages(window) {
  await window.chat.locator('body').evaluate(() => {
    if (globalThis.adjutantDraws) return void (globalThis.adjutantDraws.length = 0);
    globalThis.adjutantDraws = [];
    addEventListener('message', ({ data }) => { if (data?.type === 'draw') globalThis.adjutantDraws.push(performance.now()); });
  });
}

// Returns the most messages that came within one second, and how many there were.
export async function countedMessages(window) {
  const times = await window.chat.locator('body').evaluate(() => globalThis.adjutantDraws);
  let [most, from] = [0, 0];
  times.forEach((time, at) => {
    while (times[from] <= time - 1_000) from++;
    most = Math.max(most, at - from + 1);
  });
  return { most, all: times.length };
}

// Types at an even pace into the editor. Returns for each character the time until the picture with it was drawn.
export async function typing(window, seconds) {
  await window.page.evaluate(() => {
    const pending = [];
    const taken = (globalThis.adjutantTyped = []);
    addEventListener('keydown', (event) => pending.push(event.timeStamp), true);
    new MutationObserver(() => {
      if (pending.length === 0) return;
      const keys = pending.splice(0);
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => keys.forEach((key) => taken.push(performance.now() - key));
        port2.postMessage('');
      });
    }).observe(document.querySelector('.editor-group-container.active .view-lines'), { subtree: true, childList: true, characterData: true });
  });
  await window.key('Control+End');
  await window.page.evaluate(() => { globalThis.adjutantTyped.length = 0; });
  const until = Date.now() + 1_000 * seconds;
  for (let typed = 1; Date.now() < until; typed++) {
    await window.page.keyboard.press(typed % 40 === 0 ? 'Enter' : 'x');
    await window.page.waitForTimeout(100);
  }
  return window.page.evaluate(() => globalThis.adjutantTyped);
}

// Returns the megabytes of the page's scripts after a collection, and of all processes that draw pages.
export async function memory(window) {
  const session = await window.context.newCDPSession(window.page);
  await session.send('Performance.enable');
  for (let time = 0; time < 3; time++) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  await session.detach();
  const browser = await window.context.browser().newBrowserCDPSession();
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  await browser.detach();
  const resident = ({ id }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0) * 1_024;
  const renderers = processInfo.filter(({ type }) => type === 'renderer');
  const named = (name) => metrics.find((one) => one.name === name).value;
  return { heap: named('JSHeapUsedSize') / 1e6, nodes: named('Nodes'), resident: renderers.map(resident).reduce((a, b) => a + b, 0) / 1e6 };
}
