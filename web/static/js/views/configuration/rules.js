// The rules on where keys may be, and the hosts that they speak of.

import { counted, some } from '../../format.js'
import { html } from '../../html.js'
import { Card, plainTable } from '../../parts.js'
import { someOf } from './instances.js'

const most = 6 // keys, labels and values that are named

/** @param {API['RuleKeys']} keys */
const keysOf = ({ prefix, equals }) =>
  equals ? some(equals, most) : prefix ? `that begin with ${prefix}` : 'all that no rule above has'

/** @param {Record<string, string | string[]>} labels */
export const labelsOf = (labels) =>
  some(
    Object.entries(labels).map(([label, value]) => `${label} ${[value].flat().slice(0, most).join(' or ')}`),
    most,
  )

/**
 * @param {API['Operator']} operator
 * @param {API['PlacementRule']} rule
 */
function where(operator, rule) {
  const ids = operator.instances.filter((i) => isOn(i, rule.on)).map((i) => i.id)
  return whereIf(rule, `${someOf(operator, ids)}${rule.on?.labels ? ` (${labelsOf(rule.on.labels)})` : ''}`)
}

/**
 * @param {API['PlacementRule']} rule
 * @param {string} instances
 */
const whereIf = ({ exclusive, stay }, instances) =>
  stay
    ? 'stay where they are, unless their instance goes'
    : `on ${instances}${exclusive ? ', which no other keys may have' : ''}`

/**
 * A rule in words, whatever instances there are.
 *
 * @param {API['PlacementRule']} rule
 */
export function ruleOf(rule) {
  const { labels, instances = [] } = rule.on ?? {}
  const named = `${instances.length === 1 ? 'instance' : 'instances'} ${some(instances, most)}`
  return `keys ${keysOf(rule.keys)} ${whereIf(rule, labels ? labelsOf(labels) : named)}`
}

/**
 * @param {API['Instance']} instance
 * @param {API['RuleInstances'] | undefined} on
 */
const isOn = ({ id, labels = {} }, on) =>
  on?.instances
    ? on.instances.some((ref) => ref === id)
    : Object.entries(on?.labels ?? {}).every(([label, value]) => [value].flat().includes(labels[label] ?? ''))

/**
 * Nothing where every key may be on every instance.
 *
 * @param {{ operator: API['Operator'] }} props
 */
export function Rules({ operator }) {
  const rules = operator.placement?.rules ?? []
  const closed = operator.instances.filter((i) => i.takes === 'none').map((i) => i.id)
  if (rules.length + closed.length === 0) return null
  return html`<${Card} title="Where keys may be" aside=${counted(rules.length, 'rule')} class="operator-rules">
    ${
      rules.length > 0 &&
      plainTable('Rules, of which the first that matches a key counts', rules, [
        ['Rule', ({ name }) => name],
        ['Keys', ({ keys }) => keysOf(keys)],
        ['Where', (rule) => where(operator, rule)],
      ])
    }
    ${closed.length > 0 && html`<p>Take nothing new, and keep what they have: ${someOf(operator, closed)}.</p>`}
  <//>`
}
