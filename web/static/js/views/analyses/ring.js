// The answer to an analysis of a token ring.

import { amount, count, counted, exactly, percent, state, stateOnly, useStateUnit } from '../../format.js'
import { html } from '../../html.js'
import { Card, choose, firstOnly, plainTable, stats } from '../../parts.js'
import { setQuery } from '../../route.js'
import { loadsChart } from './drawing.js'
import { RingDrawing } from './ringdrawing.js'

/**
 * A change of the ring that can be shown.
 *
 * @typedef {{ id: string, words: string, change: API['RingChange'], cause?: string }} Shown
 */

/** @type {Record<string, string>} */
const methodWords = {
  halving: 'Token halving',
  doubling: 'Token doubling',
  fitted: 'Fitted token counts',
}

const mostState = 'those with most state first'

/** @type {Record<string, string>} */
const causeWords = {
  overloaded: 'the node was relieved',
  within_threshold: 'no queue exceeds the threshold',
  short_queue: 'the longest queue is shorter than the least that is relieved',
  alone: 'there is no second node',
  exhausted: 'the overloaded node has one token left, or no other node has one to double',
  token_limit: 'there would be too many tokens',
  max_rounds: 'the overloaded node has used its rounds',
  balanced: 'every load is within the tolerance',
  no_improvement: 'nothing that was tried is better',
}

/**
 * The changes of the ring that an answer has, the most telling first.
 *
 * @param {API['RingResult']} result
 * @returns {Shown[]}
 */
function changesOf(result) {
  return [
    result.plan && {
      id: 'plan',
      words: `Plan: ${methodWords[result.plan.method].toLowerCase()}`,
      change: result.plan.change,
      cause: result.plan.cause,
    },
    result.rescale && { id: 'rescale', words: 'Joining and leaving nodes', change: result.rescale },
    result.redistribution && {
      id: 'round',
      words: 'One round, by the policy',
      change: result.redistribution,
      cause: result.redistribution.cause,
    },
  ].filter(Boolean)
}

/** @param {{ result: API['RingResult'], query: Query, values: { theta_max?: number } }} props */
export function Ring({ result, query, values }) {
  useStateUnit()
  const changes = changesOf(result)
  const theta = values.theta_max ?? 0.08
  /** @param {Shown} c */
  const changing = (c) => c.change.tokens_added + c.change.tokens_removed > 0
  const shown = changes.find((c) => c.id === query.show) ?? changes.find(changing) ?? changes[0] ?? null
  return html`
    ${result.keys > 0 && stats(figures(result, shown?.change, theta))}
    ${result.verdict && html`<${Verdict} verdict=${result.verdict} redistribution=${result.redistribution} />`}
    ${shown && html`<${Change} result=${result} shown=${shown} changes=${changes} theta=${theta} />`}
    ${
      !shown &&
      result.nodes.length > 0 &&
      result.keys > 0 &&
      html`<${Card} title="Nodes"><${Nodes} nodes=${result.nodes} /><//>`
    }
    ${result.plan && html`<${Plan} plan=${result.plan} />`}
  `
}

/**
 * @param {API['RingResult']} result
 * @param {API['RingChange'] | undefined} change
 * @param {number} theta
 * @returns {(Stat | undefined)[]}
 */
function figures(result, change, theta) {
  return [
    { label: 'Keys', value: count(result.keys), note: `cost ${amount(result.cost)}, ${state(result.state)}` },
    change
      ? {
          label: 'Greatest overload θ',
          value: percent(change.theta.after),
          note: `before ${percent(change.theta.before)}, θ_max ${percent(theta)}`,
          tone: change.theta.after <= theta ? 'good' : 'warn',
        }
      : { label: 'Greatest overload θ', value: percent(result.theta) },
    {
      label: 'Skew S',
      value: amount(change?.skew.after ?? result.skew),
      note: change && `before ${amount(change.skew.before)}`,
    },
    change && {
      label: 'Tokens',
      value: `+${count(change.tokens_added)} −${count(change.tokens_removed)}`,
      note: `${percent(change.moved)} of the ring changes its node`,
    },
    change?.migration && {
      label: 'Migration',
      value: percent(change.migration.fraction),
      note: `${counted(change.migration.keys, 'key')}, ${state(change.migration.state)}`,
    },
  ]
}

/** @param {{ verdict: API['RingVerdict'], redistribution?: API['RingChange'] }} props */
function Verdict({ verdict: v, redistribution }) {
  const who = v.node === null ? 'Several nodes share the longest queue' : `Node ${v.node} has the longest queue`
  return html`<${Card} title="The policy's verdict">
    <p>
      ${who}, ${exactly(v.longest)}; the second longest is ${exactly(v.second)}, so that the threshold
      is ${exactly(v.threshold)}
      . ${
        v.fires
          ? `The threshold is exceeded: node ${v.node} is to be relieved.`
          : `No node is relieved: ${causeWords[v.cause] ?? v.cause}.`
      }
      ${
        redistribution && v.fires && redistribution.cause !== 'overloaded'
          ? ` It cannot be: ${causeWords[redistribution.cause ?? ''] ?? redistribution.cause}.`
          : ''
      }
    </p>
    ${redistribution && v.fires && redistribution.cause === 'overloaded' && html`<p>${roundWords(redistribution)}</p>`}
  <//>`
}

