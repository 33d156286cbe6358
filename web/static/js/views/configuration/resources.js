// What keys take of an instance beside each other, and how much of it plans may place there.

import { counted, exactly } from '../../format.js'
import { html } from '../../html.js'
import { Card, plainTable } from '../../parts.js'
import { exactPercent } from './groups.js'

/** @type {Record<string, string>} */
const sources = { state: 'the state of each key', count: '1 for each key' }

/**
 * @param {API['Operator']} operator
 * @param {API['Resource']} resource
 */
const boundWords = ({ theta_max: own, resources }, resource) =>
  resource.limit
    ? 'at most what the instance has'
    : `at most ${exactPercent(resource === resources?.[0] ? own : (resource.theta_max ?? 0))} above its fair load`

/**
 * A resource but the first in words, whichever operator has it.
 *
 * @param {API['Resource']} resource
 */
export const resourceOf = ({ name, from, limit, theta_max: tolerance = 0 }) =>
  `${sources[from ?? ''] ?? `costs.${name} of rows`}, ${
    limit ? 'at most what the instance has' : `at most ${exactPercent(tolerance)} above its fair load`
  }`

/**
 * Nothing where cost is all that counts and there is no button to change that.
 *
 * @param {{ operator: API['Operator'], button: Children }} props
 */
export function Resources({ operator, button }) {
  const { resources } = operator
  if (!resources)
    return (
      button &&
      html`<${Card} title="Resources" aside=${button} class="operator-resources">
        <p>Cost is all that counts.</p>
      <//>`
    )
  return html`<${Card}
    title="Resources"
    aside=${html`${counted(resources.length, 'resource')} ${button}`}
    class="operator-resources"
  >
    ${plainTable('What keys take of an instance, with the bound that plans keep to on each', resources, [
      ['Resource', ({ name }) => name],
      [
        'Amounts',
        (r) => (r === resources[0] ? 'the cost of rows' : (sources[r.from ?? ''] ?? `costs.${r.name} of rows`)),
      ],
      ['Bound', (r) => boundWords(operator, r)],
    ])}
  <//>`
}

/**
 * The columns that say what instances that are alike have of each resource but the first.
 *
 * @param {API['Operator']} operator
 * @returns {Column<{ capacity: number, capacities: Record<string, number> }>[]}
 */
export const capacityColumns = ({ resources = [] }) =>
  resources
    .slice(1)
    .map(({ name }) => [`In ${name}`, (kind) => exactly(kind.capacities[name] ?? kind.capacity), 'number'])
