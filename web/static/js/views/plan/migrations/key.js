// Keys as they are shown: any bytes, in one line.

import { html } from '../../../html.js'

/**
 * A key as it is shown: a text, or where its bytes are none, base64.
 *
 * @typedef {{ text: string, base64: boolean }} KeyText
 */

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The bytes of base64, one per character: such strings compare as the bytes do.
 *
 * @param {string} base64
 */
export const bytesOf = (base64) => atob(base64)

/**
 * A key of an answer: {text, base64}. An answer is in base64 as a whole when one of its
 * keys is not text; those that are text are shown as such.
 * @param {string} written
 * @param {string | undefined} encoding
 * @returns {KeyText}
 */
export function keyOf(written, encoding) {
  if (encoding !== 'base64') return { text: written, base64: false }
  try {
    return { text: strict.decode(Uint8Array.from(bytesOf(written), (c) => c.charCodeAt(0))), base64: false }
  } catch {
    return { text: written, base64: true }
  }
}

// What shows nothing, or turns the text around it: controls, marks of direction, and
// spaces at the ends. Joiners stay, as emoji are made with them.
const unseen = /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|^\s|\s$/u
const parts = /([\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|^\s+|\s+$)/u

/** @param {string} text */
const spoken = (text) =>
  /^ +$/.test(text) ? '␣'.repeat(text.length) : [...text].map((c) => `\\u{${c.codePointAt(0)?.toString(16)}}`).join('')

/**
 * A text in which all is seen.
 *
 * @param {string} text
 */
export const visible = (text) =>
  text
    .split(parts)
    .map((part, i) => (i % 2 === 0 ? part : spoken(part)))
    .join('')

/** @param {{ of: KeyText }} props */
export function Key({ of: { text, base64 } }) {
  if (base64)
    return html`
      <code class="migrations-key" title=${text}>${text}</code> <abbr
        class="migrations-mark"
        title="This key is not valid UTF-8. Its bytes are shown in base64."
      >
        base64
      </abbr>
    `
  if (text === '') return html`<span class="muted">empty</span>`
  if (!unseen.test(text)) return html`<code class="migrations-key" title=${text}>${text}</code>`
  return html`<code class="migrations-key" title=${text}>
    ${text
      .split(parts)
      .map((part, i) => (i % 2 === 0 ? part : html`<span key=${i} class="migrations-unseen">${spoken(part)}</span>`))}
  </code>`
}
