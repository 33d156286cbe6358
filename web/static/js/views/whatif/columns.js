// Statistics whose columns have other names, or none: the visitor says which is what.

import { Records } from '../../csv.js'
import { html, useId, useMemo, useState } from '../../html.js'
import { plainTable, selectField } from '../../parts.js'
import { delimiters } from './csv.js'

/** @import { Reading, Survey } from './csv.js' */

/** The fields of statistics; other names that columns of them often have, and whether a cell is a number. */
const fields = [
  { name: 'key', also: ['id', 'user', 'name', 'path'], number: false },
  { name: 'cost', also: ['frequency', 'count', 'load', 'events', 'requests', 'hits', 'weight', 'time'], number: true },
  { name: 'state', also: ['state_bytes', 'bytes', 'size', 'memory'], number: true },
  { name: 'instance', also: ['node', 'server', 'worker', 'shard', 'task'], number: true },
  { name: 'hash_instance', also: ['home'], number: true },
]

/** @type {Record<string, string>} */
const labels = {
  key: 'Key',
  cost: 'Cost, or number of events',
  state: 'State (optional)',
  instance: 'Instance that has it (optional)',
  hash_instance: 'Instance of its hash (optional)',
}

const shown = 4 // rows of the sample

/**
 * How a text is read: what is between cells, how numbers are written, whether its first record has names, and the
 * column of each field.
 *
 * @typedef {{ delimiter: keyof typeof delimiters, decimal: string, named: boolean,
 *   columns: Record<string, number> }} Choice
 */

/**
 * Whether a header is one that the API takes, or complains about in words of its own.
 *
 * @param {Survey} survey
 */
export function fits({ header }) {
  if (header === null) return true
  const known = [...fields.map(({ name }) => name), 'frequency', 'state_bytes', 'interval', 'count']
  /** @param {string} name */
  const has = (name) => header.includes(name)
  return (
    header.every((name) => known.includes(name) || name.startsWith('cost.')) &&
    (has('count') || (has('key') && (has('cost') || has('frequency'))))
  )
}

/** @param {string} text */
const numeric = (text) => text.trim() !== '' && Number.isFinite(Number(text.replace(',', '.')))

/**
 * The first records of a text.
 *
 * @param {string} head
 * @param {keyof typeof delimiters} delimiter
 */
const firstOf = (head, delimiter) =>
  [...new Records(delimiters[delimiter]).take(head, true)].slice(0, shown + 1).map(({ cells }) => cells)

/**
 * The delimiter that makes the most columns, alike in all records.
 *
 * @param {string} head
 */
function delimiterOf(head) {
  /** @param {keyof typeof delimiters} delimiter */
  const width = (delimiter) => {
    const [first, ...more] = firstOf(head, delimiter)
    return more.every(({ length }) => length === first.length) ? first.length : 0
  }
  return /** @type {(keyof typeof delimiters)[]} */ (Object.keys(delimiters)).reduce((best, next) =>
    width(next) > width(best) ? next : best,
  )
}

/**
 * How alike two words are, from 0 to 1: the share of pairs of letters that they have in common.
 *
 * @param {string} a
 * @param {string} b
 */
function likeness(a, b) {
  /** @param {string} name */
  const pairs = (name) => {
    const plain = ` ${name.toLowerCase()} `
    return Array.from({ length: plain.length - 1 }, (_, i) => plain.slice(i, i + 2))
  }
  const [one, other] = [pairs(a), pairs(b)]
  return (2 * one.filter((pair) => other.includes(pair)).length) / (one.length + other.length)
}

const alike = 0.5

/**
 * How near the name of a column is to that of a field, as a whole or in one of its words.
 *
 * @param {string} name
 * @param {(typeof fields)[number]} field
 */
const nearness = (name, field) =>
  Math.max(
    likeness(name, field.name),
    ...name
      .split(/[^\p{L}\p{N}]+/u)
      .flatMap((word) => [field.name, ...field.also].map((other) => 0.9 * likeness(word, other))),
  )

/**
 * The column that each field likely is: that of the nearest name, if its cells are numbers
 * where they must be. A key and a cost there must be.
 *
 * @param {string[]} names
 * @param {string[][]} rows
 */
function columnsOf(names, rows) {
  /** @param {number} column */
  const isNumeric = (column) => rows.every((cells) => !cells[column] || numeric(cells[column]))
  const near = fields.flatMap((field) =>
    names
      .map((name, column) => ({ name: field.name, column, by: nearness(name, field) }))
      .filter(({ column, by }) => by >= alike && (!field.number || isNumeric(column))),
  )
  /** @type {Record<string, number>} */
  const found = {}
  const free = new Set(names.keys())
  for (const { name, column } of near.sort((a, b) => b.by - a.by))
    if (!(name in found) && free.delete(column)) found[name] = column
  for (const { name, number } of fields.slice(0, 2)) {
    if (name in found) continue
    const column = [...free].find((c) => isNumeric(c) === number) ?? [...free][0]
    if (column !== undefined) found[name] = column
    free.delete(column)
  }
  return found
}

/**
 * Names for the columns, and the rows below them.
 *
 * @param {string} head
 * @param {Pick<Choice, 'delimiter' | 'named'>} reading
 */
