// Statistics as CSV: what is in them, where their rows are, and how they travel in a link.

import { Records } from '../../csv.js'

/**
 * What is in a body. rows and cost, the sum of the costs, tell a reader whether it is the
 * same as another one, hash the page; first are its first rows, head its first characters.
 *
 * @typedef {object} Survey
 * @property {number} bytes
 * @property {string[] | null} header
 * @property {number} rows
 * @property {number} cost
 * @property {string[][]} first
 * @property {string} head
 * @property {number} hash
 */

/**
 * All records of a text or a file, as it is read; hear is given all of it in pieces.
 *
 * @param {string | Blob} body
 * @param {{ signal?: AbortSignal, hear?: (text: string) => void, delimiter?: string }} [options]
 */
export async function* recordsOf(body, { signal, hear, delimiter } = {}) {
  const records = new Records(delimiter)
  const reader = new Blob([body]).stream().pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (signal?.aborted) return reader.cancel()
    if (!done) hear?.(value)
    yield* records.take(done ? '' : value, done)
    if (done) return undefined
  }
}

/**
 * A number for a text, FNV-1a, that goes on from that of what stands before it.
 *
 * @param {string} text
 * @param {number} hash
 */
function hashed(text, hash) {
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
  return hash >>> 0
}

const headLength = 4_000

/** What stands between cells, by the names that the API has for it. */
export const delimiters = { tab: '\t', semicolon: ';', comma: ',' }

/**
 * How the API is to read a body whose columns have other names than its own, as its query has it.
 *
 * @typedef {{ columns?: string | null, delimiter?: string | null, header?: string | null, decimal?: string | null,
 *   skip?: string | null }} Reading
 */

/** @param {string} text */
const numbered = (text) => Number(text.replace(',', '.'))

/**
 * Looks through a body.
 *
 * @param {string | Blob} body
 * @param {AbortSignal} [signal]
 * @param {Reading} [reading]
 * @returns {Promise<Survey>}
 */
export async function survey(body, signal, { columns, delimiter, header, decimal, skip } = {}) {
  const cost = columns?.match(/(?:^|,)cost=([^,]*)/)?.[1]
  const number = decimal === 'comma' ? numbered : Number
  /** @type {Survey} */
  const out = {
    bytes: typeof body === 'string' ? new Blob([body]).size : body.size,
    header: null,
    rows: 0,
    cost: 0,
    first: [],
    head: '',
    hash: 2_166_136_261,
  }
  let column = -1
  for await (const { cells } of recordsOf(body, {
    signal,
    delimiter: delimiters[/** @type {keyof typeof delimiters} */ (delimiter)],
    hear: (text) => {
      out.hash = hashed(text, out.hash)
      out.head += text.slice(0, headLength - out.head.length)
    },
  })) {
    if (out.header === null) {
      out.header = header === 'none' ? cells.map((_, c) => `${c + 1}`) : cells
      column = Math.max(...(cost ? [cost] : ['cost', 'frequency']).map((name) => out.header?.indexOf(name) ?? -1))
      if (header !== 'none' || skip) continue
    }
    out.rows++
    out.cost += number(cells[column] ?? '') || 0
    if (out.first.length < 5) out.first.push(cells)
  }
  return { ...out, cost: Number(out.cost.toPrecision(12)) }
}

/**
 * The records that begin in the given lines: a Map from each to its cells.
 *
 * @param {string | Blob} body
 * @param {number[]} lines
 */
export async function rowsAt(body, lines) {
  const wanted = new Set(lines)
  const found = new Map()
  for await (const { cells, line } of recordsOf(body)) {
    if (wanted.has(line)) found.set(line, cells)
    if (found.size === wanted.size) break
  }
  return found
}

const longest = 16_000 // characters of a link
const largest = 1 << 22 // bytes that a link may unfold to

/**
 * @param {string | Uint8Array<ArrayBuffer>} data
 * @param {CompressionStream | DecompressionStream} through
 */
const pipe = (data, through) => new Blob([data]).stream().pipeThrough(through)

/**
 * A text as a part of a link, or null where it is too long for one.
 *
 * @param {string} text
 */
export async function pack(text) {
  const bytes = new Uint8Array(await new Response(pipe(text, new CompressionStream('deflate-raw'))).arrayBuffer())
  if (bytes.length * 4 > longest * 3) return null
  return btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

/**
 * The text that pack made a part of a link of; null where it is damaged.
 *
 * @param {string} part
 */
export async function unpack(part) {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    const reader = pipe(bytes, new DecompressionStream('deflate-raw'))
      .pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
      .getReader()
    let text = ''
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      text += piece.value
      if (text.length > largest) return null
    }
    return text
  } catch {
    return null
  }
}

const sampleKeys = 400

/** A small example: few keys cost most, as they do in real streams, and some were moved before. */
export function sample() {
  const rows = ['key,cost,state,instance']
  for (let rank = 1; rank <= sampleKeys; rank++) {
    // State does not follow cost: some hot keys are cheap to move, some are not.
    const spread = (rank * 2_654_435_761) % 997
    const moved = rank % 8 === 3 ? (rank * 5) % 7 : ''
    rows.push(`user:${rank},${Math.round(10_000 / rank ** 0.8)},${64 + spread},${moved}`)
  }
  return `${rows.join('\n')}\n`
}
