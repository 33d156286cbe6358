// A request as a command for bash.

import { address, signedIn } from '../../api.js'
import { dataOption, quoted } from '../../shell.js'

const inline = 8_000 // characters of a file that a command carries itself

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
  const data = here ? dataOption(text, 'CSV') : `--data-binary ${quoted(`@${name}`)}`
  return [...head, `  -H 'Content-Type: ${type}'`, `  ${data}`].filter(Boolean).join(' \\\n')
}
