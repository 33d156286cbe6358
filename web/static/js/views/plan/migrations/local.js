// Migrations that are in memory: filtered, sorted and written as the API does it.

import { bytesOf } from './key.js'
import { sortName, utf8 } from './kinds.js'

/** @import { Kind, Row } from './kinds.js' */

/**
 * A migration as a row, and as the API writes it.
 *
 * @typedef {{ row: Row, written: API['Migrations'][0] }} Item
 */

/**
 * Tests the bytes of keys by those of a text.
 *
 * @param {string} text
 * @param {(key: string, part: string) => boolean} test
 * @returns {(row: Row) => boolean}
 */
function keyTest(text, test) {
  const bytes = utf8(text)
  return ({ key }) => (key.base64 ? test(bytesOf(key.text), bytes) : test(key.text, text))
}

/** @type {Record<string, (value: string) => (m: Row) => boolean>} */
const tests = {
  key_prefix: (text) => keyTest(text, (key, part) => key.startsWith(part)),
  key_contains: (text) => keyTest(text, (key, part) => key.includes(part)),
  instance: (id) => (m) => m.from === Number(id) || m.to === Number(id),
  from: (id) => (m) => m.from === Number(id),
  to: (id) => (m) => m.to === Number(id),
  reason: (reason) => (m) => m.reason === reason,
  min_cost: (least) => (m) => m.cost >= Number(least),
  min_state: (least) => (m) => m.state >= Number(least),
}

/**
 * The rows of a kind that pass the filters, in an order; each is {row, written}.
 *
 * @param {Item[]} items
 * @param {Kind} kind
 * @param {Record<string, string>} filters
 * @param {Sorted} sorted
 */
export function select(items, kind, filters, { by, order }) {
  const passes = Object.entries(filters).map(([name, value]) => tests[name](value))
  const found = items.filter(({ row }) => passes.every((pass) => pass(row)))
  const sign = order === 'desc' ? -1 : 1
  const name = /** @type {'from' | 'to' | 'cost' | 'state' | 'reason' | 'count' | null} */ (sortName(by))
  /** @type {(a: Row, b: Row) => number} */
  const first =
    name === null || name === kind.natural
      ? (a, b) => sign * kind.order(a, b)
      : (a, b) => sign * (a[name] < b[name] ? -1 : a[name] > b[name] ? 1 : 0) || kind.order(a, b)
  return found.sort((a, b) => first(a.row, b.row))
}

/** @type {Record<string, string[]>} */
const heads = {
  keys: ['key', 'from', 'to', 'cost', 'state', 'reason'],
  classes: ['planned', 'instance', 'hash_instance', 'cost', 'state', 'count'],
  items: ['key', 'planned', 'instance', 'hash_instance', 'cost', 'state', 'count', 'reason'],
  arcs: ['arc_start', 'arc_end', 'from', 'to', 'keys', 'cost', 'state', 'reason'],
  ranges: ['range_from', 'range_to', 'from', 'to', 'keys', 'cost', 'state', 'reason'],
}

/** @type {Record<string, (m: any) => unknown[]>} */
const fields = {
  keys: (m) => [m.key, m.from, m.to, m.cost, m.state, m.reason],
  classes: (m) => m,
  items: (m) => (Array.isArray(m) ? ['', ...m, ''] : [m.key, m.to, m.from, '', m.cost, m.state, 1, m.reason]),
  arcs: (m) => [m.arc.start, m.arc.end, m.from, m.to, m.keys, m.cost, m.state, m.reason],
  ranges: (m) => [m.range.from, m.range.to ?? '', m.from, m.to, m.keys, m.cost, m.state, m.reason],
}

/** @param {unknown} field */
const quoted = (field) => (/[",\r\n]|^\s|\s$/.test(String(field)) ? `"${String(field).replaceAll('"', '""')}"` : field)

/**
 * Migrations as a file of the type, as the API writes it.
 *
 * @param {string} type
 * @param {string} migrates
 * @param {API['Migrations']} migrations
 */
export function fileOf(type, migrates, migrations) {
  const kind = migrates === 'classes' && migrations.some((m) => !Array.isArray(m)) ? 'items' : migrates
  /** @type {(m: unknown) => string} */
  const line =
    type === 'text/csv' ? (m) => `${fields[kind](m).map(quoted).join(',')}\n` : (m) => `${JSON.stringify(m)}\n`
  const parts = type === 'text/csv' ? [`${heads[kind].join(',')}\n`] : []
  // In pieces, as one text of all might be longer than texts can be.
  for (let i = 0; i < migrations.length; i += 10_000)
    parts.push(
      migrations
        .slice(i, i + 10_000)
        .map(line)
        .join(''),
    )
  return new Blob(parts, { type })
}
