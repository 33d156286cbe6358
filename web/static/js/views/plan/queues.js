// A plan that was made of queue lengths alone: neither which keys move nor the loads are known.

import { axis, boundMark, Chart, tip } from '../../chart.js'
import { count, exactly, percent } from '../../format.js'
import { html } from '../../html.js'
import { drawn, Instance, named } from '../../instances.js'
import { Card, dataOf, stats } from '../../parts.js'
import { capital, cause } from '../../words.js'
import { rescaling } from './headline.js'

/** @typedef {AnyPlan & { queues: API['QueueFigures'], ring: API['RingSizes'] }} OfQueues */

/**
 * @param {AnyPlan} plan
 * @returns {plan is OfQueues}
 */
export const isOfQueues = (plan) => plan.queues !== undefined

/** @param {{ plan: OfQueues }} props */
export function QueuesHeadline({ plan }) {
  const {
    ring,
    queues: { verdict },
  } = plan
  const rescales = rescaling(plan)
  const relieves = rescales.length === 0 && ring.size_before !== ring.size_after
  const does = [
    ...rescales,
    relieves &&
      `relieves instance ${named(plan, verdict.node)}: ${
        ring.size_after < ring.size_before ? 'it gives up half of its tokens' : 'all others double their tokens'
      }`,
  ].filter(Boolean)
  return html`<p class="plan-headline">
    ${capital(does.length > 0 ? does.join('; ') : 'leaves the ring as it is')}; made of queue lengths alone, so that
    what moves is not known.
  </p>`
}

/** @param {{ plan: OfQueues }} props */
export const QueuesStats = ({
  plan: {
    queues: { verdict, skew },
    ring,
  },
}) =>
  stats([
    {
      label: 'Longest queue',
      value: exactly(verdict.longest),
      note: `the threshold is ${exactly(verdict.threshold)}`,
      tone: verdict.fires ? 'bad' : 'good',
    },
    { label: 'Skew S of the queues', value: percent(skew), note: '0 is even, 100 % is all in one' },
    {
      label: 'Tokens',
      value:
        ring.size_before === ring.size_after
          ? count(ring.size_after)
          : `${count(ring.size_before)} → ${count(ring.size_after)}`,
      note: 'on the ring',
    },
    { label: 'Migration', value: 'Not known', note: 'no key was counted' },
  ])

/** @param {{ plan: OfQueues }} props */
export function Queues({ plan }) {
  const { verdict } = plan.queues
  const rows = plan.instances.filter((i) => !i.added)
  const longest =
    verdict.node === null ? 'Several instances share the longest queue' : `Instance ${named(plan, verdict.node)} has it`
  return html`<${Card} title="Queue of each instance" class="two-thirds">
    <${Chart}
      height=${250}
      label=${`Queues of ${count(rows.length)} instances. The longest is ${exactly(verdict.longest)}: ${longest}.`}
      depends=${[plan.id]}
      option=${(p) => chart(p, plan, rows, verdict)}
      data=${dataOf(rows, [
        ['Instance', (i) => html`<${Instance} id=${i.id} />`],
        ['Queue', (i) => exactly(i.load_before), 'number'],
      ])}
    />
  <//>`
}

/**
 * @param {Palette} p
 * @param {OfQueues} plan
 * @param {API['Load'][]} rows
 * @param {API['RingVerdict']} verdict
 */
const chart = (p, plan, rows, verdict) => ({
  grid: { left: 54, right: 10, top: 24, bottom: 26 },
  tooltip: tip((i) => `Instance ${drawn(plan, rows[i].id)}: ${exactly(rows[i].load_before)}`),
  xAxis: axis(p, { type: 'category', data: rows.map((i) => drawn(plan, i.id, 12)) }),
  yAxis: axis(p, { type: 'value', min: 0 }),
  series: [
    {
      name: 'Queue',
      type: 'bar',
      color: p.before,
      barMaxWidth: 34,
      data: rows.map((i) => ({
        value: i.load_before,
        itemStyle: verdict.fires && i.id === verdict.node ? { color: p.bad } : undefined,
      })),
      markLine: boundMark(p, [{ yAxis: verdict.threshold, name: 'threshold' }]),
    },
  ],
})

/** @param {{ plan: OfQueues }} props */
export function QueuesVerdict({ plan }) {
  const { longest, second, threshold, fires, node } = plan.queues.verdict
  return html`<${Card} title="Verdict" class="third">
    <p class="plan-first">
      ${
        fires
          ? `Instance ${named(plan, node)} is overloaded: its queue of ${exactly(longest)} is longer` +
            ` than ${exactly(threshold)}.`
          : `No instance is overloaded: the longest queue is ${exactly(longest)}, the threshold ${exactly(threshold)}.`
      }
    </p>
    <p>
      The threshold is ${exactly(1 + (plan.parameters.ring?.tau ?? 0))} times the second longest queue,
      ${' '}${exactly(second)}.
    </p>
    ${plan.causes.map((code) => html`<p key=${code}>${cause(code)}</p>`)}
  <//>`
}
