/**
 * Scripts that inspect a page from inside.
 *
 * They are text, because the tests have no browser types and a toolchain might compile a function into
 * code that doesn't run in the page.
 */

/**
 * Returns every text whose contrast with its background is below WCAG's 4.5 to 1 (1.4.3), with the
 * ratio.
 */
export const tooPale = `(() => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([red, green, blue]) => 0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
  const groundOf = (node) => {
    for (let at = node; at !== null; at = at.parentElement) {
      const ground = channels(getComputedStyle(at).backgroundColor);
      if (ground.length === 3 || ground[3] === 1) return ground;
    }
    return [255, 255, 255];
  };
  const pale = new Set();
  for (const node of document.querySelectorAll('body *')) {
    const hasText = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim() !== '');
    if (!hasText || node.closest('.hidden') || !node.checkVisibility()) continue;
    const levels = [luminance(channels(getComputedStyle(node).color)), luminance(groundOf(node))].sort((a, b) => b - a);
    const ratio = (levels[0] + 0.05) / (levels[1] + 0.05);
    if (ratio < 4.5) pale.add(node.tagName + '.' + node.className + ' ' + ratio.toFixed(2));
  }
  return [...pale];
})()`;

/** Returns all controls without an accessible name, and all duplicate ids. */
export const unnamedControls = `(() => {
  const named = (node) => [node.getAttribute('aria-label'), node.textContent, ...[...(node.labels ?? [])].map((label) => label.textContent)].some((name) => (name ?? '').trim() !== '');
  const unnamed = [...document.querySelectorAll('a, button, input, select, summary, svg[role=img]')].filter((node) => !named(node)).map((node) => node.outerHTML.slice(0, 80));
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return [...unnamed, ...ids.filter((id, index) => ids.indexOf(id) !== index)];
})()`;
