// One window of VS Code: the actions of a user and the content of the screen.
// Never waits for a fixed time, only for content of the screen; the caller names it.
import path from 'node:path';

const PATIENCE = 30_000;

export class Window {
  static async open(browser, server, pictures, folder, file, theme) {
    const context = await browser.newContext({ viewport: { width: 1100, height: 700 }, colorScheme: theme ?? 'dark' });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const remote = (of) => `vscode-remote://${server.authority}${of}`;
    const payload = encodeURIComponent(JSON.stringify([['openFile', remote(path.join(folder, file))]]));
    await page.goto(`http://${server.authority}/?folder=${encodeURIComponent(folder)}&payload=${payload}`);
    await page.locator('.tab.active', { hasText: path.basename(file) }).waitFor({ timeout: 2 * PATIENCE });
    await page.locator('.editor-group-container.active .view-line').first().waitFor();
    return new Window(page, context, pictures);
  }

  constructor(page, context, pictures) {
    Object.assign(this, { page, context, pictures });
    this.editor = page.locator('.editor-group-container.active .monaco-editor').first();
    this.toasts = page.locator('.notification-toast');
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

  async closeTab(title) {
    await this.page.locator('.tab', { hasText: title }).click({ button: 'middle' });
  }

  async picture(name) {
    await this.page.screenshot({ path: path.join(this.pictures, `${name}.png`) });
  }

  // Runs a command of the palette, by its whole title.
  async palette(title) {
    await this.page.keyboard.press('F1');
    await this.input('', title);
    const label = `[aria-label="${title}"], [aria-label^="${title}, "]`;
    await this.page.locator('.quick-input-list .monaco-list-row').and(this.page.locator(label)).click();
  }

  async input(of, text) {
    const input = this.page.locator('.quick-input-widget:visible', { hasText: of }).locator('input:visible').first();
    await input.waitFor();
    await input.focus();
    await this.page.keyboard.type(text);
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

  // Presses a button without leaving the editor, and types right after it.
  async pressAndType(title, text) {
    await this.key('Control+Home');
    await this.button(title).evaluate((button) => button.click());
    await this.page.keyboard.type(text);
  }

  // Presses a button at the moment it appears, faster than a hand, once.
  async pressWhenItAppears(title) {
    await this.page.evaluate((title) => {
      const look = () => {
        const button = [...document.querySelectorAll('.notification-toast .monaco-button')].find((one) => one.innerText.trim() === title);
        if (!button) return;
        watch.disconnect();
        button.click();
      };
      const watch = new MutationObserver(look);
      watch.observe(document.body, { childList: true, subtree: true, characterData: true });
    }, title);
  }
}