/**
 * What one round does, in a sentence.
 *
 * @param {API['RingChange']} change
 */
function roundWords(change) {
  const gave = change.nodes.filter((n) => n.tokens_after < n.tokens_before)
  const took = change.nodes.filter((n) => n.tokens_after > n.tokens_before)
  const who =
    gave.length > 0
      ? `Node ${gave[0].id} gives up ${counted(gave[0].tokens_before - gave[0].tokens_after, 'token')}`
      : `${counted(took.length, 'node')} ${took.length === 1 ? 'takes' : 'take'}` +
        ` ${counted(change.tokens_added, 'token')}`
  const effect =
    change.theta.after < change.theta.before ? 'falls' : change.theta.after > change.theta.before ? 'rises' : 'stays'
  const { before, after } = change.theta
  const by = effect === 'stays' ? `at ${percent(after)}` : `from ${percent(before)} to ${percent(after)}`
  const { keys, state: size } = change.migration ?? { keys: 0, state: 0 }
  const moves = `, and ${counted(keys, 'key')} with ${state(size)} ${keys === 1 ? 'moves' : 'move'}`
  return `${who}; θ ${effect} ${by}${change.migration ? moves : ''}.`
}

/**
 * The ring and the loads before and after a change.
 *
 * @param {{ result: API['RingResult'], shown: Shown, changes: Shown[], theta: number }} props
 */
function Change({ result, shown, changes, theta }) {
  const { change, id } = shown
  const loads = result.keys > 0
  const lines =
    id === 'round' && result.verdict && change.nodes.every((n) => n.capacity === change.nodes[0].capacity)
      ? [{ at: result.verdict.threshold, words: 'threshold of the policy' }]
      : []
  const chooser =
    changes.length > 1 &&
    choose(
      'Change',
      id,
      changes.map((c) => [c.id, c.words]),
      (show) => setQuery({ show }),
    )
  return html`<${Card} title=${shown.words} aside=${chooser}>
    ${
      change.tokens_added + change.tokens_removed === 0 &&
      html`<p class="muted">
        Nothing changes${shown.cause ? `: ${causeWords[shown.cause] ?? shown.cause}` : ''}. The ring is shown as it is.
      </p>`
    }
    <div class="analyses-sides">
      <${RingDrawing} nodes=${change.nodes} />
      <div>
        ${
          loads &&
          html`
            <h3>Load of each node, in units of cost</h3>
            ${loadsChart({
              rows: loadRows(change.nodes, result, theta),
              member: 'Node',
              unit: 'load',
              bound: 'bound by θ_max',
              lines,
              what: `Load of ${counted(change.nodes.length, 'node')}`,
              theta: change.theta,
            })}
          `
        }
      </div>
    </div>
    <h3>Tokens and loads</h3>
    <${ChangedNodes} nodes=${change.nodes} />
    ${
      change.arcs.length > 0 &&
      html`
        <h3>Arcs that change their node</h3>
        ${firstOnly(change.arcs.length, change.arcs_moved, 'arc', mostState)}
        <${Arcs} arcs=${change.arcs} />
      `
    }
    ${
      change.migration &&
      change.migration.top.length > 0 &&
      html`
        <h3>Keys that move</h3>
        ${firstOnly(change.migration.top.length, change.migration.keys, 'key', mostState)}
        <${Moved} keys=${change.migration.top} />
      `
    }
  <//>`
}

/**
 * The bound is (1 + θ_max) times the fair share, which those that stay have.
 *
 * @param {API['RingNodeChange'][]} nodes
 * @param {API['RingResult']} result
 * @param {number} theta
 */
