// What is listed, as a file.

import { asProblem, wasAborted } from '../../../api.js'
import { count } from '../../../format.js'
import { html, useEffect, useRef, useState } from '../../../html.js'
import { save } from '../../../save.js'

/**
 * Makes a file of a media type; onBytes hears how much of it is there.
 *
 * @callback Make
 * @param {string} type
 * @param {{ signal: AbortSignal, onBytes: (bytes: number) => void }} how
 * @returns {Promise<Blob>}
 */

const types = [
  ['CSV', 'csv', 'text/csv'],
  ['NDJSON', 'ndjson', 'application/x-ndjson'],
]

/** @param {number} bytes */
const size = (bytes) => (bytes < 1e6 ? `${count(Math.ceil(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`)

/**
 * Buttons that save a file, whose name is name and an end.
 *
 * @param {{ name: string, make: Make, disabled: boolean }} props
 */
export function Downloads({ name, make, disabled }) {
  const [running, setRunning] = useState(/** @type {{ label: string, bytes: number } | null} */ (null))
  const [failed, fail] = useState(/** @type {Problem | null} */ (null))
  const abort = useRef(/** @type {AbortController | null} */ (null))
  const button = useRef(null)
  useEffect(() => () => abort.current?.abort(), [])

  /**
   * @param {string} label
   * @param {string} end
   * @param {string} type
   */
  const start = async (label, end, type) => {
    const own = new AbortController()
    abort.current = own
    let told = 0
    /** @param {number} bytes */
    const onBytes = (bytes) => {
      if (performance.now() - told < 200) return
      told = performance.now()
      setRunning({ label, bytes })
    }
    fail(null)
    setRunning({ label, bytes: 0 })
    try {
      save(await make(type, { signal: own.signal, onBytes }), `${name}.${end}`)
    } catch (problem) {
      if (!wasAborted(problem)) fail(asProblem(problem))
    }
    setRunning(null)
  }

  return html`<span class="row migrations-downloads">
    ${failed && html`<span role="alert" class="toned bad">${failed.message}</span>`}
    ${
      running
        ? html`
            <span class="muted">${running.label}: ${size(running.bytes)} …</span>
            <button type="button" ref=${button} onClick=${() => abort.current?.abort()}>Cancel</button>
          `
        : types.map(
            ([label, end, type]) =>
              html`<button
                type="button"
                key=${end}
                disabled=${disabled}
                aria-label="Download as ${label} what is listed"
                onClick=${() => start(label, end, type)}
              >
                <span aria-hidden="true">↓ </span>
                ${label}
              </button>`,
          )
    }
  </span>`
}
