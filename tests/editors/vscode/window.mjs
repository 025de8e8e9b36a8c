// One window of VS Code: the actions of a user and the content of the screen.
// Never waits for a fixed time, only for content of the screen; the caller names it.
import path from 'node:path';

const PATIENCE = 30_000;

export class Window {
  static async open(browser, authority, pictures, folder, file) {
    const context = await browser.newContext({ viewport: { width: 1100, height: 700 }, colorScheme: 'dark', permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const remote = (of) => `vscode-remote://${authority}${of}`;
    const payload = encodeURIComponent(JSON.stringify([['openFile', remote(path.join(folder, file))]]));
    const address = `http://${authority}/?folder=${encodeURIComponent(folder)}&payload=${payload}`;
    // The browser may still have a connection of a tunnel that was cut; a user loads the page again.
    await page.goto(address).catch((error) => {
      if (!/net::ERR_(CONNECTION|SOCKET)/.test(error.message)) throw error;
      return page.goto(address);
    });
    await page.locator('.tab.active', { hasText: path.basename(file) }).waitFor({ timeout: 2 * PATIENCE });
    await page.locator('.editor-group-container.active .view-line').first().waitFor();
    return new Window(page, context, pictures);
  }

  constructor(page, context, pictures) {
    Object.assign(this, { page, context, pictures });
    this.editor = page.locator('.editor-group-container.active .monaco-editor').first();
    this.toasts = page.locator('.notification-toast');
    // Errors that the page of the chat makes; VS Code has its own.
    this.chatErrors = [];
    page.on('console', (said) => {
      const { url } = said.location();
      if (said.type() === 'error' && /\/dist\/chat\.|fake\.html/.test(url)) this.chatErrors.push(said.text());
    });
    page.on('pageerror', (error) => { if (/\/dist\/chat\./.test(error.stack ?? '')) this.chatErrors.push(String(error)); });
  }

  async close() {
    await this.context.close();
  }

  // Reloads the window, as *Developer: Reload Window* does.
  async reload(file) {
    await this.page.reload();
    await this.page.locator('.tab.active', { hasText: file }).waitFor({ timeout: 2 * PATIENCE });
    await this.page.locator('.editor-group-container.active .view-line').first().waitFor();
  }

  // Opens a file by its name.
  async openFile(name) {
    await this.page.keyboard.press('Control+p');
    await this.input('', name);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
    await this.page.locator('.tab.active', { hasText: name }).waitFor();
  }

  // Returns of each group of editors its active tab, whether the user is in it, and the lines that are drawn and marked there.
  async groups() {
    return this.page.locator('.editor-group-container').evaluateAll((groups) => groups.map((group) => ({
      tab: group.querySelector('.tab.active')?.innerText.replace(/\s+/g, ' ').trim() ?? '',
      active: group.classList.contains('active'),
      lines: [...group.querySelectorAll('.view-lines > *')].map((line) => line.textContent.replaceAll('\u00a0', ' ')),
      marked: group.querySelectorAll('.view-overlays [class*="ced-"]').length,
    })));
  }

  // Returns the labels of the tabs.
  async tabs() {
    return (await this.page.locator('.tab').allInnerTexts()).map((one) => one.replace(/\s+/g, ' ').trim());
  }

  async closeTab(title) {
    await this.page.locator('.tab', { hasText: title }).click({ button: 'middle' });
  }

  async picture(name) {
    await this.page.screenshot({ path: path.join(this.pictures, `${name}.png`) });
  }

  async resize(width, height) {
    await this.page.setViewportSize({ width, height });
  }

  // Opens or closes a view of the side bar, by its number from the top.
  async viewPress(number) {
    await this.page.locator('.sidebar .pane-header').nth(number).click({ position: { x: 12, y: 10 } });
  }

  // Returns each view of the side bar, from the top, and whether it is open.
  async views() {
    return this.page.locator('.sidebar .pane-header').evaluateAll((all) => all.map((one) => `${one.querySelector('.title').textContent}: ${one.classList.contains('expanded') ? 'open' : 'closed'}`));
  }

  // Runs a command of the palette, by its whole title.
  async palette(title) {
    // A page that is just opening takes the key, or closes the palette again. A box that is still closing is not the palette.
    const opened = () => [...document.querySelectorAll('.quick-input-widget input')].some((box) => box.checkVisibility() && box.value === '>');
    const box = this.page.locator('.quick-input-widget input:visible');
    const label = `[aria-label="${title}"], [aria-label^="${title}, "]`;
    const row = this.page.locator('.quick-input-list .monaco-list-row').and(this.page.locator(label));
    const soon = { timeout: 5_000 };
    for (let tries = 1; ; tries++) {
      try {
        await this.page.keyboard.press('F1');
        await this.page.waitForFunction(opened, null, soon);
        await box.fill(`>${title}`, soon);
        return await row.click(soon);
      } catch (error) {
        if (tries === 6) throw error;
      }
    }
  }

  async input(of, text) {
    const input = this.page.locator('.quick-input-widget:visible', { hasText: of }).locator('input:visible').first();
    await input.waitFor();
    await input.focus();
    await this.page.keyboard.type(text);
  }

  // The page of the chat, which stands in two frames of its own.
  get chat() {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
  }

  // Opens the chat and waits for its page.
  async chatOpen() {
    await this.palette('Adjutant: Open Chat');
    await this.chat.locator('#composer').waitFor();
  }

  async chatPlaceholder() {
    return this.chat.locator('#text').getAttribute('placeholder');
  }

  // Presses the button that each prompt of the chat has, as the pointer finds it.
  async chatFork(text) {
    const prompt = this.chat.locator('article.prompt', { hasText: text });
    await prompt.hover();
    await prompt.getByRole('button', { name: 'Fork from Here' }).click();
  }

  // Returns what the chat shows: each item as a line, without the button of each prompt, the plan, the foot, and how many links, pictures and parts that are
  // cut off there are.
  async chatShows() {
    return this.chat.locator('body').evaluate((body) => {
      const one = (id) => body.querySelector(id);
      const parts = [...body.querySelectorAll('article, #composer, #foot > *')];
      return {
        items: [...one('#items').children].filter((item) => item.className !== 'questions' && item.offsetParent).map((item) => `${item.className}: ${item.innerText.replace(/\s+/g, ' ').trim().replace(/ Fork from Here$/, '')}`),
        plan: one('#plan').innerText.replace(/\s+/g, ' ').trim(),
        state: one('#state').textContent,
        options: [...one('#options').children].map((button) => button.innerText.trim()),
        send: one('#send').textContent,
        box: !one('#composer').hidden,
        draft: one('#text').value,
        problem: one('#problem').hidden ? '' : one('#problem').textContent,
        links: body.querySelectorAll('a').length,
        pictures: body.querySelectorAll('img, iframe, object').length,
        cut: parts.filter((part) => part.getBoundingClientRect().right > innerWidth + 1).length,
      };
    });
  }

  // Returns the first question in the chat, with its answers that can be given; nothing without one.
  async card() {
    const card = this.chat.locator('.question').first();
    // The frames come one in the other, and go with the chat.
    if (!(await card.count().catch(() => 0))) return undefined;
    return card.evaluate((one) => ({
      text: one.innerText.replaceAll('\u00a0', ' ').trim(),
      buttons: [...one.querySelectorAll('button')].map((button) => button.innerText.trim()),
      dead: [...one.querySelectorAll('button:disabled')].map((button) => button.innerText.trim()),
      words: one.querySelector('input')?.value,
      hint: [...one.querySelectorAll('.note')].some((note) => !note.hidden && note.innerText.includes('once you have seen')),
      links: one.querySelectorAll('a').length,
    }), undefined, { timeout: 5_000 }).catch(() => undefined);
  }

  cardButton(label) {
    return this.chat.locator('.question button').filter({ hasText: new RegExp(`^\\s*${label}`) }).first();
  }

  async cardPress(label) {
    await this.cardButton(label).click();
  }

  async cardType(text) {
    await this.chat.locator('.question input').first().click();
    await this.page.keyboard.type(text);
  }

  async cardEnd() {
    await this.chat.locator('#items').evaluate((scroller) => { scroller.scrollTop = scroller.scrollHeight; });
  }

  // Presses a key wherever the focus is.
  async pageKey(name) {
    await this.page.keyboard.press(name);
  }

  async cardKey(name) {
    await this.chat.locator('.question').first().press(name);
  }

  // Goes to the end of a question, as one who reads it does.
  async cardRead() {
    await this.chat.locator('.question').first().evaluate(async (one) => {
      const scroller = document.getElementById('items');
      const inner = one.querySelector('.whole');
      const step = Math.max(40, scroller.clientHeight - 40);
      const frame = () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      for (scroller.scrollTop = one.parentElement.offsetTop; ; scroller.scrollTop += step) {
        await frame();
        // All of the question that scrolls by itself, as soon as it is in sight.
        for (let at = 0; inner && at < inner.scrollHeight; at += Math.max(20, inner.clientHeight - 20)) {
          inner.scrollTop = at;
          await frame();
        }
        if (scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1) return;
      }
    });
  }

  // Returns the parts of a question that its box cuts off at a side.
  async cardOutside() {
    return this.chat.locator('.question .whole').first().evaluate((whole) => {
      const end = whole.getBoundingClientRect().right + 1;
      return [...whole.querySelectorAll('span, bdi')].filter((one) => one.getBoundingClientRect().right > end).map((one) => one.innerText);
    });
  }

  // Presses an answer again and again from the moment when it appears, faster than a hand, until the question is gone. Returns how many
  // milliseconds that took. To be called before the question comes.
  async cardHammer(label) {
    return this.chat.locator('body').evaluate(async (body, label) => {
      const find = () => [...body.querySelectorAll('.question button')].find((button) => button.innerText.trim() === label);
      const turn = () => new Promise((next) => setTimeout(next, 5));
      while (!find()) await turn();
      const since = performance.now();
      for (let button; (button = find()); await turn()) button.click();
      return performance.now() - since;
    }, label);
  }

  async chatType(text) {
    await this.chat.locator('#text').click();
    await this.page.keyboard.type(text);
  }

  // Returns the list below which the user types: each line, the chosen one with a mark, and whether a screen reader is led to it.
  async chatCompletions() {
    return this.chat.locator('body').evaluate((body) => {
      const [list, box] = ['#completions', '#text'].map((one) => body.querySelector(one));
      const is = { items: [], led: false, inside: true };
      if (list.hidden) return is;
      const chosen = list.querySelector('[aria-selected="true"]');
      const [{ left, right, top }, words] = [list.getBoundingClientRect(), (one) => one.innerText.replace(/\s+/g, ' ').trim()];
      return {
        items: [...list.children].map((one) => `${one === chosen ? '> ' : ''}${words(one)}`),
        led: box.getAttribute('aria-activedescendant') === chosen?.id && box.getAttribute('aria-controls') === list.id && document.activeElement === box,
        inside: left >= 0 && right <= innerWidth && top >= 0 && [...list.children].every((one) => one.getBoundingClientRect().right <= right),
      };
    });
  }

  async chatComplete(label) {
    await this.chat.locator('#completions > li', { hasText: label }).click();
  }

  async chatKey(name) {
    await this.chat.locator('#text').press(name);
  }

  async chatPress(label) {
    await this.chat.locator('button:visible', { hasText: label }).first().click();
  }

  // Returns what is attached to the prompt: the label of each chip, whether it has a picture, and how screen readers name its buttons.
  async chatChips() {
    const of = (chips) => chips.map((chip) => ({
      label: chip.querySelector('.name').innerText.trim(),
      picture: (chip.querySelector('img')?.naturalWidth ?? 0) > 0,
      buttons: [...chip.querySelectorAll('button')].map((button) => button.getAttribute('aria-label') ?? button.title),
    }));
    // The frames come one in the other.
    return this.chat.locator('#chips:not([hidden]) > .chip').evaluateAll(of).catch(() => undefined);
  }

  // Pastes or drops files into the box, as the browser does: no script of a page can put a file into the clipboard of a browser
  // without a screen.
  async chatFiles(way, files) {
    await this.chat.locator('#text').evaluate((box, { way, files }) => {
      const transfer = new DataTransfer();
      for (const { name, type, data, text, uris } of files) {
        if (uris) transfer.setData('text/uri-list', uris);
        else if (text) transfer.setData('text/plain', text);
        else transfer.items.add(new File([Uint8Array.from(atob(data), (one) => one.charCodeAt(0))], name, { type }));
      }
      const of = { bubbles: true, cancelable: true };
      box.dispatchEvent(way === 'paste' ? new ClipboardEvent('paste', { ...of, clipboardData: transfer }) : new DragEvent('drop', { ...of, dataTransfer: transfer }));
    }, { way, files });
  }

  // Returns what has the focus in the page of the chat: its name for screen readers, or its id.
  async chatFocus() {
    return this.chat.locator('body').evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.id, undefined, { timeout: 5_000 }).catch(() => undefined);
  }

  // Chooses an entry of the context menu of the editor, by the keyboard.
  async editorMenu(label) {
    await this.key('Shift+F10');
    await this.pressMenu(label);
  }

  // Folds or unfolds the change of a file, by its number from the top.
  async chatFold(file, number) {
    await this.chat.locator(`.fold[aria-label^="Lines of ${file}"]`).nth(number).click();
  }

  // Folds or unfolds a step.
  async chatStep(text) {
    await this.chat.locator('.tool summary', { hasText: text }).first().click();
  }

  // Returns what is drawn of each step.
  async chatSteps() {
    return this.chat.locator('.tool').evaluateAll((steps) => steps.map((step) => step.innerText));
  }

  // Returns the lines of each change that is unfolded.
  async chatLines() {
    const lines = (places) => places.map((place) => [...place.querySelectorAll('.line')].map((line) => line.innerText.replaceAll('\u00a0', ' ')));
    return this.chat.locator('.change .subject').evaluateAll(lines);
  }

  // Empties an input box.
  async clear(of) {
    const input = this.page.locator('.quick-input-widget:visible', { hasText: of }).locator('input:visible').first();
    await input.waitFor();
    await input.fill('');
  }

  // Opens a walkthrough by its title.
  async walkthroughOpen(title) {
    await this.palette('Welcome: Open Walkthrough...');
    await this.input('', title);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
    await this.page.locator('.getting-started-step').first().waitFor();
  }

  // Returns the titles of the steps that are checked.
  walkthroughDone() {
    return this.page.locator('.getting-started-step:has(.codicon.complete) .step-title').allInnerTexts();
  }

  // The list of the conversations.
  // Returns the titles of the views in the side bar, from the top.
  viewTitles() {
    return this.page.locator('.sidebar .pane-header .title').allTextContents();
  }

  get sessions() {
    return this.page.locator('.sidebar .pane', { has: this.page.locator('.pane-header[aria-label^="Conversations"]') });
  }

  // Goes to the list of the conversations, by the keyboard.
  async sessionsOpen() {
    await this.palette('Adjutant: Focus on Conversations View');
    await this.sessions.locator('.pane-header.expanded').waitFor();
  }

  // Returns the rows of the list, or what stands in its place.
  async sessionRows() {
    const rows = await this.sessions.locator('.monaco-list-row').evaluateAll((all) => all.map((row) =>
      ['.label-name', '.label-description'].map((part) => row.querySelector(part)?.innerText).filter(Boolean).join(' | ')));
    const welcome = await this.sessions.locator('.welcome-view-content:visible').allInnerTexts();
    return [...rows, ...(rows.length ? [] : welcome)].map((one) => one.replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim());
  }

  async sessionClick(row) {
    await this.sessions.locator('.monaco-list-row', { hasText: row }).first().click();
  }

  // Returns the entries of the context menu of a row.
  async sessionMenu(row) {
    await this.sessions.locator('.monaco-list-row', { hasText: row }).first().click({ button: 'right' });
    const labels = this.page.locator('.monaco-menu .action-item .action-label:not(.separator)');
    await labels.first().waitFor();
    return (await labels.allInnerTexts()).map((one) => one.trim());
  }

  // Presses a key in the context menu.
  async menuKey(name) {
    await this.page.locator('.monaco-menu .action-item').first().waitFor();
    await this.page.keyboard.press(name);
  }

  // Presses an entry of the context menu. A menu that has just come takes no press yet; a user presses again.
  async pressMenu(label) {
    const entry = this.page.locator('.monaco-menu .action-item .action-label', { hasText: label }).first();
    for (let tries = 1; ; tries++) {
      await entry.click();
      try {
        return await entry.waitFor({ state: 'hidden', timeout: 1_000 });
      } catch (error) {
        if (tries === 6) throw error;
      }
    }
  }

  // Returns the text of the side bar.
  async sidebar() {
    return this.page.locator('.sidebar').innerText();
  }

  // Returns the text of an input box before the user types.
  async draft(of) {
    const box = this.page.locator('.quick-input-widget:visible', { hasText: of });
    await box.waitFor();
    return box.locator('input:visible').first().inputValue();
  }

  // Starts a task with the command of the extension.
  async command(text) {
    await this.begin(text);
    await this.confirm();
  }

  async begin(text) {
    await this.palette('Adjutant: Start a Task');
    await this.input('What is to be done?', text);
  }

  async confirm() {
    await this.page.keyboard.press('Enter');
  }

  async focus() {
    await this.editor.locator('textarea, .native-edit-context').first().focus();
  }

  async key(name) {
    await this.focus();
    await this.page.keyboard.press(name);
  }

  async type(text) {
    await this.focus();
    await this.page.keyboard.type(text);
  }

  async goTo(line) {
    await this.key('Control+g');
    await this.input('', String(line));
    await this.page.keyboard.press('Enter');
  }

  // Chooses a code action at the cursor with `Ctrl+.` and the arrow keys.
  async action(title) {
    const row = '.action-widget .monaco-list-row.action';
    await this.openActions(this.page.locator(row, { hasText: title }).first());
    const focused = this.page.locator(`${row}.focused`, { hasText: title });
    for (let at = 0; at < 20 && !(await focused.count()); at++) await this.page.keyboard.press('ArrowDown');
    await focused.waitFor();
    await this.page.keyboard.press('Enter');
  }

  async actions() {
    const rows = this.page.locator('.action-widget .monaco-list-row.action');
    await this.openActions(rows.first());
    const titles = await rows.allInnerTexts();
    await this.page.keyboard.press('Escape');
    return titles.map((one) => one.trim());
  }

  // Opens the menu of code actions. The editor closes it whenever something else takes its focus, and a user presses
  // again; after six times it is a failure that says what the editor shows instead.
  async openActions(row) {
    for (let tries = 1; ; tries++) {
      await this.key('Control+.');
      try {
        return await row.waitFor({ timeout: 5_000 });
      } catch (error) {
        const shown = await this.page.locator('.action-widget, .monaco-editor-overlaymessage').allInnerTexts();
        if (tries === 6) throw new Error(`no such code action after ${tries} times; shown: ${JSON.stringify(shown)}\n${error}`);
        await this.page.keyboard.press('Escape');
      }
    }
  }

  // Returns the drawn text of the active editor; files of a test fit the screen.
  async buffer() {
    return this.editor.locator('.view-lines').first().evaluate((lines) => [...lines.children]
      .sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))
      .map((line) => line.textContent.replaceAll('\u00a0', ' ').replaceAll('\u200b', '')).join('\n'));
  }

  async allText() {
    const texts = await this.page.locator('.editor-group-container .view-lines').evaluateAll((all) => all.map((lines) => lines.innerText));
    return texts.join('\n').replaceAll('\u00a0', ' ');
  }

  // Returns what the terminals show.
  async terminals() {
    const rows = await this.page.locator('.terminal.xterm .xterm-rows').allInnerTexts();
    return rows.join('\n').replaceAll('\u00a0', ' ');
  }

  // Returns the text of each line with a background of an extension.
  async coloured() {
    return this.editor.evaluate((editor) => {
      const top = (one) => Math.round(one.getBoundingClientRect().top);
      const lines = new Map([...editor.querySelectorAll('.view-lines > .view-line')].map((line) => [top(line), line.textContent.replaceAll('\u00a0', ' ')]));
      const marked = [...editor.querySelectorAll('.view-overlays > div')].filter((one) => one.querySelector('.cdr[class*="TextEditorDecorationType"]'));
      return marked.map(top).sort((a, b) => a - b).map((at) => lines.get(at));
    });
  }

  // Returns the texts of an extension behind lines, from top to bottom.
  async remarks() {
    return this.editor.evaluate((editor) => [...editor.querySelectorAll('.view-lines > .view-line')]
      .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
      .flatMap((line) => [...line.querySelectorAll('[class*="TextEditorDecorationType"]')].map((one) => getComputedStyle(one, '::after').content.replace(/^"|"$/g, '')))
      .filter((text) => text !== 'none'));
  }

  // Returns each row of code lenses, with the line below it.
  async lenses() {
    return this.editor.evaluate((editor) => {
      const lines = [...editor.querySelectorAll('.view-lines > .view-line')].map((line) => [line.getBoundingClientRect().top, line.textContent.replaceAll('\u00a0', ' ')]).sort((a, b) => a[0] - b[0]);
      const rows = [...editor.querySelectorAll('.codelens-decoration')].filter((row) => row.getBoundingClientRect().height > 0 && row.innerText.trim());
      return rows.map((row) => {
        const { bottom } = row.getBoundingClientRect();
        return { labels: row.innerText.replace(/\s+/g, ' ').trim(), line: lines.find(([top]) => top > bottom - 8)?.[1] ?? '' };
      }).sort((a, b) => a.line.localeCompare(b.line));
    });
  }

  // Presses a lens in the row above a line. Lenses come a moment after the colours, and move when others appear.
  async pressLens(title, line) {
    const rows = this.editor.locator('.codelens-decoration');
    for (let tries = 1; ; tries++) {
      const below = await this.editor.locator('.view-lines > .view-line', { hasText: line }).first().boundingBox();
      for (const row of below ? await rows.all() : []) {
        const box = await row.boundingBox();
        if (!box?.height || Math.abs(box.y + box.height - below.y) >= 8) continue;
        const lens = row.locator('a', { hasText: title });
        if (await lens.count()) return lens.first().click();
      }
      if (tries === 50) throw new Error(`no lens ${title} above ${line}: ${JSON.stringify(await this.lenses())}`);
      await this.page.waitForTimeout(100);
    }
  }

  // Returns the hover at the cursor that has a part, and the number of its links. The editor shows that it is loading
  // first, and closes the hover when the text is drawn anew; a user asks again.
  async hover(part) {
    const hover = this.page.locator('.monaco-hover:visible .monaco-hover-content', { hasText: part }).first();
    for (let tries = 1; ; tries++) {
      await this.key('Control+k');
      await this.page.keyboard.press('Control+i');
      try {
        await hover.waitFor({ timeout: 5_000 });
        const text = (await hover.innerText({ timeout: 5_000 })).replaceAll('\u00a0', ' ');
        return { text, links: await hover.locator('a[href], a[data-href]').count(), pictures: await hover.locator('img').count() };
      } catch (error) {
        const shown = await this.page.locator('.monaco-hover:visible').allInnerTexts();
        if (tries === 6) throw new Error(`no such hover after ${tries} times; shown: ${JSON.stringify(shown)}\n${error}`);
        await this.page.keyboard.press('Escape');
      }
    }
  }

  // Returns the rows of the list of changes, and the number on its badge.
  async list() {
    const rows = this.page.locator('.sidebar .monaco-list-row');
    const badge = this.page.locator('.activitybar .action-item', { has: this.page.locator('[aria-label^="Adjutant"]') }).locator('.badge-content');
    return {
      rows: (await rows.allInnerTexts()).map((one) => one.replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim()),
      badge: (await badge.count()) ? await badge.first().innerText() : '',
    };
  }

  // Presses a button in a row of the list. The button is there while the pointer is on the row, and rows move when the list
  // is sorted anew; a user goes after the row.
  async pressRow(row, title) {
    const place = this.page.locator('.sidebar .monaco-list-row', { hasText: row }).first();
    for (let tries = 1; ; tries++) {
      try {
        await place.hover({ timeout: 5_000 });
        return await place.locator(`.action-label[aria-label^="${title}"]`).click({ timeout: 1_000 });
      } catch (error) {
        if (tries === 6) throw error;
      }
    }
  }

  // Presses two keys in turn, again and again. After each, the text, the coloured lines and the number of rows in the list
  // must become those that belong to the key. Returns what they are instead, and of which round.
  async backAndForth(rounds, ...steps) {
    for (let round = 1; round <= rounds; round++) {
      for (const [key, wanted] of steps) {
        await this.key(key);
        let now;
        for (const until = Date.now() + PATIENCE; JSON.stringify(now) !== JSON.stringify(wanted);) {
          if (Date.now() > until) return { round, key, now };
          now = [await this.buffer(), await this.coloured(), (await this.list()).rows.length];
        }
      }
    }
    return 'all';
  }

  // Returns the labels of the buttons in the title of the editor.
  async titleButtons() {
    const buttons = this.page.locator('.editor-group-container.active .editor-actions .action-label');
    return buttons.evaluateAll((all) => all.map((one) => one.innerText.trim() || one.getAttribute('aria-label')));
  }

  async pressTitle(label) {
    await this.page.locator(`.editor-group-container.active .editor-actions .action-label[aria-label^="${label}"]`).first().click();
  }

  // Waits for the colours of a theme: vs is light, vs-dark is dark.
  async themed(name) {
    await this.page.locator(`.monaco-workbench.${name}`).waitFor();
  }

  // Chooses a colour theme by its name.
  async theme(name) {
    await this.palette('Preferences: Color Theme');
    await this.input('', name);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().waitFor();
    await this.page.keyboard.press('Enter');
    await this.page.locator('.quick-input-widget:visible').waitFor({ state: 'hidden' });
  }

  // Returns the texts of the chat that stand out too little from what is behind them, each with its contrast (WCAG 2: 4.5 is enough).
  // What cannot be used now may be fainter.
  async chatFaint() {
    return this.chat.locator('body').evaluate((body) => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      // The colours from the back to the front, as the screen mixes them.
      const mixed = (colours) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const colour of colours) {
          canvas.fillStyle = colour;
          canvas.fillRect(0, 0, 1, 1);
        }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const light = (rgb) => {
        const [r, g, b] = rgb.map((one) => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        const all = [];
        for (let one = element; one; one = one.parentElement) all.unshift(getComputedStyle(one).backgroundColor);
        const side = getComputedStyle(document.documentElement).getPropertyValue('--vscode-sideBar-background');
        return [side || '#ffffff', ...all];
      };
      const wrong = [];
      for (const element of body.querySelectorAll('*')) {
        const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data.trim()).join(' ').trim();
        const box = element.getBoundingClientRect();
        if (!text || element.disabled || box.width === 0 || element.matches('script, title, style')) continue;
        const [back, front] = [mixed(behind(element)), mixed([...behind(element), getComputedStyle(element).color])].map(light);
        const contrast = (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
        if (contrast < 4.5) wrong.push(`${contrast.toFixed(2)}: ${text.slice(0, 60)}`);
      }
      return wrong;
    });
  }

  // Returns the number of the line with the cursor.
  async cursorLine() {
    const place = await this.page.locator('#status\\.editor\\.selection').innerText();
    return Number(/Ln (\d+)/.exec(place)?.[1]);
  }

  // Returns the texts of both sides of the diff in sight.
  async sides() {
    return this.page.locator('.editor-group-container.active .monaco-diff-editor .lines-content > .view-lines').evaluateAll((all) => all.map((lines) => [...lines.children]
      .sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top))
      .map((line) => line.textContent.replaceAll('\u00a0', ' ')).join('\n')));
  }

  // Returns the number of error marks.
  async errors() {
    return this.editor.locator('.squiggly-error').count();
  }

  async unsaved() {
    return (await this.page.locator('.editor-group-container.active .tab.active.dirty').count()) > 0;
  }

  async status() {
    return (await this.page.locator('.statusbar-item').allInnerTexts()).map((one) => one.trim()).join(' | ');
  }

  // Returns what a screen reader says of Adjutant's item.
  async statusLabel() {
    return (await this.page.locator('.statusbar-item a[aria-label^="Adjutant"], .statusbar-item[aria-label^="Adjutant"]').first().getAttribute('aria-label').catch(() => undefined)) ?? '';
  }

  // Returns each notification with its buttons.
  async popups() {
    return this.toasts.evaluateAll((all) => all.map((one) => ({
      text: one.querySelector('.notification-list-item-message')?.innerText ?? '',
      buttons: [...one.querySelectorAll('.notification-list-item-buttons-container .monaco-button')].map((button) => button.innerText.trim()),
    })));
  }

  // Returns the number of links in the notifications.
  async links() {
    return this.toasts.locator('.notification-list-item-message a').count();
  }

  // Returns the middle of a button.
  async place(title) {
    const { x, y, width, height } = await this.button(title).boundingBox();
    return [Math.round(x + width / 2), Math.round(y + height / 2)];
  }

  button(title) {
    return this.toasts.locator('.notification-list-item-buttons-container .monaco-button').filter({ hasText: new RegExp(`^\\s*${title}`) }).first();
  }

  async press(title) {
    await this.button(title).click();
  }

  // Returns the rows of the list that a command shows.
  async picks() {
    const rows = this.page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row');
    return (await rows.allInnerTexts()).map((one) => one.replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim());
  }

  async pick(title) {
    await this.page.locator('.quick-input-widget:visible .quick-input-list .monaco-list-row', { hasText: title }).first().click();
  }

  // Returns the dialog that has to be answered before anything else; nothing without one. The button with the focus is what
  // Enter presses.
  async dialog() {
    const box = this.page.locator('.monaco-dialog-box:visible');
    return (await box.count()) === 0 ? undefined : box.evaluate((one) => ({
      message: one.querySelector('.dialog-message-text')?.innerText ?? '',
      detail: one.querySelector('.dialog-message-detail')?.innerText ?? '',
      buttons: [...one.querySelectorAll('.dialog-buttons .monaco-button')].map((button) => button.innerText.trim()),
      focused: document.activeElement?.innerText.trim(),
      cut: [...one.querySelectorAll('.dialog-buttons .monaco-button')].filter((button) => {
        const [is, room] = [button.getBoundingClientRect(), one.getBoundingClientRect()];
        return is.left < Math.max(0, room.left) || is.right > Math.min(innerWidth, room.right);
      }).map((button) => button.innerText.trim()),
    }));
  }

  async pressDialog(title) {
    await this.page.locator('.monaco-dialog-box .dialog-buttons .monaco-button', { hasText: new RegExp(`^\\s*${title}\\s*$`) }).click();
  }

  // Presses an answer without leaving the editor, and types right after it.
  async pressAndType(title, text) {
    await this.key('Control+Home');
    await this.cardButton(title).evaluate((button) => button.click());
    await this.page.keyboard.type(text);
  }
}
