// Elements of the page, with text alone. Never takes HTML.

export const element = <T extends keyof HTMLElementTagNameMap>(tag: T, name = '', words?: string): HTMLElementTagNameMap[T] => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (words !== undefined) made.textContent = words;
  return made;
};

export const button = (label: string, title: string, press: () => unknown) => {
  const made = element('button', '', label);
  made.type = 'button';
  made.title = title;
  made.addEventListener('click', () => press());
  return made;
};

// A part that is moved in the page forgets how far it was scrolled.
export const keepScroll = (place: Element | null, selector: string) => {
  const tops = [...place?.querySelectorAll(selector) ?? []].map((one) => [one, one.scrollTop] as const);
  requestAnimationFrame(() => tops.forEach(([one, top]) => { one.scrollTop = top; }));
};
