// What is listed, as a file.

import { count } from '../../../format.js'
import { html, useEffect, useRef, useState } from '../../../html.js'
import { save } from '../../../save.js'

const types = [['CSV', 'csv', 'text/csv'], ['NDJSON', 'ndjson', 'application/x-ndjson']]

const size = (bytes) => (bytes < 1e6 ? `${count(Math.ceil(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`)

/** Buttons that save a file: make(type, {signal, onBytes}) gives it as a Blob, name is its own without the end. */
export function Downloads({ name, make, disabled }) {
  const [running, setRunning] = useState(null)
  const [failed, fail] = useState(null)
  const abort = useRef(null)
  const button = useRef(null)
  useEffect(() => () => abort.current?.abort(), [])

  const start = async (label, end, type) => {
    abort.current = new AbortController()
    let told = 0
    const onBytes = (bytes) => {
      if (performance.now() - told < 200) return
      told = performance.now()
      setRunning({ label, bytes })
    }
    fail(null)
    setRunning({ label, bytes: 0 })
    try {
      save(await make(type, { signal: abort.current.signal, onBytes }), `${name}.${end}`)
    } catch (problem) {
      if (problem.name !== 'AbortError') fail(problem)
    }
    setRunning(null)
  }

  return html`<span class="migrations-downloads">
    ${failed && html`<span role="alert" class="migrations-failed">${failed.message}</span>`}
    ${running
    ? html`<span class="muted">${running.label}: ${size(running.bytes)} …</span><button type="button" ref=${button} onClick=${() => abort.current.abort()}>Cancel</button>`
    : types.map(([label, end, type]) => html`<button type="button" key=${end} disabled=${disabled} aria-label="Download as ${label} what is listed" onClick=${() => start(label, end, type)}><span aria-hidden="true">↓ </span>${label}</button>`)}
  </span>`
}
