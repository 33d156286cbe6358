// CSV as RFC 4180 has it.

const longestRecord = 1 << 20 // characters of a record that are looked at

/**
 * A record of CSV; line is where it begins.
 *
 * @typedef {{ cells: string[], line: number }} Row
 */

/** Records of CSV as its text comes. */
export class Records {
  /** @param {string} [delimiter] the character between cells */
  constructor(delimiter = ',') {
    this.delimiter = delimiter
  }

  begun = ''
  quoted = false
  line = 1
  lines = 0;

  /**
   * Those that text completes; last says that no more comes. Each character is looked at once.
   *
   * @param {string} text
   * @param {boolean} [last]
   */
  *take(text, last = false) {
    let from = 0
    let quote = text.indexOf('"')
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) {
      for (; quote >= 0 && quote < end; quote = text.indexOf('"', quote + 1)) this.quoted = !this.quoted
      this.lines++
      if (this.quoted) continue
      yield this.end(text.slice(from, end))
      from = end + 1
    }
    for (; quote >= 0; quote = text.indexOf('"', quote + 1)) this.quoted = !this.quoted
    this.begin(text.slice(from))
    if (last && this.begun !== '') yield this.end('')
  }

  /** @param {string} text */
  begin(text) {
    // A quote that is never closed makes one record of all that follows.
    if (this.begun.length < longestRecord) this.begun += text.slice(0, longestRecord)
  }

  /** @param {string} text */
  end(text) {
    const cells = cellsOf((this.begun + text).slice(0, longestRecord).replace(/\r$/, ''), this.delimiter)
    const { line } = this
    this.line += this.lines
    this.begun = ''
    this.lines = 0
    return { cells, line }
  }
}

/**
 * The cells of a record; quotes of one that are not closed close at its end.
 *
 * @param {string} record
 * @param {string} delimiter
 */
function cellsOf(record, delimiter) {
  if (!record.includes('"')) return record.split(delimiter)
  /** @type {string[]} */
  const cells = []
  for (let at = 0; at <= record.length;) {
    const quoted = record[at] === '"'
    const end = quoted ? closing(record, at + 1) : at
    const stop = record.indexOf(delimiter, end)
    const next = stop < 0 ? record.length : stop
    cells.push(quoted ? record.slice(at + 1, end).replaceAll('""', '"') : record.slice(at, next))
    at = next + 1
  }
  return cells
}

/**
 * Where the quotes close that opened before at.
 *
 * @param {string} record
 * @param {number} at
 */
function closing(record, at) {
  for (let end = record.indexOf('"', at); end >= 0; end = record.indexOf('"', end + 2))
    if (record[end + 1] !== '"') return end
  return record.length
}
