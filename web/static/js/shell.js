// What the page asks of the API, as commands for bash that are safe to paste, whatever
// data is in them.

import { address, signedIn } from './api.js'

const inline = 100_000 // characters of rows that a command carries itself

// What a terminal or the line editor of bash may take for something else than text, even
// where it is pasted, and what reorders the text around it. Line feeds stand for themselves.
const active = /(?!\n)[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** @param {string} char */
const escaped = (char) =>
  Array.from(new TextEncoder().encode(char), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')

/**
 * A word that bash takes as it is, whatever is in it.
 *
 * @param {string} text
 */
function quoted(text) {
  if (/^[\w%+,.:=@/-]+$/.test(text)) return text
  if (text.search(active) < 0) return `'${text.replaceAll("'", "'\\''")}'`
  // A hexadecimal escape ends after two digits, so what follows is not part of it.
  return `$'${text.replace(/['\\!]/g, escaped).replace(active, escaped)}'`
}

/**
 * The delimiter of a here-document: a word that is no line of it.
 *
 * @param {string} text
 * @param {string} word
 */
function delimiter(text, word) {
  const lines = new Set(text.split('\n'))
  for (let i = 0; ; i++) if (!lines.has(`${word}${i || ''}`)) return `${word}${i || ''}`
}

/**
 * The option of curl that sends a text, which must have no NUL: as a here-document where
 * its characters are harmless in one, else as a word. A carriage return ends a line of
 * what is pasted, so a here-document could end before it should.
 * @param {string} text
 * @param {string} word
 */
function textOption(text, word) {
  if (text.search(active) >= 0) return `--data-raw ${quoted(text)}`
  const end = delimiter(text, word)
  return `--data-binary @- <<'${end}'\n${text}${text.endsWith('\n') ? '' : '\n'}${end}`
}

/**
 * @param {Asked['body']} body
 * @param {string | undefined} type
 * @param {string} file
 */
function dataOption(body, type, file) {
  if (!type) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return text.includes('\n') || text.length > inline ? textOption(text, 'JSON') : `--data-raw ${quoted(text)}`
  }
  if (typeof body === 'string' && body.length <= inline && !body.includes('\0')) return textOption(body, 'ROWS')
  return `--data-binary ${quoted(`@${body instanceof File ? body.name : file}`)}`
}

/**
 * The command that sends a request as api.js does; JSON that is a string is sent as it is
 * written. A token is not part of it: it is taken from the environment. A body that is
 * long or a file is read from where bash runs, by its own name or that of file.
 *
 * @param {Asked} asked
 * @param {string} [file]
 */
export function commandOf({ method = 'POST', path, query, body, type }, file = 'rows.csv') {
  return [
    `curl -X ${method} ${quoted(new URL(address(path, query), document.baseURI).href)}`,
    ...(signedIn() ? ['-H "Authorization: Bearer $PLANNERD_TOKEN"'] : []),
    `-H 'Content-Type: ${type ?? 'application/json'}'`,
    dataOption(body, type, file),
  ].join(' \\\n  ')
}
