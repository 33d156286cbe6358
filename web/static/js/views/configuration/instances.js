// The instances of an operator, in as few rows as tell everything.

import { count, counted, exactly, percent, some } from '../../format.js'
import { html } from '../../html.js'
import { named, namesOf } from '../../instances.js'
import { Card, plainTable } from '../../parts.js'
import { capacityColumns } from './resources.js'

/**
 * Ascending ids in few words: "0–7, 9 and 12 more".
 *
 * @param {number[]} ids
 * @param {number} [most]
 */
export function someIds(ids, most = 10) {
  /** @type {{ from: number, to: number }[]} */
  const ranges = []
  for (const id of ids) {
    const last = ranges.at(-1)
    if (last && last.to === id - 1) last.to = id
    else ranges.push({ from: id, to: id })
  }
  const said = ranges.length <= most ? ranges : ranges.slice(0, most - 1)
  const more = ids.length - said.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  return (
    said.map(({ from, to }) => (from === to ? String(from) : `${from}–${to}`)).join(', ') +
    (more > 0 ? ` and ${count(more)} more` : '')
  )
}

/**
 * Instances of an operator in few words: their names where any has one, else their ids.
 *
 * @param {API['Operator']} operator
 * @param {number[]} ids
 */
export const someOf = (operator, ids) =>
  namesOf(operator).size > 0
    ? some(
        ids.map((id) => named(operator, id)),
        mostNames,
      )
    : someIds(ids)

/**
 * Instances that are alike, together.
 *
 * @param {API['Instance'][]} instances
 */
export function kindsOf(instances) {
  const alike = Map.groupBy(instances, ({ capacity = 1, capacities = {}, tokens }) =>
    JSON.stringify([capacity, Object.entries(capacities).sort(), tokens]),
  )
  return [...alike.values()].map((of) => {
    const [{ capacity = 1, capacities = {}, tokens = null }] = of
    return { capacity, capacities, tokens, ids: of.map((i) => i.id) }
  })
}

const mostNames = 40
const few = 12 // rows that are shown at once

/** @param {{ operator: API['Operator'] }} props */
export function Instances({ operator }) {
  const { instances } = operator
  const kinds = kindsOf(instances)
  const total = instances.reduce((sum, i) => sum + (i.capacity ?? 1), 0)
  const tokens = operator.hash?.tokens_per_instance
  const table = plainTable('Instances that are alike', kinds, [
    namesOf(operator).size > 0 && ['Names', ({ ids }) => someOf(operator, ids)],
    ['Ids', ({ ids }) => someIds(ids)],
    ['Instances', ({ ids }) => count(ids.length), 'number'],
    ['Capacity', (kind) => exactly(kind.capacity), 'number'],
    ...capacityColumns(operator),
    !operator.placement && ['Fair share of each', (kind) => percent(kind.capacity / total), 'number'],
    tokens !== undefined && ['Tokens of each', (kind) => count(kind.tokens ?? tokens), 'number'],
  ])
  return html`<${Card}
    title="Instances"
    aside=${`${counted(instances.length, 'instance')}, capacity ${exactly(Number(total.toPrecision(12)))} in all`}
  >
    ${
      kinds.length <= few
        ? table
        : html`<details class="operator-instances">
            <summary>${counted(kinds.length, 'kind')} of instances</summary>
            ${table}
          </details>`
    }
    ${
      operator.scheme === 'ring' &&
      html`<p class="muted">The tokens are those that an instance begins with; plans change them.</p>`
    }
  <//>`
}
