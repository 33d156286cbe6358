// A request as a command for bash.

import { address, signedIn } from '../../api.js'

/** A word that bash takes as it is, whatever is in it. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`

const inline = 8_000 // characters of a file that a command carries itself

/** The delimiter of a here-document: a word that is no line of it. */
function delimiter(text) {
  const lines = new Set(text.split('\n'))
  for (let i = 0; ; i++) if (!lines.has(`CSV${i || ''}`)) return `CSV${i || ''}`
}

const server = () => location.origin + location.pathname.replace(/\/[^/]*$/, '')

/**
 * The command that sends a request. A token is not part of it: it is taken from the
 * environment. A file that is not small is named, and looked for where bash runs.
 */
export function curlOf({ path, query, body, type }, source) {
  const head = [`curl -sS -X POST ${quoted(`${server()}/${address(path, query)}`)}`, signedIn() && '  -H "Authorization: Bearer $PLANNERD_TOKEN"']
  if (!type) return [...head, `  -H 'Content-Type: application/json'`, `  --data-binary ${quoted(JSON.stringify(body))}`].filter(Boolean).join(' \\\n')
  const { text, name } = source
  const here = text !== null && text.length <= inline && !text.includes('\0')
  const word = here && delimiter(text)
  const data = here ? `  --data-binary @- <<'${word}'\n${text.endsWith('\n') ? text : `${text}\n`}${word}` : `  --data-binary ${quoted(`@${name}`)}`
  return [...head, `  -H 'Content-Type: ${type}'`, data].filter(Boolean).join(' \\\n')
}
