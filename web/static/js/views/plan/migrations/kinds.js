// What there is to know of migrations of keys, classes, arcs and ranges: their columns,
// how they can be sorted and filtered, and how they are written.

import { count, exactly, stateOnly, stateUnit } from '../../../format.js'
import { html } from '../../../html.js'
import { Instance } from '../../../instances.js'
import { column as columnOf } from '../../../table.js'
import { reasonWords } from '../../../words.js'
import { bytesOf, Key, keyOf } from './key.js'

/** @import { KeyText } from './key.js' */

/**
 * A migration as a row: what all kinds have, and what only some have. Rows are of the
 * kind that is asked, so its columns find what they show.
 *
 * @typedef {object} Row
 * @property {number} from
 * @property {number} to
 * @property {number} cost
 * @property {number} state
 * @property {string} reason
 * @property {number} count
 * @property {number} hash
 * @property {KeyText} key
 * @property {API['ArcMigration']['arc']} arc
 * @property {{ least: KeyText | null, end: KeyText | null }} range
 */

/** @typedef {TableColumn<Row>} Column */

/**
 * A kind of migrations: natural is the column of the order that they come in where no other is
 * asked for, first that which they are shown in, filters are
 * the names of those that there are, of makes a row of what the API writes, order
 * compares rows for the natural order.
 *
 * @typedef {object} Kind
 * @property {Column[]} columns
 * @property {string} natural
 * @property {string} first
 * @property {string[]} filters
 * @property {(m: any, encoding?: string) => Row} of
 * @property {(a: Row, b: Row) => number} order
 * @property {string} [unit] what is counted where that is no migration of keys
 */

/**
 * A figure of one row, with as many digits as tell rows apart.
 *
 * @param {number} x
 */
const figure = (x) => (Number.isInteger(x) ? exactly(x) : exactly(Number(x.toPrecision(6))))
/** @param {{ of: number }} props */
const Figure = ({ of }) => html`<span title=${exactly(of)}>${figure(of)}</span>`
/** @param {{ of: number }} props */
const State = ({ of }) =>
  html`<span title=${exactly(of)}>${stateUnit() === 'bytes' ? stateOnly(of) : figure(of)}</span>`

/** @param {{ of: string }} props */
function Reason({ of }) {
  const [name, why] = (reasonWords[of] ?? of).split(': ')
  return html`<span title=${why}>${name}${why && html`<span class="muted migrations-why"> ${why}</span>`}</span>`
}

/** @type {typeof columnOf<Row>} */
const column = columnOf
const ascending = /** @type {const} */ ({ sort: 'asc', bare: true })
const amount = /** @type {const} */ ({ sort: 'desc', number: true })

const from = column('from', 'From', 'minmax(64px, 0.8fr)', (m) => html`<${Instance} id=${m.from} />`, {
  ...ascending,
  number: true,
})
const arrow = html`<span class="migrations-arrow muted" aria-hidden="true">→ </span>`
const to = column('to', 'To', 'minmax(76px, 0.8fr)', (m) => html`${arrow}<${Instance} id=${m.to} />`, ascending)
const cost = column('cost', 'Cost', 'minmax(84px, 0.8fr)', (m) => html`<${Figure} of=${m.cost} />`, amount)
const state = column('state', 'State', 'minmax(84px, 0.8fr)', (m) => html`<${State} of=${m.state} />`, amount)
const keys = column('count', 'Keys', 'minmax(72px, 0.6fr)', (m) => count(m.count), amount)
const reason = column('reason', 'Reason', 'minmax(96px, 2fr)', (m) => html`<${Reason} of=${m.reason} />`, ascending)
/** How many keys of a class, or which key it is that has a name. */
const keysOrKey = { ...keys, of: (/** @type {Row} */ m) => (m.key ? html`<${Key} of=${m.key} />` : count(m.count)) }
const hash = column('hash', 'Hash instance', 'minmax(110px, 0.8fr)', (m) => html`<${Instance} id=${m.hash} />`, {
  number: true,
})

/** @param {{ of: API['ArcMigration']['arc'] }} props */
const Arc = ({ of: { start, end } }) =>
  html`<span
    title="The positions after ${start}, up to and including ${end}${start >= end ? ', round the end of the ring' : ''}"
  >
    ${start} – ${end}
  </span>`

/** @param {{ of: { least: KeyText | null, end: KeyText | null } }} props */
const Range = ({ of: { least, end } }) => html`<span class="migrations-range">
  ${least === null ? html`<span class="muted">the beginning</span>` : html`<${Key} of=${least} />`}
  <span class="muted"> up to </span>
  ${end === null ? html`<span class="muted">the end</span>` : html`<${Key} of=${end} />`}
</span>`

