// Keys that no instance can carry within its limit, and what helps.

import { amount, count, counted, exactly, percent } from '../../format.js'
import { html, useState } from '../../html.js'
import { Instance } from '../../instances.js'
import { Card, plainTable } from '../../parts.js'
import { link } from '../../route.js'

const shown = 20

/** @param {{ plan: AnyPlan }} props */
export function HotKeys({ plan }) {
  const [all, showAll] = useState(false)
  const keys = plan.hot_keys
  if (keys.length === 0) return null
  const forced = keys.reduce((most, k) => Math.max(most, k.forced_theta), 0)
  const ruled = plan.instances.some((i) => i.fair_load !== undefined)
  const [these, go] = keys.length === 1 ? ['this key', 'it goes'] : ['these keys', 'they go']
  const nobody = `No instance${ruled ? ' that rules allow' : ''} can carry ${these} within its bound, wherever ${go}`
  const rows = all ? keys : keys.slice(0, shown)
  return html`<${Card} title="Hot keys" aside=${counted(keys.length, 'key')}>
    <p>
      ${nobody}: θ cannot get below ${percent(forced)}. What helps
      is ${
        ruled
          ? 'a rule that allows more or other instances, operators without rules, which can split keys,'
          : plan.routing_table
            ? `to split ${keys.length === 1 ? 'it' : 'them'} over several instances, as the configuration may allow,`
            : 'the scheme of routing tables, which can split keys over several instances,'
      } or partial key grouping
      ${
        plan.operator !== undefined &&
        html`${' '}(<a href=${link(['analyses', 'pkg'], { operator: plan.operator, interval: plan.interval })}>
          analyse that</a>)`
      }
      , to give an instance more capacity, or to allow θ_max of ${percent(forced)} at least.
    </p>
    ${plainTable('Hot keys, the costliest first', rows, [
      [
        'Key',
        (k) =>
          k.key === undefined
            ? html`each of <span class="nowrap">${count(k.class?.[4])} keys</span> of a class`
            : html`<code class="plan-key clip" title=${k.key}>${k.key}</code>`,
      ],
      ['Stays on', (k) => html`<${Instance} id=${k.instance} />`, 'number'],
      ['Cost', (k) => html`<span title=${exactly(k.cost)}>${amount(k.cost)}</span>`, 'number'],
      ['Forces θ', (k) => percent(k.forced_theta), 'number'],
      plan.routing_table !== undefined && [
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
