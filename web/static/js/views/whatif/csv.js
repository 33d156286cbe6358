// Statistics as CSV: what is in them, where their rows are, and how they travel in a link.

/** Records of CSV as its text comes: {cells, line}, line being where each begins. */
export class Records {
  constructor() {
    Object.assign(this, { rest: '', line: 1 })
  }

  /** Those that text completes; last says that no more comes. */
  *take(text, last = false) {
    const all = this.rest + text
    let from = 0
    while (from < all.length) {
      const end = recordEnd(all, from)
      if (end < 0 && !last) break
      const raw = all.slice(from, end < 0 ? all.length : end)
      yield { cells: cellsOf(raw.replace(/\r$/, '')), line: this.line }
      this.line += 1 + newlines(raw)
      from = end < 0 ? all.length : end + 1
    }
    this.rest = all.slice(from)
  }
}

const newlines = (text) => (text.includes('\n') ? text.split('\n').length - 1 : 0)

/** Where the record at from ends: at a line feed that stands in no quotes. */
function recordEnd(text, from) {
  let end = text.indexOf('\n', from)
  let quotes = 0
  for (let at = from; end >= 0; at = end + 1, end = text.indexOf('\n', at)) {
    for (let q = text.indexOf('"', at); q >= 0 && q < end; q = text.indexOf('"', q + 1)) quotes++
    if (quotes % 2 === 0) break
  }
  return end
}

function cellsOf(record) {
  if (!record.includes('"')) return record.split(',')
  return Array.from(record.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"?|([^,]*))/g), ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain)
}

/** All records of a text or a file, as it is read. */
async function* recordsOf(body, signal) {
  const records = new Records()
  const reader = new Blob([body]).stream().pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (signal?.aborted) return reader.cancel()
    yield* records.take(done ? '' : value, done)
    if (done) return undefined
  }
}

/**
 * What is in a body: {bytes, header, rows, cost, first}. rows and cost, the sum of the
 * costs, tell whether it is the same as another one; first are its first rows.
 */
export async function survey(body, signal) {
  const out = { bytes: typeof body === 'string' ? new Blob([body]).size : body.size, header: null, rows: 0, cost: 0, first: [] }
  let column = -1
  for await (const { cells } of recordsOf(body, signal)) {
    if (out.header === null) {
      out.header = cells
      column = Math.max(cells.indexOf('cost'), cells.indexOf('frequency'))
      continue
    }
    out.rows++
    out.cost += Number(cells[column]) || 0
    if (out.first.length < 5) out.first.push(cells)
  }
  return { ...out, cost: Number(out.cost.toPrecision(12)) }
}

/** The rows of the given numbers, from 0: a Map from each to {cells, line}. */
export async function rowsAt(body, numbers) {
  const wanted = new Set(numbers)
  const found = new Map()
  let row = -1
  for await (const record of recordsOf(body)) {
    if (wanted.has(row)) found.set(row, record)
    if (found.size === wanted.size) break
    row++
  }
  return found
}

const longest = 16_000 // characters of a link
const largest = 1 << 22 // bytes that a link may unfold to

const pipe = (data, through) => new Blob([data]).stream().pipeThrough(through)

/** A text as a part of a link, or null where it is too long for one. */
export async function pack(text) {
  const bytes = new Uint8Array(await new Response(pipe(text, new CompressionStream('deflate-raw'))).arrayBuffer())
  if (bytes.length * 4 > longest * 3) return null
  return btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** The text that pack made a part of a link of; null where it is damaged. */
export async function unpack(part) {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    const reader = pipe(bytes, new DecompressionStream('deflate-raw')).pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).getReader()
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value
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