/** @param {{ from: number, to: number, cost: number, state: number, reason: string }} m */
const common = (m) => /** @type {Row} */ ({ from: m.from, to: m.to, cost: m.cost, state: m.state, reason: m.reason })
/**
 * @template T
 * @param {T} a
 * @param {T} b
 */
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Compares texts as their UTF-8 does: pairs of surrogates come after all else.
 *
 * @param {string} a
 * @param {string} b
 */
function compareText(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return x >= 0xd800 && y >= 0xd800 ? compare((x + 0x2000) & 0xffff, (y + 0x2000) & 0xffff) : x - y
  }
  return a.length - b.length
}

/**
 * The bytes of a text, one per character.
 *
 * @param {string} text
 */
export const utf8 = (text) => String.fromCharCode(...new TextEncoder().encode(text))

/**
 * Compares keys as their bytes do.
 *
 * @param {KeyText} a
 * @param {KeyText} b
 */
const compareKeys = (a, b) =>
  a.base64 || b.base64
    ? compare(a.base64 ? bytesOf(a.text) : utf8(a.text), b.base64 ? bytesOf(b.text) : utf8(b.text))
    : compareText(a.text, b.text)

/** @type {(...values: ((m: Row) => number)[]) => (a: Row, b: Row) => number} */
const tuple =
  (...values) =>
  (a, b) => {
    for (const value of values) if (value(a) !== value(b)) return value(a) - value(b)
    return 0
  }

const moved = ['instance', 'from', 'to', 'reason', 'min_cost', 'min_state']

/** @type {Record<string, Kind>} */
export const kinds = {
  keys: {
    columns: [
      column('key', 'Key', 'minmax(140px, 3fr)', (m) => html`<${Key} of=${m.key} />`, { sort: 'asc' }),
      ...[from, to, cost, state, reason],
    ],
    natural: 'key',
    first: 'state',
    filters: ['key_prefix', 'key_contains', ...moved],
    of: (m, encoding) => ({ ...common(m), key: keyOf(m.key, encoding) }),
    order: (a, b) => compareKeys(a.key, b.key),
  },
  classes: {
    columns: [from, to, hash, keysOrKey, { ...cost, head: 'Cost of a key' }, { ...state, head: 'State of a key' }],
    natural: '',
    first: 'state',
    filters: moved.filter((name) => name !== 'reason'),
    of: (m, encoding) => {
      if (!Array.isArray(m)) return { ...common(m), count: 1, key: keyOf(m.key, encoding) }
      const [planned, instance, hashed, c, s, n] = m
      return {
        ...common({ from: instance, to: planned, cost: c, state: s, reason: '' }),
        hash: hashed,
        count: n,
      }
    },
    order: tuple(
      (m) => (m.key ? 1 : 0),
      (m) => m.from,
      (m) => m.hash,
      (m) => m.cost,
      (m) => m.state,
      (m) => m.to,
    ),
  },
  arcs: {
    columns: [
      column('arc', 'Arc', 'minmax(200px, 1.6fr)', (m) => html`<${Arc} of=${m.arc} />`, { sort: 'asc' }),
      ...[from, to, keys, cost, state, reason],
    ],
    natural: 'arc',
    unit: 'arc',
    first: 'state',
    filters: moved,
    of: (m) => ({ ...common(m), arc: m.arc, count: m.keys }),
    order: tuple((m) => m.arc.end),
  },
  ranges: {
    columns: [
      column('range', 'Range', 'minmax(200px, 3fr)', (m) => html`<${Range} of=${m.range} />`, { sort: 'asc' }),
      ...[from, to, keys, cost, state, reason],
    ],
    natural: 'range',
    unit: 'range',
    first: 'state',
    filters: moved,
    of: (m, encoding) => ({
      ...common(m),
      count: m.keys,
      range: {
        least: m.range.from === '' ? null : keyOf(m.range.from, encoding),
        end: m.range.to === null ? null : keyOf(m.range.to, encoding),
      },
    }),
    order: (a, b) =>
      a.range.least && b.range.least
        ? compareKeys(a.range.least, b.range.least)
        : (a.range.least === null ? 0 : 1) - (b.range.least === null ? 0 : 1),
  },
}

/**
 * What the API calls the order of a column: none for the one that only it comes in.
 *
 * @param {string} by
 */
export const sortName = (by) => (by === 'arc' || by === 'range' || by === '' ? null : by)
