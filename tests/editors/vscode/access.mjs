// Whether everyone can use the page of the chat: what axe-core finds, colours that no theme sets, texts that their box cuts, errors in
// the console, and what the Tab key reaches. Never presses a button.
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const chatOf = async (window) => (await window.chat.locator('body').elementHandle()).ownerFrame();

// In the page: colours that resolve to nothing, with their rule.
function unresolved() {
  const root = getComputedStyle(document.documentElement);
  const wrong = [];
  // Reads from after the opening bracket; returns the place after the closing one, and whether it has a value.
  const read = (text, from) => {
    let [depth, at] = [1, from];
    for (; depth > 0 && at < text.length; at++) depth += text[at] === '(' ? 1 : text[at] === ')' ? -1 : 0;
    const [name, ...rest] = text.slice(from, at - 1).split(',');
    const fallback = rest.join(',').trim();
    return [at, root.getPropertyValue(name.trim()) !== '' || (fallback !== '' && all(fallback))];
  };
  const all = (text) => {
    for (let at = text.indexOf('var('); at >= 0; at = text.indexOf('var(', at)) {
      const [after, hasValue] = read(text, at + 4);
      if (!hasValue) return false;
      at = after;
    }
    return true;
  };
  const rules = [...document.styleSheets].filter(({ ownerNode }) => ownerNode?.id === 'style').flatMap(({ cssRules }) => [...cssRules]);
  if (rules.length === 0) wrong.push('the style sheet of the chat is not there');
  const place = (rule) => `${rule.selectorText}`;
  for (const rule of rules) {
    for (const part of rule.cssText.split(/[{;]/).filter((one) => one.includes('var(--vscode-'))) {
      if (!all(part)) wrong.push(`no colour: ${place(rule)} {${part.trim()}}`);
    }
  }
  return wrong;
}

// In the page: texts that are wider or higher than the box they are cut by.
function cut() {
  const scrolls = (one) => one && (['auto', 'scroll'].includes(getComputedStyle(one).overflowX) && one.id !== 'items' || scrolls(one.parentElement));
  const hides = (one, way) => ['hidden', 'clip'].includes(getComputedStyle(one)[`overflow${way}`]);
  return [...document.querySelectorAll('body *')].filter((one) => one.offsetParent && one.innerText?.trim() && one.id !== 'items').filter((one) =>
    (hides(one, 'X') && one.scrollWidth > one.clientWidth + 1) || (hides(one, 'Y') && one.scrollHeight > one.clientHeight + 1) || (!scrolls(one.parentElement) && one.getBoundingClientRect().right > innerWidth + 1))
    .map((one) => `cut: ${one.tagName} ${one.className} ${one.innerText.slice(0, 60)}`);
}

// Returns everything that is wrong with the page as it is drawn now.
export async function chatFlaws(window) {
  const frame = await chatOf(window);
  if (!(await frame.evaluate(() => 'axe' in globalThis))) {
    await frame.evaluate(await readFile(path.join(window.driver, 'node_modules/axe-core/axe.min.js'), 'utf8'));
  }
  const found = await frame.evaluate(async () => {
    // The page is drawn on the side bar, which axe cannot see.
    document.documentElement.style.background = 'var(--vscode-sideBar-background)';
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    document.documentElement.style.background = '';
    return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).flatMap(({ id, nodes }) => nodes.map(({ html, any, all }) => `${id}: ${html.slice(0, 160)} ${[...any, ...all].map(({ message }) => message).join(' ').slice(0, 160)}`));
  });
  return [...found, ...await frame.evaluate(unresolved), ...await frame.evaluate(cut), ...window.chatErrors.map((one) => `console: ${one}`)];
}

// Goes through the page with the Tab key, from its begin. Returns what can be used and was not reached, and what was reached without
// a mark of the focus.
export async function chatTabs(window) {
  const frame = await chatOf(window);
  await frame.evaluate(() => {
    const usable = 'button:not(:disabled), summary, input:not(:disabled), textarea:not(:disabled), [tabindex="0"]';
    globalThis.adjutantTabs = new Set([...document.querySelectorAll(usable)].filter((one) => one.checkVisibility()));
    document.getElementById('items').focus();
  });
  const wrong = [];
  for (let presses = 0; presses < 100; presses++) {
    const { left, bare, all } = await frame.evaluate(() => {
      const one = document.activeElement;
      const name = (of) => `${of.tagName} ${of.title || of.textContent.slice(0, 40)}`;
      globalThis.adjutantTabs.delete(one);
      const style = getComputedStyle(one);
      const isMarked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
      return { all: [...globalThis.adjutantTabs].map(name), left: one === document.body || !document.hasFocus(), bare: one !== document.body && one.matches(':focus-visible') && !isMarked && name(one) };
    });
    if (bare) wrong.push(`no mark of the focus: ${bare}`);
    if (all.length === 0 || (left && presses > 0)) return [...new Set([...wrong, ...all.map((one) => `not reached: ${one}`)])];
    await window.page.keyboard.press('Tab');
  }
  return ['the focus does not come to an end'];
}
