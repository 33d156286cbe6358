// Keys that no instance can carry within its limit, and what helps.

import { count, counted, exactly, levelText, percent } from '../../format.js'
import { html, useState } from '../../html.js'
import { Instance } from '../../instances.js'
import { Card, plainTable } from '../../parts.js'
import { amountIn } from '../../resources.js'
import { link } from '../../route.js'
import { capital } from '../../words.js'

const shown = 20

/** @param {{ plan: AnyPlan }} props */
export function HotKeys({ plan }) {
  const [all, showAll] = useState(false)
  const keys = plan.hot_keys
  if (keys.length === 0) return null
  const of = new Map(plan.resources?.map((r) => [r.name, r]))
  /** @param {API['HotKey']} k */
  const resourceOf = ({ resource = '' }) => of.get(resource)
  const rows = all ? keys : keys.slice(0, shown)
  return html`<${Card} title="Hot keys" aside=${counted(keys.length, 'key')}>
    ${[...Map.groupBy(keys, resourceOf)].map(([resource, these]) =>
      resource
        ? html`<p key=${resource.name}>${beyond(plan, resource, these)}</p>`
        : html`<${Costly} plan=${plan} keys=${these} />`,
    )}
    ${plainTable('Hot keys, the costliest first', rows, [
      [
        'Key',
        (k) =>
          k.key === undefined
            ? html`each of <span class="nowrap">${count(k.class?.[4])} keys</span> of a class`
            : html`<code class="plan-key clip" title=${k.key}>${k.key}</code>`,
      ],
      ['Stays on', (k) => html`<${Instance} id=${k.instance} />`, 'number'],
      plan.resources !== undefined && ['Resource', (k) => k.resource ?? plan.resources?.[0].name],
      [
        plan.resources ? 'Takes' : 'Cost',
        (k) => html`<span title=${exactly(k.cost)}>${amountIn(resourceOf(k))(k.cost)}</span>`,
        'number',
      ],
      [
        plan.resources ? 'Forces' : 'Forces θ',
        (k) => (plan.resources ? forced(resourceOf(k), [k]) : percent(k.forced_theta)),
        'number',
      ],
      plan.routing_table !== undefined &&
        !plan.resources && [
          'Were it split',
          (k) =>
            k.pieces === null
              ? 'not even all instances together could carry it'
              : `at least ${count(k.pieces)} instances could carry it`,
        ],
    ])}
    ${
      rows.length < keys.length &&
      html`<p><button type="button" onClick=${() => showAll(true)}>Show all ${count(keys.length)}</button></p>`
    }
  <//>`
}

/** @param {AnyPlan} plan */
const isRuled = ({ instances }) => instances.some((i) => i.fair_load !== undefined)

/**
 * Why no instance can carry some keys.
 *
 * @param {AnyPlan} plan
 * @param {API['HotKey'][]} keys
 */
function nobody(plan, keys) {
  const [these, go] = keys.length === 1 ? ['this key', 'it goes'] : ['these keys', 'they go']
  return `no instance${isRuled(plan) ? ' that rules allow' : ''} can carry ${these} within its bound, wherever ${go}`
}

/**
 * What keys come to at least, of a limit as a part of a capacity.
 *
 * @param {API['PlanResource'] | undefined} resource
 * @param {API['HotKey'][]} keys
 */
function forced(resource, keys) {
  const most = levelText(keys.reduce((level, k) => Math.max(level, k.forced_theta), 0))
  return resource?.limit ? `${most} of a capacity` : `θ = ${most}`
}

/**
 * @param {AnyPlan} plan
 * @param {API['PlanResource']} resource
 * @param {API['HotKey'][]} keys
 */
function beyond(plan, resource, keys) {
  const least = `at least ${forced(resource, keys)}${resource.limit ? ' is taken' : ''}`
  const other = isRuled(plan) ? ', or a rule that allows other instances' : ''
  return `${resource.name}: ${nobody(plan, keys)}: ${least}. What helps is more of it on an instance${other}.`
}

/**
 * Keys that cost too much, and what helps.
 *
 * @param {{ plan: AnyPlan, keys: API['HotKey'][] }} props
 */
function Costly({ plan, keys }) {
  const least = keys.reduce((most, k) => Math.max(most, k.forced_theta), 0)
  return html`
    <p>
      ${capital(nobody(plan, keys))}: θ cannot get below ${percent(least)}. What helps
      is ${
        isRuled(plan)
          ? 'a rule that allows more or other instances, operators without rules, which can split keys,'
          : plan.resources
            ? 'to split it where several instances can hold all of its state, as the configuration may allow,'
            : plan.routing_table
              ? `to split ${keys.length === 1 ? 'it' : 'them'} over several instances, as the configuration may allow,`
              : 'the scheme of routing tables, which can split keys over several instances,'
      } or partial key grouping
      ${
        plan.operator !== undefined &&
        html`${' '}(<a href=${link(['analyses', 'pkg'], { operator: plan.operator, interval: plan.interval })}>
          analyse that</a>)`
      }
      , to give an instance more capacity, or to allow θ_max of ${percent(least)} at least.
    </p>
  `
}
