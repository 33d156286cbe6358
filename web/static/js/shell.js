// Commands for bash that are safe to paste, whatever data is in them.

// What a terminal or the line editor of bash may take for something else than text, even
// where it is pasted, and what reorders the text around it. Line feeds stand for themselves.
const active = /(?!\n)[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const escaped = (char) => Array.from(new TextEncoder().encode(char), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')

/** A word that bash takes as it is, whatever is in it. */
export function quoted(text) {
  if (text.search(active) < 0) return `'${text.replaceAll("'", "'\\''")}'`
  // A hexadecimal escape ends after two digits, so what follows is not part of it.
  return `$'${text.replace(/['\\!]/g, escaped).replace(active, escaped)}'`
}

/** The delimiter of a here-document: a word that is no line of it. */
function delimiter(text, word) {
  const lines = new Set(text.split('\n'))
  for (let i = 0; ; i++) if (!lines.has(`${word}${i || ''}`)) return `${word}${i || ''}`
}

/**
 * The option of curl that sends a text, which must have no NUL: as a here-document where
 * its characters are harmless in one, else as a word. A carriage return ends a line of
 * what is pasted, so a here-document could end before it should.
 */
export function dataOption(text, word) {
  if (text.search(active) >= 0) return `--data-raw ${quoted(text)}`
  const end = delimiter(text, word)
  return `--data-binary @- <<'${end}'\n${text.endsWith('\n') ? text : `${text}\n`}${end}`
}
