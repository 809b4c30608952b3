/**
 * Evaluated in the browser: texts whose contrast with what is behind them is below 4.5, or 3 where they are large; each with its place and contrast.
 *
 * @typedef {readonly [red: number, green: number, blue: number, alpha: number]} Colour
 */
(() => {
  const colourOf = (/** @type {string} */ text) => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue, alpha];
  };
  const over = (/** @type {Colour} */ front, /** @type {Colour} */ back) => {
    const mix = (/** @type {0 | 1 | 2} */ i) => front[i] * front[3] + back[i] * (1 - front[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const light = (/** @type {Colour} */ [red, green, blue]) => {
    const part = (/** @type {number} */ value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const behind = (/** @type {Element | null} */ element) => {
    if (element === null) return [255, 255, 255, 1];
    const own = colourOf(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!element || !node.textContent?.trim() || !element.checkVisibility() || element.closest('.unseen, .skip, svg'))
      continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const [a, b] = [light(over(colourOf(style.color), back)), light(back)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (isLarge ? 3 : 4.5))
      found.add(
        `${element.tagName} ${element.className} "${node.textContent.trim().slice(0, 30)}" ${contrast.toFixed(2)}`,
      );
  }
  return [...found];
})();