function sampleOf(head, { delimiter, named }) {
  const records = firstOf(head, delimiter)
  const rows = records.slice(named ? 1 : 0, named ? shown + 1 : shown)
  const width = Math.max(...records.map(({ length }) => length))
  const names = Array.from({ length: width }, (_, c) => (named && records[0][c]) || `Column ${c + 1}`)
  const decimal = rows.flat().some((cell) => /^\s*\d+,\d+\s*$/.test(cell)) ? 'comma' : 'point'
  return { names, rows, decimal, columns: columnsOf(named ? names : names.map(() => ''), rows) }
}

/**
 * @param {string} head
 * @returns {Choice}
 */
function guess(head) {
  const delimiter = delimiterOf(head)
  const named = !firstOf(head, delimiter)[0].some(numeric)
  const { decimal, columns } = sampleOf(head, { delimiter, named })
  return { delimiter, decimal, named, columns }
}

/** Names that a query can tell. */
const plain = /^[^,=+]+$/

/**
 * What the query says of it. Where it cannot tell a name, columns have numbers, below a header that is skipped.
 *
 * @param {Choice} choice
 * @param {string[]} names
 */
function queryOf({ delimiter, decimal, named, columns }, names) {
  const told = named && Object.values(columns).every((c) => plain.test(names[c]) && names.indexOf(names[c]) === c)
  return {
    delimiter,
    decimal: decimal === 'comma' ? decimal : null,
    header: told ? null : 'none',
    skip: named && !told ? '1' : null,
    columns: fields
      .filter(({ name }) => name in columns)
      .map(({ name }) => `${name}=${told ? names[columns[name]] : columns[name] + 1}`)
      .join(),
  }
}

/**
 * A few rows of a text, below the heads of their columns.
 *
 * @param {string} caption
 * @param {string[][]} rows
 * @param {Children[]} heads
 */
export const sampleTable = (caption, rows, heads) =>
  html`<div class="whatif-rows">
    ${plainTable(
      caption,
      rows,
      heads.map((head, c) => [head, (cells) => html`<span class="clip" title=${cells[c]}>${cells[c] ?? ''}</span>`]),
    )}
  </div>`

/** @param {{ of: string | undefined }} props */
const Use = ({ of }) => html`<span class=${of ? 'whatif-own' : 'whatif-unused'}>${of ?? 'left out'}</span>`

/**
 * Asks which column is what. use is given how the API is to read them.
 *
 * @param {object} props
 * @param {string} props.head
 * @param {(reading: Reading) => unknown} props.use
 */
export function Columns({ head, use }) {
  const [reading, read] = useState(() => guess(head))
  const { names, rows } = useMemo(() => sampleOf(head, reading), [head, reading.delimiter, reading.named])
  const title = useId()
  /** @param {Partial<Choice>} change */
  const reread = (change) => {
    const next = { ...reading, ...change }
    const { decimal, columns } = sampleOf(head, next)
    read({ ...next, decimal, columns })
  }
  /**
   * @param {string} name
   * @param {string} value
   */
  const choose = (name, value) => {
    const columns = { ...reading.columns, [name]: Number(value) }
    if (value === '') delete columns[name]
    read({ ...reading, columns })
  }
  const { key, cost } = reading.columns
  const wrong =
    key === undefined || cost === undefined
      ? 'Key and cost need a column each.'
      : new Set(Object.values(reading.columns)).size < Object.keys(reading.columns).length
        ? 'One column cannot be two things.'
        : ''
  const submit = (/** @type {Event} */ e) => {
    e.preventDefault()
    if (!wrong) use(queryOf(reading, names))
  }
  return html`<form class="whatif-columns" aria-labelledby=${title} onSubmit=${submit}>
    <h3 id=${title}>Which column is what?</h3>
    <div class="fields">
      ${selectField(
        'Between cells',
        reading.delimiter,
        Object.keys(delimiters).map((name) => [name, name]),
        (name) => reread({ delimiter: /** @type {keyof typeof delimiters} */ (name) }),
        { name: 'delimiter' },
      )}
      ${selectField(
        'First line',
        reading.named ? 'names' : 'row',
        Object.entries({ names: 'names of the columns', row: 'a row already' }),
        (header) => reread({ named: header === 'names' }),
        { name: 'header' },
      )}
      ${selectField(
        'Numbers',
        reading.decimal,
        Object.entries({ point: 'as 1.5', comma: 'as 1,5' }),
        (decimal) => read({ ...reading, decimal }),
        { name: 'decimal' },
      )}
      ${fields.map(({ name }) =>
        selectField(
          labels[name],
          reading.columns[name] ?? '',
          [['', 'none'], ...names.map((column, c) => [c, column])],
          (value) => choose(name, value),
          { key: name, name },
        ),
      )}
    </div>
    ${sampleTable(
      'The first rows as they are read',
      rows,
      names.map((name, c) => html`${name}<${Use} of=${fields.find((f) => reading.columns[f.name] === c)?.name} />`),
    )}
    <div class="row bar">
      <p class=${wrong ? 'toned bad' : 'hint'} role="status">
        ${wrong || 'The file is sent as it is, with what is said here.'}
      </p>
      <button type="submit" class="primary" disabled=${wrong !== ''}>Use these columns</button>
    </div>
  </form>`
}
