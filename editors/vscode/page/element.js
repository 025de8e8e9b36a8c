// Elements of the page, with text alone. Never takes HTML.

export const element = (tag, name, words) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (words !== undefined) made.textContent = words;
  return made;
};

export const button = (label, title, press) => {
  const made = element('button', '', label);
  made.type = 'button';
  made.title = title;
  made.addEventListener('click', press);
  return made;
};
