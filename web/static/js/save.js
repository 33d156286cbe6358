// Files that the visitor keeps.

import { download, signedIn } from './api.js'
import { html } from './html.js'
import { announce, useSend } from './parts.js'

/**
 * Saves a Blob under a name.
 *
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000) // once the browser has surely begun to read it
  announce(`Saved as ${name}.`)
}

/**
 * The answer of the API behind a page: a link, or a file where it takes a token, which links do not send.
 *
 * @param {{ path: string, name: string }} props
 */
export function AsJSON({ path, name }) {
  const { send, busy, problem } = useSend(async () =>
    save(await download(path, { accept: 'application/json' }), `${name}.json`),
  )
  if (!signedIn()) return html`<a class="button" href=${path}>JSON</a>`
  return html`
    <button type="button" disabled=${busy} onClick=${send}>JSON</button>
    ${problem && html`<span class="stale" role="alert">${problem.message}</span>`}
  `
}
