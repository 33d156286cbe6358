// Keys that go to several instances, who holds which share, and why they are split.

import { amount, counted, exactly, percent } from '../../format.js'
import { html } from '../../html.js'
import { named } from '../../instances.js'
import { Card, plainTable } from '../../parts.js'

const whole = 65536 // the weight of a whole key

/** @type {Record<API['SplitKey']['cause'], string>} */
const causes = {
  hot_key: 'no instance can carry it',
  cheaper_split: 'split, it spares moving more state than its parts are worth',
  kept: 'it is split already',
}

/** @param {{ plan: AnyPlan }} props */
export function Splits({ plan }) {
  const keys = plan.splits
  if (keys.length === 0) return null
  return html`<${Card} title="Split keys" aside=${counted(plan.merges, 'merge') + ' an interval'}>
    <p>
      ${keys.length === 1 ? 'This key is' : 'These keys are'} split rather than moved: wherever it went, a key that
      ${plan.resources ? 'takes' : 'costs'} more than an instance may carry would overload it. ${
        keys.some((k) => k.cause === 'cheaper_split') &&
        `Others would fit somewhere, but what would have to move for that is worth more than a part,
      ${amount(plan.parameters.splitting?.price)} of state: a new part starts empty, and moves nothing.`
      } Each of its
      instances holds a part of its state and gets a share of its messages, and sends a partial result in each
      interval to where they are merged. Other shares move no state; an instance that loses its part ${
        plan.parameters.splitting?.parts === 'expire'
          ? 'gets no more messages of the key, and emits what it has until that runs out'
          : 'hands the state on'
      }.${
        plan.resources &&
        ` A part takes its share of cost and of what rows name; it counts as one key and, as it may hold all of the
        state of its key, as all of that.`
      }${
        plan.parameters.splitting?.routing === 'least_loaded' &&
        ' Routers send each message to the part whose instance they have sent the fewest: shares are what to expect.'
      }
    </p>
    ${plainTable('Split keys, the costliest first', keys, [
      ['Key', (k) => html`<code class="plan-key clip" title=${k.key}>${k.key}</code>`],
      ['Cost', (k) => html`<span title=${exactly(k.cost)}>${amount(k.cost)}</span>`, 'number'],
      ['Goes to instance', (k) => partsText(k.parts, plan)],
      ['Why', (k) => causes[k.cause]],
      ['In the table', (k) => (k.changed ? 'changes' : 'stays as it is')],
    ])}
  <//>`
}

/**
 * Instances and their shares in words.
 *
 * @param {API['Part'][]} parts
 * @param {import('../../instances.js').Having} of
 */
export const partsText = (parts, of) =>
  parts.map((p) => `${named(of, p.instance)} (${percent(p.weight / whole)})`).join(', ')
