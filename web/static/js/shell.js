// What the page asks of the API, as commands for bash.

import { address, signedIn } from './api.js'

const inline = 100_000 // characters of rows that a command carries itself

/** A word that bash takes as it is, whatever is in it. */
const quoted = (text) => (/^[\w%+,.:=@~/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** The delimiter of a here-document: a word that is no line of it. */
function delimiter(text, name) {
  const lines = new Set(text.split('\n'))
  for (let i = 0; ; i++) if (!lines.has(`${name}${i || ''}`)) return `${name}${i || ''}`
}

const hereDocument = (text, end) => `@- <<'${end}'\n${text}${text.endsWith('\n') ? '' : '\n'}${end}`

function dataOf(body, type, file) {
  if (!type) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return text.includes('\n') || text.length > inline ? hereDocument(text, 'JSON') : quoted(text)
  }
  if (typeof body === 'string' && body.length <= inline && !body.includes('\0')) return hereDocument(body, delimiter(body, 'ROWS'))
  return quoted(`@${body.name ?? file}`)
}

/**
 * The command that sends a request as api.js does; JSON that is a string is sent as it is
 * written. A token is not part of it: it is taken from the environment. A body that is
 * long or a file is read from where bash runs, by its own name or that of file.
 */
export function commandOf({ method = 'POST', path, query, body, type }, file = 'rows.csv') {
  return [
    `curl -X ${method} ${quoted(new URL(address(path, query), document.baseURI).href)}`,
    ...(signedIn() ? ['-H "Authorization: Bearer $PLANNERD_TOKEN"'] : []),
    `-H 'Content-Type: ${type ?? 'application/json'}'`,
    `--data-binary ${dataOf(body, type, file)}`,
  ].join(' \\\n  ')
}