function loadRows(nodes, result, theta) {
  const capacity = nodes.reduce((sum, n) => sum + (n.tokens_after > 0 ? n.capacity : 0), 0)
  return nodes.map((n) => ({
    id: n.id,
    before: n.load_before,
    after: n.load_after,
    bound: n.tokens_after > 0 && capacity > 0 ? ((1 + theta) * result.cost * n.capacity) / capacity : null,
  }))
}

/** @param {API['RingNodeChange']} node */
function tokenWords({ tokens_before: before, tokens_after: after }) {
  if (after === before) return 'as before'
  const [from, to] = [Math.min(before, after), Math.max(before, after) - 1]
  const which = from === to ? `token ${count(from)}` : `tokens ${count(from)}–${count(to)}`
  return after > before ? `took ${which}` : `gave up ${which}`
}

/** @param {{ nodes: API['RingNodeChange'][] }} props */
const ChangedNodes = ({ nodes }) =>
  plainTable('Tokens and loads of each node before and after', nodes, [
    ['Node', (n) => n.id],
    ['Capacity', (n) => exactly(n.capacity), 'number'],
    ['Tokens', (n) => `${count(n.tokens_before)} → ${count(n.tokens_after)}`, 'number'],
    ['Change', tokenWords],
    ['Load before', (n) => amount(n.load_before), 'number'],
    ['Load after', (n) => amount(n.load_after), 'number'],
    ['Keys', (n) => `${count(n.keys_before)} → ${count(n.keys_after)}`, 'number'],
    ['State in', (n) => stateOnly(n.state_in), 'number'],
    ['State out', (n) => stateOnly(n.state_out), 'number'],
  ])

/** @param {{ arcs: API['RingArc'][] }} props */
const Arcs = ({ arcs }) =>
  plainTable('Arcs that change their node', arcs, [
    ['Positions after', (a) => count(a.start), 'number'],
    ['Up to', (a) => count(a.end), 'number'],
    ['From', (a) => a.from, 'number'],
    ['To', (a) => a.to, 'number'],
    ['Keys', (a) => count(a.keys), 'number'],
    ['Cost', (a) => amount(a.cost), 'number'],
    ['State', (a) => stateOnly(a.state), 'number'],
  ])

/** @param {{ keys: API['RingMovedKey'][] }} props */
const Moved = ({ keys }) =>
  plainTable('Keys that move', keys, [
    ['Key', (k) => html`<code class="analyses-key">${k.key}</code>`],
    ['From', (k) => k.from, 'number'],
    ['To', (k) => k.to, 'number'],
    ['Cost', (k) => amount(k.cost), 'number'],
    ['State', (k) => stateOnly(k.state), 'number'],
  ])

/** @param {{ nodes: API['RingNodeLoad'][] }} props */
const Nodes = ({ nodes }) =>
  plainTable('What each node carries', nodes, [
    ['Node', (n) => n.id],
    ['Tokens', (n) => count(n.tokens), 'number'],
    ['Share of the ring', (n) => percent(n.share), 'number'],
    ['Load', (n) => amount(n.load), 'number'],
    ['Keys', (n) => count(n.keys), 'number'],
    ['Queue', (n) => amount(n.queue), 'number'],
  ])

/**
 * The rounds of a plan, and why it ended.
 *
 * @param {{ plan: API['RingPlan'] }} props
 */
function Plan({ plan }) {
  const said = plan.balanced
    ? 'The plan keeps every load within the tolerance.'
    : `The plan does not keep every load within the tolerance: ${causeWords[plan.cause] ?? plan.cause}.`
  const first = `the first ${count(plan.adopted)} of which ${plan.adopted === 1 ? 'is' : 'are'}`
  const adopted = plan.adopted === 0 ? 'none of which is' : first
  return html`<${Card} title="How the plan was found">
    <p>
      ${said}
      ${
        plan.rounds.length > 0
          ? ` ${counted(plan.rounds.length, 'round')} ${plan.rounds.length === 1 ? 'was' : 'were'} tried,` +
            ` ${adopted} part of it.`
          : ''
      }
      ${
        plan.searched > 0
          ? ` ${counted(plan.searched, 'token count')} ${plan.searched === 1 ? 'was' : 'were'} evaluated.`
          : ''
      }
    </p>
    ${
      plan.rounds.length > 0 &&
      plainTable(
        'Rounds',
        plan.rounds.map((r, i) => ({ ...r, i })),
        [
          ['Round', (r) => r.i + 1, 'number'],
          ['Node relieved', (r) => r.node, 'number'],
          ['θ after it', (r) => percent(r.theta), 'number'],
          ['Part of the plan', (r) => (r.i < plan.adopted ? 'yes' : 'no')],
        ],
      )
    }
  <//>`
}
